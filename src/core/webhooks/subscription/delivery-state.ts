// The states of a delivery, as users see them: derived from its job. Which state may follow which is a table, and the job state
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

/** Never attempted, and attempted. */
const STATE_OF: Readonly<Record<WorkState, readonly [untried: DeliveryState, tried: DeliveryState]>> = {
  ready: ['pending', 'retrying'],
  waiting: ['pending', 'retrying'],
  leased: ['delivering', 'delivering'],
  done: ['delivered', 'delivered'],
  skipped: ['skipped', 'skipped'],
  dead: ['dead-lettered', 'dead-lettered'],
  cancelled: ['cancelled', 'cancelled'],
  // Deliveries are neither batched nor parked: these cases do not happen, but a list must not break if they did.
  merged: ['pending', 'retrying'],
  parked: ['pending', 'retrying'],
}

export function deliveryState(work: Counters & { readonly state: WorkState }): DeliveryState {
  return STATE_OF[work.state][isUntried(work) ? 0 : 1]
}

/** The states that its job may have; `pending` and `retrying` also depend on the job's fields. */
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
  // Leased on insert by the node that accepted the event, unless it has to wait.
  absent: ['pending', 'delivering'],
  // Dead without an attempt: it expired.
  pending: ['delivering', 'cancelled', 'skipped', 'dead-lettered'],
  // Back to pending: nothing was sent (its node left, or the endpoint's limit was reached).
  delivering: ['delivered', 'retrying', 'pending', 'dead-lettered', 'cancelled', 'skipped'],
  retrying: ['delivering', 'cancelled', 'skipped', 'dead-lettered'],
  // Sent again only as a new delivery, by an operator action.
  delivered: [],
  'dead-lettered': [],
  cancelled: [],
  skipped: [],
}
