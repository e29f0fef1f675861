// What a connection's step says to others: events about its status, and its failure with the event and the escalation.
//
// Invariant: FL12 a connection that is degraded has one failure, until it is resolved.

import {
  CIRCUIT_OPEN,
  type ConnectionStep,
  connectionFailure,
} from '../../core/connections/connection/index.ts'
import type { ConnectionDocument } from '../../core/definitions/documents/index.ts'
import type { CanonicalSubject } from '../../core/events/canonical/index.ts'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Write } from '../../ports/store.ts'
import type { EventPlan } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { canonicalEvent, type NoteDeps, noteEvent } from '../events/index.ts'
import { raise } from '../settlement/index.ts'
import type { StateNotice } from './connection-state-cache.ts'

const SUBJECTS = {
  activated: 'integration.connection.activated',
  degraded: 'integration.connection.degraded',
  recovered: 'integration.connection.recovered',
  retired: 'integration.connection.retired',
} as const satisfies Readonly<Record<string, CanonicalSubject>>

const CONNECTION_PREFIX = 'connection:'

type About = Pick<ConnectionDocument, 'name' | 'provider'>

export function connectionEvents(
  deps: NoteDeps & { readonly registry: Pick<Registry, 'isWanted'> },
  tenant: TenantId,
  document: About,
  step: ConnectionStep,
): StateNotice {
  const { state, notices } = step
  const failed = failureEvents(deps, tenant, document, step)
  const writes: Write[] = [...failed.writes]
  const plans: EventPlan[] = [...failed.plans]
  for (const notice of notices) {
    if (!isStatus(notice)) continue
    const subject = SUBJECTS[notice]
    const isWanted = deps.registry.isWanted(tenant, subject)
    const key = isWanted ? deps.ids.uuid() : `${document.name}:${deps.now()}`
    const data = { ...about(document), status: state.status, health: state.health }
    const noted = noteEvent(
      deps,
      { tenant, subject, data, key, parent: null, object: objectOf(document) },
      isWanted,
    )
    writes.push(...noted.writes)
    plans.push(...noted.plans)
  }
  return { writes, plans }
}

function isStatus(notice: ConnectionStep['notices'][number]): notice is keyof typeof SUBJECTS {
  return Object.hasOwn(SUBJECTS, notice)
}

const about = ({ name, provider }: About) => ({
  connection: name,
  provider,
  consumer: `${CONNECTION_PREFIX}${name}`,
})
const objectOf = ({ name }: About) => ({ type: 'connection', id: name })

/** Its row, and the event that says the same. */
function failureEvents(
  deps: NoteDeps,
  tenant: TenantId,
  document: About,
  { state, notices, failing }: ConnectionStep,
): StateNotice {
  const isOutage = notices.includes('outage')
  const isFailed = isOutage || notices.includes('failing') || notices.includes('still-failing')
  const isResolved = notices.includes('resolved')
  // The outage of a connection whose document changed meanwhile: nobody waits for it.
  if (failing === null || !(isFailed || isResolved)) return { writes: [], plans: [] }
  const now = deps.now()
  const { name } = document
  const row = connectionFailure({ tenant, name, eventId: '' as EventId, now }, { state, notices }, failing)
  const common: { readonly [name: string]: JsonValue } = {
    ...about(document),
    failureId: row.id,
    severity: row.severity,
    attempts: row.attempts,
  }
  const data = isResolved
    ? { ...common, how: row.reason ?? 'succeeded' }
    : {
        ...common,
        what: row.state === 'escalated' ? 'outage' : 'probe',
        class: row.class,
        error: row.lastError,
        terminal: false,
        willRetryAt: row.retryInMs === null ? null : new Date(now + row.retryInMs).toISOString(),
      }
  const plan = canonicalEvent(deps, {
    tenant,
    subject: isResolved ? 'integration.failure.resolved' : 'integration.failed',
    data,
    key: `${row.id}:${isResolved ? 'resolved' : failing.toldAt}`,
    parent: null,
    object: objectOf(document),
    correlationId: row.correlationId,
  })
  const writes: Write[] = [...plan.writes, { w: 'failure.put', row: { ...row, eventId: plan.event.id } }]
  if (isOutage) writes.push(raise(deps.ids, row, null, CIRCUIT_OPEN))
  return { writes, plans: [plan] }
}
