// core/flow-control/drain/drain.ts — when a route that drains takes its work up: in slots of the store's clock, so many cycles in each, so
// many items in a cycle (docs/spec/pace.md).
//
// A cycle is begun by writing it down, guarded by the version of what was written last: of two nodes one begins it. What is taken
// in a slot is therefore never more than events × cycles, whoever takes it.
//
// Invariants: R1 slots and cycles only go forward. R2 a slot has at most `cycles` cycles. R3 a cycle begins only when the one
// before is empty, as far as its node knows.

import type { DrainPolicy } from '../../definitions/documents/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** What is kept of a route's drain, under its consumer. */
export interface DrainRecord {
  readonly everyMs: number
  readonly slotAt: Instant
  /** The cycle of the slot that was begun last, from 1. */
  readonly cycle: number
  /** The incarnation that began it. */
  readonly by: string
}

/** What the node knows of the cycle that it began last. */
export interface DrainCycle {
  readonly record: DrainRecord
  /** Items that it may still take. */
  readonly left: number
  /** Items of it that are not over. */
  readonly running: number
  /** There was less than it might have taken. */
  readonly isDry: boolean
}

export type DrainStep =
  /** Its cycle goes on: so many may be claimed. */
  | { readonly do: 'take'; readonly max: number }
  /** A cycle may begin, by writing this down. */
  | { readonly do: 'begin'; readonly record: DrainRecord }
  /** Nothing before that, or before its own cycle is empty. */
  | { readonly do: 'wait'; readonly untilAt: Instant; readonly forCycle: boolean }

/** The beginning of the slot that an instant is in. */
export function slotOf(everyMs: number, at: Instant): Instant {
  return Math.floor(at / everyMs) * everyMs
}

/** `cycle`: of this life; null when it began none. `record`: what was written last, by whomever. */
export function decideDrain(
  policy: DrainPolicy,
  record: DrainRecord | null,
  cycle: DrainCycle | null,
  by: string,
  now: Instant,
): DrainStep {
  const slotAt = slotOf(policy.everyMs, now)
  const nextAt = slotAt + policy.everyMs
  const isOwn = cycle !== null && isSameCycle(cycle.record, record)
  if (isOwn && cycle.left > 0 && !cycle.isDry && cycle.record.slotAt === slotAt) {
    return { do: 'take', max: cycle.left }
  }
  if (cycle !== null && cycle.running > 0) return { do: 'wait', untilAt: nextAt, forCycle: true }
  const isNewSlot = record === null || record.everyMs !== policy.everyMs || record.slotAt < slotAt
  // Written by a clock that was ahead: it must not stop the drain for long.
  const isAhead = record !== null && record.slotAt > nextAt
  if (isNewSlot || isAhead) {
    return { do: 'begin', record: { everyMs: policy.everyMs, slotAt, cycle: 1, by } }
  }
  if (isOwn && !cycle.isDry && record.slotAt === slotAt && record.cycle < policy.cycles) {
    return { do: 'begin', record: { ...record, cycle: record.cycle + 1, by } }
  }
  return { do: 'wait', untilAt: nextAt, forCycle: false }
}

function isSameCycle(one: DrainRecord, other: DrainRecord | null): boolean {
  return other !== null && one.slotAt === other.slotAt && one.cycle === other.cycle && one.by === other.by
}
