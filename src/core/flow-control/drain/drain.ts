// When a draining route claims its jobs: in slots of the store's clock, a number of cycles in each, a number of jobs per cycle
// (docs/spec/flow-control.md).
//
// A cycle begins by storing it, guarded by the version of the last record: only one of two nodes begins it. So a slot never
// takes more than events × cycles, whichever nodes claim.
//
// Invariants: R1 slots and cycles only go forward. R2 a slot has at most `cycles` cycles. R3 a cycle begins only when the
// previous one is empty, as far as its node knows.

import type { DrainPolicy } from '../../definitions/documents/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** The stored state of a route's drain, under its consumer. */
export interface DrainRecord {
  readonly everyMs: number
  readonly slotAt: Instant
  /** The latest cycle begun in the slot, from 1. */
  readonly cycle: number
  /** The incarnation that began it. */
  readonly by: string
}

/** What the node knows about the cycle that it began last. */
export interface DrainCycle {
  readonly record: DrainRecord
  /** Jobs that it may still claim. */
  readonly left: number
  /** Its jobs that have not ended. */
  readonly running: number
  /** Fewer jobs were due than it could have claimed. */
  readonly isDry: boolean
}

export type DrainStep =
  /** The cycle continues: this many may be claimed. */
  | { readonly do: 'take'; readonly max: number }
  /** A cycle may begin, by storing this record. */
  | { readonly do: 'begin'; readonly record: DrainRecord }
  /** Nothing before that instant, or before the node's own cycle is empty. */
  | { readonly do: 'wait'; readonly untilAt: Instant; readonly forCycle: boolean }

/** The beginning of the slot that contains an instant. */
export function slotOf(everyMs: number, at: Instant): Instant {
  return Math.floor(at / everyMs) * everyMs
}

/** `cycle`: of this incarnation; null when it began none. `record`: the last stored one, by any node. */
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
  // Stored by a clock that was ahead: it must not stop the drain for long.
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
