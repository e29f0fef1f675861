// Turns a bus message into an event: the same acceptance as for a request, and an acknowledgement after the commit.
//
// Invariants: BU58 a message is `stored` only once the store has its event. BU60 a message that cannot be read becomes an
// event with a dead letter. After any other error the message is redelivered.

import { AppError, assert, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { againAfterMs, readMessage } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { Handled, IncomingMessage } from '../../ports/bus.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import { refusalLine } from '../observe/index.ts'
import type { Acceptor } from './accept-event.ts'
import { type StoredHeaders, traceIdOf } from './headers-and-trace.ts'
import type { TenantBacklog } from './tenant-backlog.ts'

/** The consumer's side of accepting a message. */
export interface MessageContext {
  readonly tenant: TenantId
  /** The deployed source; null: no source accepts the message. */
  source(): Source | null
  /** Waits until the rate allows one more; false: the consumer was closed meanwhile. */
  admit(): Promise<boolean>
}

export interface Messages {
  /** Never rejects. */
  handle(context: MessageContext, message: IncomingMessage): Promise<Handled>
}

const KEPT: Handled = { is: 'kept' }

export function makeMessages(
  deps: Pick<EngineBase, 'clock' | 'random' | 'log' | 'ids'> & {
    readonly acceptor: Acceptor
    readonly keptHeaders: StoredHeaders
    readonly backlog: Pick<TenantBacklog, 'hasRoom'>
    isOpen(): boolean
  },
  config: Pick<EngineConfig, 'acceptsMax'>,
): Messages {
  const { clock, random, log, ids, acceptor } = deps

  const keep = async (tenant: TenantId, source: Source, message: IncomingMessage, startedAt: number) => {
    const { names, header, body, payloadHash, problem, marks } = readMessage(source, tenant, message)
    const correlationId = ids.uuid()
    const stored = { ...deps.keptHeaders.of(tenant, header, source), ...marks }
    const accepted = await acceptor.keep({
      source,
      draft: {
        id: ids.event(),
        tenant,
        source: source.document.name,
        ...names,
        correlationId,
        causationId: null,
        traceId: traceIdOf(header) ?? correlationId.replaceAll('-', ''),
        payloadHash,
        headers: stringifyJson(stored),
        data: body.data,
        raw: body.raw,
        sensitive: [],
      },
      payload: body.payload,
      header: stored,
      startedAt,
      ...(problem === null ? {} : { unread: problem }),
    })
    assert(accepted !== 'refused', 'nothing but its key keeps an event out')
  }

  let underWay = 0
  return {
    async handle(context, message) {
      const again = (): Handled => ({ is: 'again', afterMs: againAfterMs(message.deliveries, random.unit()) })
      const startedAt = clock.monotonic()
      underWay += 1
      try {
        if (!deps.isOpen() || underWay > config.acceptsMax || !deps.backlog.hasRoom(context.tenant))
          return again()
        if (!(await context.admit())) return again()
        const source = context.source()
        if (source === null) return again()
        await keep(context.tenant, source, message, startedAt)
        return KEPT
      } catch (error) {
        const source = context.source()?.document.name ?? ''
        if (error instanceof AppError) {
          log.control(refusalLine(context.tenant, source, error, Math.round(clock.monotonic() - startedAt)))
        } else {
          log.error('source.message-failed', { tenant: context.tenant, source, error: messageOf(error) })
        }
        return again()
      } finally {
        underWay -= 1
      }
    },
  }
}
