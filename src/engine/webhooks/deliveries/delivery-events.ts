// The event about the end of a delivery, in the commit of that end: only if a subscription wants it, and never about deliveries
// of such events, which would loop.

import { isCanonical } from '../../../core/events/canonical/index.ts'
import type { Ids } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { EventPlan, PlanEvent, UnitOfWork } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { canonicalEvent } from '../../events/index.ts'
import type { Item } from '../../leases/index.ts'

export type DeliveryEnd = 'webhook.delivered' | 'webhook.dead'

/**
 * null: no subscription wants it. Otherwise the plan and its writes belong to the commit of the end.
 */
export function deliveryEvent(
  deps: {
    readonly ids: Ids
    readonly plan: PlanEvent
    readonly registry: Pick<Registry, 'candidates' | 'isWanted' | 'needsNewerVersion'>
    readonly unitOfWork: Pick<UnitOfWork, 'release'>
  },
  { work, event }: Pick<Item, 'work' | 'event'>,
  subscription: string,
  end: DeliveryEnd,
  how: { readonly [name: string]: JsonValue },
): EventPlan | null {
  const { tenant, consumer } = work
  if (!deps.registry.isWanted(tenant, end)) return null
  const wanting = deps.registry.candidates(tenant, end)
  // A subscription gets no events about its own deliveries.
  const isOwnAlone = wanting.length === 1 && wanting[0]?.consumer === consumer
  if (isOwnAlone && !deps.registry.needsNewerVersion(tenant)) return null
  if (isCanonical(event)) return null
  const plan = canonicalEvent(deps, {
    tenant,
    subject: end,
    data: { deliveryId: work.id, eventId: event.id, subject: event.subject, subscription, consumer, ...how },
    key: `${work.id}:${work.epoch}`,
    parent: event,
  })
  if (plan.writes.length > 1 || (plan.begins?.length ?? 0) > 0) return plan
  // Their conditions are false.
  deps.unitOfWork.release([plan])
  return null
}
