// The event to inspect: one that was accepted, or one given in place.

import type { Envelope } from '../../core/events/event/index.ts'
import { hiddenFrom, parsePayload, redact, redactHeader } from '../../core/events/sensitive/index.ts'
import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import { JsonError, type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { routeScope, type Vars } from '../../core/routing/index.ts'
import type { Log } from '../../ports/log.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { logSensitiveRead, type Reader } from '../secrets/index.ts'

export interface GivenEvent {
  readonly subject: string
  readonly source?: string
  readonly data: JsonValue
  readonly headers?: Readonly<Record<string, string>>
}

export interface LookedAt {
  readonly event: Envelope
  /** Sensitive paths of the event. */
  readonly sensitive: readonly string[]
  readonly scope: Scope
  /** What the reader may see of it: the same object if that is everything. */
  readonly shown: Scope
  /** null: it was given in place. */
  readonly id: EventId | null
}

const GIVEN_ID = 'evt_00000000-0000-7000-8000-000000000000' as EventId
const GIVEN_SOURCE = 'try'

export async function lookAt(
  deps: Pick<EngineBase, 'store' | 'vars'> & {
    readonly registry: Registry
    readonly log: Pick<Log, 'info'>
  },
  tenant: TenantId,
  asked: EventId | GivenEvent,
  reader: Reader,
): Promise<LookedAt> {
  if (typeof asked !== 'string') return lookAtGiven(deps, tenant, asked)
  const event = await deps.store.forTenant(tenant).event(asked)
  if (event === null) throw new AppError('not_found', `there is no event ${asked}`)
  try {
    const [payload, header] = [parsePayload(event.data), parseJson(event.headers)]
    const scope = routeScope(event, payload, header, deps.vars)
    const { sensitive, id } = event
    if (sensitive.length === 0) return { event, sensitive, scope, shown: scope, id }
    if (reader.seesSensitive) logSensitiveRead(deps.log, event, reader)
    const hidden = hiddenFrom(sensitive, reader)
    if (hidden.length === 0) return { event, sensitive, scope, shown: scope, id }
    const shown = routeScope(event, redact(payload, hidden), redactHeader(header, hidden), deps.vars)
    return { event, sensitive, scope, shown, id }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new AppError('conflict', `the event’s payload cannot be read: ${error.message}`)
  }
}

function lookAtGiven(
  deps: { readonly registry: Registry; readonly vars: Vars },
  tenant: TenantId,
  given: GivenEvent,
): LookedAt {
  const header = Object.fromEntries(
    Object.entries(given.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const payloadHash = hashText(stringifyJson(given.data))
  const names = namesOf(deps.registry, tenant, given, header, payloadHash)
  const event: Envelope = {
    id: GIVEN_ID,
    tenant,
    source: given.source ?? GIVEN_SOURCE,
    subject: given.subject,
    objectType: names?.objectType ?? null,
    objectId: names?.objectId ?? null,
    occurredAt: names?.occurredAt ?? null,
    correlationId: GIVEN_ID.slice(4),
    causationId: null,
    traceId: '0'.repeat(32),
    dedupKey: names?.dedupKey ?? payloadHash,
    payloadHash,
  }
  const scope = routeScope(event, given.data, header, deps.vars)
  return { event, sensitive: [], scope, shown: scope, id: null }
}

/** The names that the source would give it; null if there is no such source, or it could not. */
function namesOf(
  registry: Registry,
  tenant: TenantId,
  given: GivenEvent,
  header: Readonly<Record<string, string>>,
  payloadHash: string,
) {
  const source = given.source === undefined ? null : registry.source(tenant, given.source)
  if (source === null) return null
  try {
    const named = source.name({ header, payload: given.data, tenant, payloadHash })
    return named.ok ? named.names : null
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}
