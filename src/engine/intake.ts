// The way in: verify, name, deduplicate, match, and keep, in one commit; then the answer.
//
// Invariants: N1 nobody is answered before the commit is durable. A refusal changes nothing. A duplicate is answered with
// the first event's id, whichever node or group of commits it is in.

import { hashText } from '../core/definition/index.ts'
import { AppError } from '../core/errors/index.ts'
import { ExpressionError } from '../core/expression/index.ts'
import type { EventId, Ids, TenantId } from '../core/ids/index.ts'
import { JsonError, type JsonValue, parseJson, stringifyJson } from '../core/json/index.ts'
import type { Source } from '../core/source/index.ts'
import { type CommitResult, StoreError } from '../ports/store.ts'
import type { Commits } from './commits.ts'
import type { EngineConfig, EngineDeps } from './deps.ts'
import { lineOf, refusalLine } from './lines.ts'
import { describe } from './outcome.ts'
import type { EventPlan } from './plan.ts'
import type { Registry } from './registry.ts'
import type { Settlement } from './settle.ts'

export interface IntakeRequest {
  readonly tenant: string
  readonly source: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** As received. */
  readonly body: Uint8Array
}

export interface Accepted {
  readonly eventId: EventId
  readonly duplicate: boolean
}

export interface Intake {
  /** Throws AppError on refusal. */
  accept(request: IntakeRequest): Promise<Accepted>
}

/** Never stored, whatever the source: they open doors, or mean something to us that no sender may say. */
const DROPPED_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-hub-signature',
  'x-hub-signature-256',
  'x-gitlab-token',
  'x-api-key',
  'millrace-hops',
])

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

export function makeIntake(
  deps: Pick<EngineDeps, 'clock' | 'vault' | 'log'> & {
    readonly registry: Registry
    readonly ids: Ids
    readonly commits: Commits
    plan(
      draft: Omit<EventPlan['event'], 'matched'>,
      payload: JsonValue,
      header: JsonValue,
      dedupForMs: number,
    ): EventPlan
    settleBirths(plan: EventPlan, outcome: Pick<Settlement, 'ok'>, result: CommitResult | null): void
    isOpen(): boolean
  },
  config: Pick<EngineConfig, 'acceptsMax'>,
): Intake {
  const { clock, vault, log, registry, ids, commits } = deps
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

  const verify = async (
    source: Source,
    request: IntakeRequest,
    headers: Readonly<Record<string, string>>,
  ) => {
    const { verify: scheme } = source.document
    if (scheme.scheme === 'none') return
    if (scheme.scheme === 'closed') throw new AppError('unknown_source')
    const secrets = await vault.resolve(request.tenant as TenantId, scheme.secret)
    if (secrets.length === 0) {
      log.error('source.secret-missing', { source: source.document.name, tenant: request.tenant })
      throw new AppError('secret_missing')
    }
    const verdict = source.verifier({ headers, body: request.body, secrets, now: clock.now() })
    if (!verdict.ok) throw new AppError(verdict.code, verdict.detail)
  }

  const read = (source: Source, body: Uint8Array): { readonly text: string; readonly payload: JsonValue } => {
    const { limits } = source.document
    if (body.byteLength > limits.bodyBytes) {
      throw new AppError('body_too_large', `the limit is ${limits.bodyBytes} bytes`)
    }
    let text: string
    try {
      text = decoder.decode(body)
    } catch {
      throw new AppError('not_json', 'the body is not UTF-8')
    }
    try {
      return { text, payload: parseJson(text, { depth: limits.depth }) }
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      const code = error.code === 'depth' ? 'too_deep' : 'not_json'
      throw new AppError(code, `${error.message} (at ${error.offset})`)
    }
  }

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

  /** Tries again only where nobody can tell whether it was applied: the sender must not be told a lie. */
  const commit = async (plan: EventPlan): Promise<CommitResult> => {
    const { event } = plan
    const guards = [{ g: 'dedup', source: event.source, key: event.dedupKey }] as const
    try {
      return await commits.once(event.tenant, guards, plan.writes)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (error.applied === 'indeterminate') return commits.firmly(event.tenant, guards, plan.writes)
      throw new AppError('store_unavailable', undefined, { cause: error })
    }
  }

  const take = async (request: IntakeRequest, startedAt: number): Promise<Accepted> => {
    if (!deps.isOpen()) throw new AppError('shutting_down')
    const source = registry.source(request.tenant, request.source)
    if (source === null) throw new AppError('unknown_source')
    if (source.status === 'disabled') throw new AppError('source_disabled')
    const header = flatten(request.headers)
    await verify(source, request, header)
    const { text, payload } = read(source, request.body)
    const payloadHash = hashText(request.body)
    const names = name(source, request, header, payload, payloadHash)
    const correlationId = ids.uuid()
    const kept = keep(header, source)
    const plan = deps.plan(
      {
        id: ids.event(),
        tenant: request.tenant as TenantId,
        source: source.document.name,
        subject: names.subject,
        objectType: names.objectType,
        objectId: names.objectId,
        occurredAt: names.occurredAt,
        correlationId,
        causationId: null,
        traceId: traceIdOf(header.traceparent) ?? correlationId.replaceAll('-', ''),
        dedupKey: names.dedupKey,
        payloadHash,
        headers: stringifyJson(kept),
        data: text,
        raw: null,
        sensitive: [],
      },
      payload,
      kept,
      source.document.dedup.windowMs,
    )
    let result: CommitResult | null = null
    try {
      result = await commit(plan)
    } finally {
      if (result === null) deps.settleBirths(plan, { ok: false }, null)
    }
    const first = result.ok ? plan.event.id : result.found?.f === 'event' ? result.found.id : plan.event.id
    // A repeated commit that was applied the first time is refused by its own event: it is ours all the same.
    const duplicate = first !== plan.event.id
    deps.settleBirths(plan, { ok: !duplicate }, result)
    const durationMs = Math.round(clock.monotonic() - startedAt)
    log.control(
      duplicate
        ? lineOf('dedupe', 'DUPLICATE', { ...plan.event, id: first }, { durationMs })
        : lineOf('ingest', plan.event.matched === 0 ? 'UNMATCHED' : 'ACCEPTED', plan.event, { durationMs }),
    )
    return { eventId: first, duplicate }
  }

  let waiting = 0
  return {
    async accept(request) {
      const startedAt = clock.monotonic()
      waiting += 1
      try {
        if (waiting > config.acceptsMax) throw new AppError('overloaded')
        return await take(request, startedAt)
      } catch (error) {
        if (error instanceof AppError) {
          const durationMs = Math.round(clock.monotonic() - startedAt)
          log.control(refusalLine(request.tenant, request.source, error, durationMs))
        }
        throw error
      } finally {
        waiting -= 1
      }
    },
  }
}

function flatten(headers: IntakeRequest['headers']): Readonly<Record<string, string>> {
  for (const name in headers) if (typeof headers[name] !== 'string') return joinLists(headers)
  return headers as Readonly<Record<string, string>>
}

function joinLists(headers: IntakeRequest['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return flat
}

function keep(header: Readonly<Record<string, string>>, source: Source): Record<string, string> {
  const { verify } = source.document
  const signature = verify.scheme === 'hmac' ? verify.header : null
  const kept: Record<string, string> = {}
  for (const name in header) {
    if (!DROPPED_HEADERS.has(name) && name !== signature) kept[name] = header[name] as string
  }
  return kept
}

function traceIdOf(traceparent: string | undefined): string | null {
  if (traceparent === undefined) return null
  const match = TRACEPARENT.exec(traceparent)
  return match?.[1] ?? null
}
