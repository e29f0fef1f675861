// Debounce: of several jobs of one key that arrive close together one runs, and the others point to it.
//
// The first of them holds the lane's only position, the others wait behind it. When its time comes this file decides: wait for
// more, let one represent all, or run. Nothing is stored in between, so that after a crash at any point the decision is simply
// repeated.
//
// Invariants: DB1 each superseded job names one of the same lane that represents it: the newest, or with `keep: first` the
// oldest. DB2 the oldest waits no longer than `maxWait`. DB3 the decision depends on instants alone.

import type { RouteDocument } from '../../definitions/documents/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { type Counters, isUntried } from '../work/index.ts'

export type DebouncePolicy = NonNullable<RouteDocument['debounce']>

interface Member {
  readonly id: WorkId
  readonly createdAt: Instant
}

export interface DebounceQuestion {
  readonly policy: DebouncePolicy
  /** The job that holds the position. */
  readonly head: Member
  /** The jobs that may be superseded, oldest first. */
  readonly waiting: readonly Member[]
  /** There are more of them than `waiting` lists. */
  readonly isCapped: boolean
  readonly now: Instant
}

export type DebounceStep =
  | { readonly step: 'run' }
  | { readonly step: 'wait'; readonly delayMs: number }
  /** Too many for one commit: these first, and then decide again. The job that represents them may be superseded later. */
  | { readonly step: 'thin'; readonly survivor: WorkId; readonly superseded: readonly WorkId[] }
  /** `superseded` are those of `waiting`; the head is one more, unless it survives. */
  | { readonly step: 'freeze'; readonly survivor: WorkId; readonly superseded: readonly WorkId[] }

export function decideDebounce({ policy, head, waiting, isCapped, now }: DebounceQuestion): DebounceStep {
  const newest = waiting.at(-1)
  const isFirst = policy.keep === 'first'
  // Whatever happens to the newest of these, the others are superseded; it stays, because the window counts from it.
  if (isCapped && newest !== undefined && waiting.length > 1) {
    const survivor = isFirst ? head.id : newest.id
    return { step: 'thin', survivor, superseded: idsOf(waiting.slice(0, -1)) }
  }
  const quietAt = (newest ?? head).createdAt + policy.windowMs
  const endsAt = Math.min(quietAt, head.createdAt + policy.maxWaitMs)
  if (now < endsAt) return { step: 'wait', delayMs: endsAt - now }
  if (newest === undefined) return { step: 'run' }
  if (isFirst) return { step: 'freeze', survivor: head.id, superseded: idsOf(waiting) }
  return { step: 'freeze', survivor: newest.id, superseded: idsOf(waiting.slice(0, -1)) }
}

/**
 * Whether a job at the head of its lane still gathers others: one that already represents others, or was attempted, does not.
 */
export function gathers(work: Counters & { readonly isFrozen: boolean }): boolean {
  return !work.isFrozen && isUntried(work)
}

function idsOf(members: readonly Member[]): readonly WorkId[] {
  return members.map(({ id }) => id)
}
