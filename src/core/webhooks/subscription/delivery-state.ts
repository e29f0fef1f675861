// The life of a delivery, as people see it: a reading of its work item. Which state may follow which is a table, and the work
// machine (core/queue/work) can make no other step.

import { type Counters, isUntried, type WorkState } from '../../queue/work/index.ts'

export const DELIVERY_STATES = [
  'pending',
  'delivering',
  'retrying',
  'delivered',
  'dead-lettered',
  'cancelled',
  'skipped',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Of one that nobody has tried, and of one that somebody has. */
const STATE_OF: Readonly<Record<WorkState, readonly [untried: DeliveryState, tried: DeliveryState]>> = {
  ready: ['pending', 'retrying'],
  waiting: ['pending', 'retrying'],
  leased: ['delivering', 'delivering'],
  done: ['delivered', 'delivered'],
  skipped: ['skipped', 'skipped'],
  dead: ['dead-lettered', 'dead-lettered'],
  cancelled: ['cancelled', 'cancelled'],
  // Deliveries are neither batched nor in doubt: these do not happen, and a list must not break if they did.
  merged: ['pending', 'retrying'],
  parked: ['pending', 'retrying'],
}

export function deliveryState(work: Counters & { readonly state: WorkState }): DeliveryState {
  return STATE_OF[work.state][isUntried(work) ? 0 : 1]
}

/** In which states its work item may be; of `pending` and `retrying` look at the item too. */
export const WORK_STATES_OF: Readonly<Record<DeliveryState, readonly WorkState[]>> = {
  pending: ['ready', 'waiting'],
  delivering: ['leased'],
  retrying: ['ready', 'waiting'],
  delivered: ['done'],
  'dead-lettered': ['dead'],
  cancelled: ['cancelled'],
  skipped: ['skipped'],
}

export const DELIVERY_STEPS: Readonly<Record<DeliveryState | 'absent', readonly DeliveryState[]>> = {
  // Born in the hands of the node that took the event, unless it has to wait.
  absent: ['pending', 'delivering'],
  // Dead without a try: its time was up.
  pending: ['delivering', 'cancelled', 'skipped', 'dead-lettered'],
  // Back to pending: nothing was sent (its node left, the endpoint had no room).
  delivering: ['delivered', 'retrying', 'pending', 'dead-lettered', 'cancelled', 'skipped'],
  retrying: ['delivering', 'cancelled', 'skipped', 'dead-lettered'],
  // Sent again only as a new delivery, by a person's hand.
  delivered: [],
  'dead-lettered': [],
  cancelled: [],
  skipped: [],
}
