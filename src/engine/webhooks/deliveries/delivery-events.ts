// The event about the end of a delivery, in the commit of that end: a fact, unless a definition selects it. Deliveries of system
// events have none: it would loop.

import { isCanonical } from '../../../core/events/canonical/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { UnitOfWork } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { NOTHING_NOTED, type NoteDeps, type Noted, noteEvent, noteFact } from '../../events/index.ts'
import type { Item } from '../../leases/index.ts'

export type DeliveryEnd = 'webhook.delivered' | 'webhook.dead'

/** Belongs to the commit of the end. */
export function deliveryEvent(
  deps: NoteDeps & {
    readonly registry: Pick<Registry, 'candidates' | 'isWanted' | 'needsNewerVersion'>
    readonly unitOfWork: Pick<UnitOfWork, 'release'>
  },
  { work, event }: Pick<Item, 'work' | 'event'>,
  subscription: string,
  end: DeliveryEnd,
  how: { readonly [name: string]: JsonValue },
): Noted {
  if (isCanonical(event)) return NOTHING_NOTED
  const { tenant, consumer } = work
  const draft = {
    tenant,
    subject: end,
    data: { deliveryId: work.id, eventId: event.id, subject: event.subject, subscription, consumer, ...how },
    key: `${work.id}:${work.epoch}`,
    parent: event,
  }
  if (!deps.registry.isWanted(tenant, end)) return noteFact(deps, draft)
  const wanting = deps.registry.candidates(tenant, end)
  // A subscription gets no events about its own deliveries.
  const isOwnAlone = wanting.length === 1 && wanting[0]?.consumer === consumer
  if (isOwnAlone && !deps.registry.needsNewerVersion(tenant)) return noteFact(deps, draft)
  const noted = noteEvent(deps, draft, true)
  const [plan] = noted.plans
  if (plan === undefined || plan.writes.length > 1 || (plan.begins?.length ?? 0) > 0) return noted
  // Their conditions are false.
  deps.unitOfWork.release([plan])
  return noteFact(deps, draft)
}
