// Ingest: admits a request, names its event, deduplicates, matches and stores it in one commit; then responds.
//
// Invariants: N1 the sender gets no response before the commit is durable. A refusal changes nothing. A duplicate gets
// the first event's id, whichever node or commit group stored that event.

import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import { AppError, assert } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { EventId, Ids, TenantId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Answer, Source } from '../../core/ingest/source/index.ts'
import { routeScope } from '../../core/routing/index.ts'
import type { Draft } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { handshakeLine } from '../observe/index.ts'
import type { Acceptor } from './accept-event.ts'
import type { Admission, Announced, Answered, IntakeRequest } from './admission.ts'
import { type StoredHeaders, traceIdOf } from './headers-and-trace.ts'
import type { RefusalLines } from './rejection-log.ts'
import type { Rejections } from './rejections.ts'

export interface Accepted {
  readonly eventId: EventId
  readonly duplicate: boolean
  /** The source's response in place of the default acknowledgement. */
  readonly answer?: Answer
}

/** `handshake`: the response to a vendor's handshake; nothing was stored. */
export type Received = Accepted | { readonly handshake: Answer }

export interface Intake {
  /**
   * The largest body that the source of a request accepts. Called before the body is read: throws AppError if
   * the request would be refused whatever its body.
   */
  bodyBytesMax(request: Announced): number
  /** Throws AppError on refusal. */
  receive(request: IntakeRequest): Promise<Received>
  /** The same for requests that are not handshakes. */
  accept(request: IntakeRequest): Promise<Accepted>
  /** Records a request that was refused before it got here. */
  refused(request: Announced, error: AppError): void
}

/** An answer depends on its request alone. */
const NO_VARS = () => ({})

export function makeIntake(
  deps: Pick<EngineDeps, 'clock' | 'log'> & {
    readonly ids: Ids
    readonly admission: Admission
    readonly keptHeaders: StoredHeaders
    readonly acceptor: Acceptor
    readonly rejections: Pick<Rejections, 'note'>
    readonly refusalLines: Pick<RefusalLines, 'logRejection'>
    isOpen(): boolean
  },
  config: Pick<EngineConfig, 'acceptsMax'>,
): Intake {
  const { clock, log, ids, acceptor, admission, rejections } = deps
  const name = (
    source: Source,
    request: IntakeRequest,
    header: Readonly<Record<string, string>>,
    payload: JsonValue,
    hash: string,
  ) => {
    try {
      const named = source.name({ header, payload, tenant: request.tenant, payloadHash: hash })
      if (!named.ok) throw new AppError('unnamed_event', named.problem)
      return named.names
    } catch (error) {
      if (error instanceof ExpressionError) throw new AppError('unnamed_event', describe(error))
      throw error
    }
  }

  /** A handshake is answered; anything else becomes an event. */
  const take = (
    request: IntakeRequest,
    admitted: Answered,
    startedAt: number,
  ): Received | Promise<Received> => {
    if ('handshake' in admitted) {
      const { handshake } = admitted
      const durationMs = Math.round(clock.monotonic() - startedAt)
      log.control(handshakeLine(request.tenant, request.source, handshake.status, durationMs))
      waiting -= 1
      return { handshake }
    }
    const { source, header, body, bytes } = admitted
    const { payload } = body
    const payloadHash = hashText(bytes)
    const names = name(source, request, header, payload, payloadHash)
    const correlationId = ids.uuid()
    const stored = deps.keptHeaders.of(request.tenant, header, source)
    const draft: Draft = {
      id: ids.event(),
      tenant: request.tenant as TenantId,
      source: source.document.name,
      subject: names.subject,
      objectType: names.objectType,
      objectId: names.objectId,
      occurredAt: names.occurredAt,
      correlationId,
      causationId: null,
      traceId: traceIdOf(header) ?? correlationId.replaceAll('-', ''),
      dedupKey: names.dedupKey,
      payloadHash,
      headers: stringifyJson(stored),
      data: body.data,
      raw: body.raw,
      sensitive: [],
    }
    return acceptor.keep<Received>(
      { source, draft, payload, header: stored, startedAt },
      (accepted) => {
        waiting -= 1
        assert(accepted !== 'refused', 'nothing but its key keeps an event out')
        const { respond } = source.guards
        if (respond === null) return accepted
        const scope = routeScope({ ...draft, id: accepted.eventId }, payload, stored, NO_VARS)
        return { ...accepted, ...answerBy(source, request.tenant, () => respond(scope)) }
      },
      (error) => {
        throw ended(request, startedAt, error)
      },
    )
  }

  /** The event is stored, whatever happens to the response. */
  const answerBy = (source: Source, tenant: string, make: () => Answer): { readonly answer?: Answer } => {
    try {
      return { answer: make() }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      log.warn('source.respond-failed', { tenant, source: source.document.name, error: describe(error) })
      return {}
    }
  }

  const refuse = (request: Announced, error: AppError, durationMs: number) => {
    const { tenant, source, address = '' } = request
    deps.refusalLines.logRejection(request, error, durationMs)
    // After the response: its timing must not reveal whether the tenant exists.
    clock.defer(() => rejections.note({ tenant, source, address }, error))
  }

  let waiting = 0
  /** The request ends with this error. */
  const ended = (request: IntakeRequest, startedAt: number, error: unknown): unknown => {
    waiting -= 1
    if (error instanceof AppError) refuse(request, error, Math.round(clock.monotonic() - startedAt))
    return error
  }

  /** A secret, an encoded body or a rate limit shared with other nodes is waited for. */
  const takeLater = async (
    request: IntakeRequest,
    admitting: Promise<Answered>,
    startedAt: number,
  ): Promise<Received> => {
    let taken: Received | Promise<Received>
    try {
      taken = take(request, await admitting, startedAt)
    } catch (error) {
      throw ended(request, startedAt, error)
    }
    return taken
  }

  /** Nearly always one turn until the commit, and one after it. */
  const receive = (request: IntakeRequest): Promise<Received> => {
    const startedAt = clock.monotonic()
    waiting += 1
    try {
      if (waiting > config.acceptsMax) throw new AppError('overloaded')
      if (!deps.isOpen()) throw new AppError('shutting_down')
      const admitted = admission.admit(request)
      if (admitted instanceof Promise) return takeLater(request, admitted, startedAt)
      const taken = take(request, admitted, startedAt)
      return taken instanceof Promise ? taken : Promise.resolve(taken)
    } catch (error) {
      return Promise.reject(ended(request, startedAt, error))
    }
  }

  return {
    bodyBytesMax(request) {
      if (!deps.isOpen()) throw new AppError('shutting_down')
      return admission.find(request).document.limits.bodyBytes
    },
    receive,
    async accept(request) {
      const received = await receive(request)
      assert('eventId' in received, 'who sends an event asks no question')
      return received
    },
    refused: (request, error) => refuse(request, error, 0),
  }
}
