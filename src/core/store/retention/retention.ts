// How long an event is stored, and what still needs it. Pure; the stores do the deleting.
//
// Invariants: N2 only final rows are deleted. An event outlives its dedup window, so that N1 holds until its end.

import type { LedgerState } from '../../effects/ledger/index.ts'
import { CLOCK_MARGIN_MS } from '../../events/event/index.ts'
import type { DeadLetterState } from '../../failures/dead-letter/index.ts'
import { type EventId, eventIdAt, type RunId, runIdAt, type TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { WorkState } from '../../queue/work/index.ts'
import type { OrphanState } from '../../workflows/orphan/index.ts'

/**
 * States that neither an owner nor an operator will change implicitly. `parked` waits for a decision, `merged` for its batch.
 */
export const FINAL_WORK: readonly WorkState[] = ['done', 'skipped', 'dead', 'cancelled']
export const CLOSED_DEAD_LETTERS: readonly DeadLetterState[] = ['resolved', 'discarded']
/** An effect in flight or with an unknown outcome: settling it needs the event. */
export const OPEN_ENTRIES: readonly LedgerState[] = ['reserved', 'unknown']

/** An operator may still assign these, and then needs the event. */
export const OPEN_ORPHANS: readonly OrphanState[] = ['waiting', 'open']

export interface KeepTimes {
  /** By source. */
  readonly keepMs: Readonly<Record<string, number>>
  /** For events of sources that are not listed. */
  readonly otherwiseMs: number
}

export function keepMsOf({ keepMs, otherwiseMs }: KeepTimes, source: string): number {
  return Object.hasOwn(keepMs, source) ? (keepMs[source] as number) : otherwiseMs
}

/** Events from this id on are too young for every source: a scan by id ends there. */
export function pruneEnd({ keepMs, otherwiseMs }: KeepTimes, now: Instant): EventId {
  const shortestMs = Math.min(otherwiseMs, ...Object.values(keepMs))
  return eventIdAt(now - shortestMs + CLOCK_MARGIN_MS)
}

/** No event is stored longer: rows that only events need may be deleted after it. */
export function longestKeepMs({ keepMs, otherwiseMs }: KeepTimes): number {
  return Math.max(otherwiseMs, ...Object.values(keepMs))
}

export function shortestKeepMs({ keepMs, otherwiseMs }: KeepTimes): number {
  return Math.min(otherwiseMs, ...Object.values(keepMs))
}

/** Facts from this id on are too young: a scan by id ends there. */
export function pruneFactsEnd(factMs: number, now: Instant): EventId {
  return eventIdAt(now - factMs + CLOCK_MARGIN_MS)
}

/** Runs from this id on were touched since: a scan by id ends there. */
export function pruneRunsEnd(times: KeepTimes, now: Instant): RunId {
  return runIdAt(now - longestKeepMs(times) + CLOCK_MARGIN_MS)
}

/** Younger entries stay, whatever owns them: a scan by age ends there. */
export function youngestEntry(times: KeepTimes, now: Instant): Instant {
  return now - shortestKeepMs(times)
}

/**
 * The event that this one must outlive, or null. An event that a source's rules derived is deleted with its origin or later: if
 * it were missing, a replay would derive it again under a new id, and its routes would not recognize it.
 */
export function keeperOf({
  source,
  causationId,
}: {
  readonly source: string
  readonly causationId: string | null
}): string | null {
  return source.startsWith('source:') ? causationId : null
}

export interface PruneRequest extends KeepTimes {
  readonly tenant: TenantId
  /** Where the scan continues: `next` of the previous call, opaque to the caller; null from the start. */
  readonly after: string | null
  /** How many events, entries, lanes, escalations, instances, orphans, runs and facts one call examines. */
  readonly scanMax: number
  /**
   * How long the ledger remembers, by consumer. An entry is deleted when it is done or released, was settled longer ago than
   * that, and its event is gone; an earlier generation goes with the one that followed it. Left out: the ledger stays.
   */
  readonly ledger?: KeepTimes
  /** How long facts are stored. Left out: they stay. */
  readonly factMs?: number
  /**
   * How long each tenant stores its events, as far as the caller knows. A store that drops old events of all tenants together
   * does so when they have expired for all; the result then counts all of them. Left out: no other tenant's events are deleted.
   */
  readonly byTenant?: Readonly<Record<string, KeepTimes>>
}

/** What was deleted, and where to continue; `next` is null at the end of the scan. */
export interface Pruned {
  readonly events: number
  readonly work: number
  readonly attempts: number
  readonly deadLetters: number
  readonly dedup: number
  /** With their event. */
  readonly failures: number
  readonly ledger: number
  /** Empty lanes, untouched for as long as events are stored. */
  readonly lanes: number
  /** Acknowledged, untouched for as long as events are stored. */
  readonly escalations: number
  /** Ended for as long as events are stored. */
  readonly instances: number
  /** With their instance. */
  readonly history: number
  /** Correlated or discarded for as long as events are stored. */
  readonly orphans: number
  /** With their job; without one, untouched for as long as events are stored. */
  readonly runs: number
  readonly facts: number
  readonly next: string | null
}
