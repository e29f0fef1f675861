// What became of an event for a subscription, by the work that there is of it: whether a recovery has anything to do. Pure.
//
// Invariant: RV2 what was delivered or is under way is left as it is, whatever else there is of it.

import type { WorkRow } from '../../../core/queue/work/index.ts'
import { isDelivered, isUnderWay } from '../../webhooks/index.ts'

/**
 * `failed`: its dead letter would be replayed. `missing`: it would be sent for the first time. `delivered`, `under-way`: left as
 * they are. `given-up`: a person discarded its letter, or it was skipped for a reason that holds. `unmatched`: its event itself
 * waits to be matched, or could not be.
 */
export const RECOVERY_VERDICTS = [
  'failed',
  'missing',
  'delivered',
  'under-way',
  'given-up',
  'unmatched',
] as const
export type RecoveryVerdict = (typeof RECOVERY_VERDICTS)[number]

type Row = Pick<WorkRow, 'kind' | 'consumer' | 'state' | 'lastError'>

/** `failed`: whether its letter is still open is to be seen. `work`: all of the event, whoever's. */
export function judgeWork(work: readonly Row[], consumer: string): RecoveryVerdict {
  const own = work.filter((one) => one.consumer === consumer)
  if (own.some(isDelivered)) return 'delivered'
  if (own.some(isUnderWay)) return 'under-way'
  if (own.some(({ state }) => state === 'dead')) return 'failed'
  if (!own.every(wasNeverSent)) return 'given-up'
  return isUnmatched(work) ? 'unmatched' : 'missing'
}

/** Skipped because the subscription was disabled, or cancelled before it went out. */
function wasNeverSent({ state, lastError }: Row): boolean {
  return state === 'cancelled' || (state === 'skipped' && lastError === 'DISABLED')
}

/** It waits to be matched, perhaps once more, or could not be: what becomes of it is decided there, for all who want it. */
function isUnmatched(work: readonly Row[]): boolean {
  const intakes = work.filter(({ kind }) => kind === 'intake')
  const isWaiting = intakes.some(({ state }) => state === 'ready' || state === 'leased')
  return isWaiting || (intakes.length > 0 && !intakes.some(({ state }) => state === 'done'))
}
