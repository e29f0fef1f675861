// Debounce: of several items of one key that come close together one is run, and the others point to it.
//
// The first of them has the lane's only place, the others wait behind it. When its time comes this file decides: wait for more,
// let one stand for all, or run. Nothing is remembered in between, so that a crash at any point only means to decide again.
//
// Invariants: DB1 each that is passed over names one of the same lane that stands for it: the newest, or with `keep: first` the
// eldest. DB2 the eldest waits no longer than `maxWait`. DB3 what is decided depends on instants alone.

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
  /** Who has the place. */
  readonly head: Member
  /** Those that may be passed over, the eldest first. */
  readonly waiting: readonly Member[]
  /** There are more of them than `waiting` shows. */
  readonly isCapped: boolean
  readonly now: Instant
}

export type DebounceStep =
  | { readonly step: 'run' }
  | { readonly step: 'wait'; readonly delayMs: number }
  /** Too many for one commit: these first, and then look again. Whoever stands for them may be passed over in turn. */
  | { readonly step: 'thin'; readonly survivor: WorkId; readonly superseded: readonly WorkId[] }
  /** `superseded` are those of `waiting`; the head is one more, unless it survives. */
  | { readonly step: 'freeze'; readonly survivor: WorkId; readonly superseded: readonly WorkId[] }

export function decideDebounce({ policy, head, waiting, isCapped, now }: DebounceQuestion): DebounceStep {
  const newest = waiting.at(-1)
  const isFirst = policy.keep === 'first'
  // Whatever the newest of these becomes, the others are passed over; it stays, because the window counts from it.
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

/** Whether an item whose turn it is still gathers others: one that stands for them already, or was tried, does not. */
export function gathers(work: Counters & { readonly isFrozen: boolean }): boolean {
  return !work.isFrozen && isUntried(work)
}

function idsOf(members: readonly Member[]): readonly WorkId[] {
  return members.map(({ id }) => id)
}
