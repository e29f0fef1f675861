// How long an event is kept, and what still needs it. Pure; the stores do the deleting.
//
// Invariants: N2 only what is final goes. An event outlives its dedup window, so that N1 holds until its end.

import type { LedgerState } from '../../effects/ledger/index.ts'
import { CLOCK_MARGIN_MS } from '../../events/event/index.ts'
import type { DeadLetterState } from '../../failures/dead-letter/index.ts'
import { type EventId, eventIdAt, type RunId, runIdAt, type TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { WorkState } from '../../queue/work/index.ts'
import type { OrphanState } from '../../workflows/orphan/index.ts'

/** Nobody will touch these again: not an owner, and not a person without saying so. `parked` waits for one, `merged` for its batch. */
export const FINAL_WORK: readonly WorkState[] = ['done', 'skipped', 'dead', 'cancelled']
export const CLOSED_LETTERS: readonly DeadLetterState[] = ['resolved', 'discarded']
/** An effect under way or in doubt: whoever settles it wants to see the event. */
export const OPEN_ENTRIES: readonly LedgerState[] = ['reserved', 'unknown']

/** Somebody may still say where these belong, and then wants the event. */
export const OPEN_ORPHANS: readonly OrphanState[] = ['waiting', 'open']

export interface KeepTimes {
  /** By source. */
  readonly keepMs: Readonly<Record<string, number>>
  /** For events of sources that are not named. */
  readonly otherwiseMs: number
}

export function keepMsOf({ keepMs, otherwiseMs }: KeepTimes, source: string): number {
  return Object.hasOwn(keepMs, source) ? (keepMs[source] as number) : otherwiseMs
}

/** Events from this id on are too young for every source: a walk by id ends there. */
export function pruneEnd({ keepMs, otherwiseMs }: KeepTimes, now: Instant): EventId {
  const shortestMs = Math.min(otherwiseMs, ...Object.values(keepMs))
  return eventIdAt(now - shortestMs + CLOCK_MARGIN_MS)
}

/** No event is kept longer: what only events need may go after it. */
export function longestKeepMs({ keepMs, otherwiseMs }: KeepTimes): number {
  return Math.max(otherwiseMs, ...Object.values(keepMs))
}

export function shortestKeepMs({ keepMs, otherwiseMs }: KeepTimes): number {
  return Math.min(otherwiseMs, ...Object.values(keepMs))
}

/** Runs from this id on were touched since: a walk by id ends there. */
export function pruneRunsEnd(times: KeepTimes, now: Instant): RunId {
  return runIdAt(now - longestKeepMs(times) + CLOCK_MARGIN_MS)
}

/** Entries of a younger age stay, whoever's they are: a walk by age ends there. */
export function youngestEntry(times: KeepTimes, now: Instant): Instant {
  return now - shortestKeepMs(times)
}

/**
 * The event that one must not outlive, or null. What the rules of a source made of an event goes with it or later: were it
 * missing, a replay would make it again under another id, and its routes would not know it.
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
  /** Where the walk goes on: `next` of the call before, which only the store understands; null from the start. */
  readonly after: string | null
  /** How many events, entries, lanes, escalations, instances, orphans and runs one call looks at. */
  readonly scanMax: number
  /**
   * How long the ledger remembers, by consumer. An entry goes when it is done or released, was settled longer ago than that, and
   * its event is gone; an earlier generation goes with the one that followed it. Left out: the ledger stays.
   */
  readonly ledger?: KeepTimes
  /**
   * How long each tenant keeps its events, as far as the caller knows. A store that lets old events go together, whosever they are,
   * does so when they are over for all; the answer then counts all of them. Left out: nobody else's go.
   */
  readonly byTenant?: Readonly<Record<string, KeepTimes>>
}

/** What went, and where to go on; `next` is null at the end of the walk. */
export interface Pruned {
  readonly events: number
  readonly work: number
  readonly attempts: number
  readonly deadLetters: number
  readonly dedup: number
  /** With their event. */
  readonly failures: number
  readonly ledger: number
  /** Lanes that nobody is in, untouched for as long as events are kept. */
  readonly lanes: number
  /** Acknowledged, untouched for as long as events are kept. */
  readonly escalations: number
  /** Ended for as long as events are kept. */
  readonly instances: number
  /** With their instance. */
  readonly history: number
  /** Correlated or discarded for as long as events are kept. */
  readonly orphans: number
  /** With their work item; without one, untouched for as long as events are kept. */
  readonly runs: number
  readonly next: string | null
}
