// Requests refused at ingest, as a bounded list and counters per reason. Invariants: GU21 the newest are stored, at most
// `RECENT_MAX` per source; counters only grow. Nothing here contains a payload or the value of a header.

import type { Instant } from '../../foundation/time/index.ts'

export interface Rejection {
  /** Distinguishes two of the same instant. */
  readonly id: string
  readonly at: Instant
  /** As requested, known or not. */
  readonly source: string
  /** An error code. */
  readonly reason: string
  readonly status: number
  readonly address: string
  readonly detail: string
}

export interface ReasonCount {
  readonly reason: string
  readonly count: number
  readonly latestAt: Instant
}

export interface RejectionLog {
  /** Newest first. */
  readonly recent: readonly Rejection[]
  /** By reason. */
  readonly counts: readonly ReasonCount[]
}

export const EMPTY_LOG: RejectionLog = { recent: [], counts: [] }
export const RECENT_MAX = 100

type Place = Pick<Rejection, 'at' | 'id'>

/** Newest first. */
export function compareRejections(a: Place, b: Place): number {
  return b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

/** Merges both. A rejection that is in both is listed once; a counter cannot detect it, and counts it twice. */
export function mergeLogs(one: RejectionLog, other: RejectionLog): RejectionLog {
  const all = new Map([...one.recent, ...other.recent].map((rejection) => [rejection.id, rejection]))
  const counts = new Map(one.counts.map((count) => [count.reason, count]))
  for (const { reason, count, latestAt } of other.counts) {
    const before = counts.get(reason)
    counts.set(reason, {
      reason,
      count: count + (before?.count ?? 0),
      latestAt: Math.max(latestAt, before?.latestAt ?? latestAt),
    })
  }
  return {
    recent: [...all.values()].sort(compareRejections).slice(0, RECENT_MAX),
    counts: [...counts.values()].sort((a, b) => (a.reason < b.reason ? -1 : 1)),
  }
}
