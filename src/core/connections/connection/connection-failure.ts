// The failure of a connection as a row among the failures of jobs: no job has it, and its consumer names the connection.
//
// Invariant: FL12 a connection that is degraded has one failure that is not resolved, and no other connection has one.

import { correlationOf, factId } from '../../events/canonical/index.ts'
import { causeHash } from '../../failures/escalation/index.ts'
import type { NewFailure } from '../../failures/failure/index.ts'
import type { EventId, FailureId, TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { ConnectionFailing } from './connection-state.ts'
import type { ConnectionStep } from './connection-step.ts'

/** Why its escalation is raised. */
export const CIRCUIT_OPEN = 'circuit_open'
const FAILURE_PREFIX = 'fail_'

/** The same on every node. */
export function connectionFailureId(
  tenant: TenantId,
  name: string,
  { since }: Pick<ConnectionFailing, 'since'>,
): FailureId {
  const id = factId(since, tenant, 'integration.failed', `connection:${name}`)
  return `${FAILURE_PREFIX}${correlationOf(id)}` as FailureId
}

/** Open after a failed probe, escalated once the outage is confirmed. `eventId`: the latest event about it. */
export function connectionFailure(
  {
    tenant,
    name,
    eventId,
    now,
  }: {
    readonly tenant: TenantId
    readonly name: string
    readonly eventId: EventId
    readonly now: Instant
  },
  { state, notices }: Pick<ConnectionStep, 'state' | 'notices'>,
  failing: ConnectionFailing,
): NewFailure {
  const consumer = `connection:${name}`
  const { circuit } = state
  const isResolved = notices.includes('resolved')
  const isRetired = isResolved && state.status === 'retired'
  const tryAt = circuit.state === 'closed' || isResolved ? null : circuit.tryAt
  const of = { consumer, class: failing.class, reason: CIRCUIT_OPEN, error: '', isCanonical: false }
  const id = connectionFailureId(tenant, name, failing)
  return {
    id,
    state: isResolved ? 'resolved' : failing.isOutage ? 'escalated' : 'open',
    workId: '',
    consumer,
    eventId,
    class: failing.class,
    reason: isRetired ? 'retired' : null,
    key: null,
    attempts: failing.attempts,
    lastError: failing.isOutage
      ? `calls on the connection ${name} fail, or its probes do (${failing.class}); its jobs wait, and one is tried`
      : `the connection ${name} failed its latest probe (${failing.class}); its jobs wait until a probe or a trial call passes`,
    retryInMs: tryAt === null ? null : Math.max(0, tryAt - now),
    correlationId: id.slice(FAILURE_PREFIX.length),
    severity: 'high',
    cause: failing.isOutage ? causeHash(of) : null,
  }
}
