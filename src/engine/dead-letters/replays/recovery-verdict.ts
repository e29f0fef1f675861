// Decides by the jobs of an event whether a recovery has anything to do for a subscription. Pure.
//
// Invariant: RV2 an event that was delivered or is under way stays unchanged, whatever other jobs it has.

import type { WorkRow } from '../../../core/queue/work/index.ts'
import { isDelivered, isUnderWay } from '../../webhooks/index.ts'

/**
 * `failed`: its dead letter would be replayed. `missing`: it would be sent for the first time. `delivered`,
 * `under-way`: unchanged. `given-up`: an operator discarded its dead letter, or it was skipped for a reason
 * that still holds. `unmatched`: its event itself waits to be matched, or could not be.
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

/** `failed`: the caller checks whether its dead letter is still open. `work`: all jobs of the event, of every consumer. */
export function judgeWork(work: readonly Row[], consumer: string): RecoveryVerdict {
  const own = work.filter((one) => one.consumer === consumer)
  if (own.some(isDelivered)) return 'delivered'
  if (own.some(isUnderWay)) return 'under-way'
  if (own.some(({ state }) => state === 'dead')) return 'failed'
  if (!own.every(wasNeverSent)) return 'given-up'
  return isUnmatched(work) ? 'unmatched' : 'missing'
}

/** Skipped because the subscription was disabled, or cancelled before it was sent. */
function wasNeverSent({ state, lastError }: Row): boolean {
  return state === 'cancelled' || (state === 'skipped' && lastError === 'DISABLED')
}

/** It waits to be matched, perhaps again, or could not be: its intake job decides, for all consumers. */
function isUnmatched(work: readonly Row[]): boolean {
  const intakes = work.filter(({ kind }) => kind === 'intake')
  const isWaiting = intakes.some(({ state }) => state === 'ready' || state === 'leased')
  return isWaiting || (intakes.length > 0 && !intakes.some(({ state }) => state === 'done'))
}
