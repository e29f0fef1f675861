// The event about an escalation, unless the job that it is about emits nothing.

import { isCanonical } from '../../core/events/canonical/index.ts'
import type { Escalation } from '../../core/failures/escalation/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Store } from '../../ports/store.ts'
import type { EventPlan, PlanEvent } from '../commit/index.ts'
import { canonicalEvent } from '../events/index.ts'
import { routeOf } from './failures.ts'

/** null: it is about a job for canonical events, and only logged (FL9). */
export async function planEscalationEvent(
  deps: { readonly store: Pick<Store, 'forTenant'>; readonly ids: Ids; readonly plan: PlanEvent },
  escalation: Escalation,
  subject: 'integration.escalation.raised' | 'integration.escalation.acknowledged',
  more: { readonly [name: string]: JsonValue },
): Promise<EventPlan | null> {
  const { tenant, id, workId } = escalation
  const reads = deps.store.forTenant(tenant)
  const work = workId === null ? null : await reads.work(workId)
  const event = work === null ? null : await reads.event(work.eventId)
  if (event !== null && isCanonical(event)) return null
  const { cause, consumer, class: failureClass, reason, severity, runbook, count, lastError } = escalation
  return canonicalEvent(deps, {
    tenant,
    subject,
    data: {
      escalationId: id,
      cause,
      consumer,
      route: routeOf(consumer),
      class: failureClass,
      reason,
      severity,
      runbook,
      count,
      error: lastError,
      workId,
      eventId: event?.id ?? null,
      correlationId: event?.correlationId ?? null,
      objectType: event?.objectType ?? null,
      objectId: event?.objectId ?? null,
      ...more,
    },
    key: id,
    parent: event,
    // Not that of its cause: keys made of an escalation's object must not be equal for two escalations.
    object: { type: 'escalation', id },
  })
}
