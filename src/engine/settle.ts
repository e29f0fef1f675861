// One commit per decision: the item, its ledger entry, its dead letter and what it caused, together or not at all.

import {
  type DeadLetter,
  type DeadLetterEvent,
  type DeadLetterReason,
  type NewDeadLetter,
  stepDeadLetter,
} from '../core/dead-letter/index.ts'
import { assert } from '../core/errors/index.ts'
import type { NewEvent } from '../core/event/index.ts'
import { type FailureClass, failureId } from '../core/failure/index.ts'
import type { Ids } from '../core/ids/index.ts'
import { toStorable } from '../core/json/index.ts'
import type { Route } from '../core/route/index.ts'
import {
  type Attempt,
  type Counters,
  letterOf,
  type NewWork,
  type Note,
  type SettledState,
} from '../core/work/index.ts'
import type { CommitResult, Found, Guard, Store, Write } from '../ports/store.ts'
import type { Commits } from './commits.ts'
import type { Item } from './item.ts'
import { scrubOf } from './sensitive.ts'

/** What every decision says of the item. */
export interface DecisionBase {
  readonly counters: Counters
  readonly note: Note
  /** Besides the lease. */
  readonly guards: readonly Guard[]
  /** Besides the item and its dead letter: ledger, emitted events, follow-up work. */
  readonly writes: readonly Write[]
  readonly attempt: Attempt | null
  /** What the action gave: those that end with the item are told by it. */
  readonly said?: unknown
}

export type Decision = DecisionBase &
  (
    | { readonly to: Exclude<SettledState, 'dead'> }
    | { readonly to: 'again'; readonly delayMs: number }
    | {
        readonly to: 'dead'
        readonly class: FailureClass
        readonly reason: DeadLetterReason
        readonly error: string
      }
  )

export type Settlement =
  | { readonly ok: true; readonly result: Extract<CommitResult, { ok: true }> }
  /** Somebody else owns the item now, or it is settled. */
  | { readonly ok: false; readonly why: 'stale'; readonly found: Found | null }
  /** One of the decision's own guards; `index` counts within them. */
  | { readonly ok: false; readonly why: 'guard'; readonly index: number; readonly found: Found | null }

/** What a decision is about; `owner` is needed only to hold it by a lease. */
export type Held = Pick<Item, 'work' | 'event'>

export interface Settler {
  settle(item: Item, route: Route | null, decision: Decision): Promise<Settlement>
  /** For work that nobody holds: `hold` says what must still be true of it. */
  settleUnheld(held: Held, route: Route | null, decision: Decision, hold: Guard): Promise<Settlement>
}

const VERSION_RACES_MAX = 5

export function makeSettler(deps: {
  readonly store: Store
  readonly commits: Commits
  readonly ids: Ids
}): Settler {
  const { store, commits, ids } = deps
  const settleUnheld: Settler['settleUnheld'] = async (held, route, asDecided, hold) => {
    const { work, event } = held
    const decision = withStorableTexts(asDecided, event)
    const letterId = letterOf(work)
    for (let race = 0; race < VERSION_RACES_MAX; race += 1) {
      const letter =
        letterId === null || decision.to === 'again' || decision.to === 'parked'
          ? null
          : await commits.stubbornly(() => store.forTenant(work.tenant).deadLetter(letterId))
      const letterChange = changeLetter(held, route, decision, letter, ids)
      const guards = [hold, ...decision.guards, ...letterChange.guards]
      const writes = [...itemWrites(held, decision), ...decision.writes, ...letterChange.writes]
      const result = await commits.firmly(event.tenant, guards, writes, held)
      if (result.ok) return { ok: true, result }
      if (result.guard === 0) return { ok: false, why: 'stale', found: result.found }
      if (result.guard <= decision.guards.length) {
        return { ok: false, why: 'guard', index: result.guard - 1, found: result.found }
      }
    }
    throw new Error('assertion failed: the dead letter of a replay changes without end')
  }
  return {
    settleUnheld,
    settle: (item, route, decision) =>
      settleUnheld(item, route, decision, {
        g: 'lease',
        work: item.work.id,
        owner: item.owner,
        epoch: item.work.epoch,
      }),
  }
}

/**
 * Error texts come from vendors and functions. They may hold what no store takes: the decision must not fail on them. And they
 * may quote what is sensitive in the event, which is not kept with them.
 */
function withStorableTexts(decision: Decision, event: NewEvent): Decision {
  const { note, attempt } = decision
  if (note.lastError === null && attempt?.error == null && decision.to !== 'dead') return decision
  const kept = (text: string) => storableError(event, text)
  const cleaned = {
    ...decision,
    note: note.lastError === null ? note : { ...note, lastError: kept(note.lastError) },
    attempt: attempt?.error == null ? attempt : { ...attempt, error: kept(attempt.error) },
  }
  return cleaned.to === 'dead' ? { ...cleaned, error: kept(cleaned.error) } : cleaned
}

const ERROR_LENGTH_MAX = 2_000

export function storableError(about: Pick<NewEvent, 'sensitive' | 'data' | 'headers'>, text: string): string {
  return toStorable(scrubOf(about)(text), ERROR_LENGTH_MAX)
}

function itemWrites({ work }: Held, decision: Decision): readonly Write[] {
  const { counters, note } = decision
  const settled: Write =
    decision.to === 'again'
      ? { w: 'work.again', work: work.id, delayMs: decision.delayMs, counters, note }
      : { w: 'work.settle', work: work.id, to: decision.to, counters, note }
  if (decision.attempt === null) return [settled]
  return [settled, { w: 'attempt.append', work: work.id, attempt: decision.attempt }]
}

interface LetterChange {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

const NO_CHANGE: LetterChange = { guards: [], writes: [] }

function changeLetter(
  held: Held,
  route: Route | null,
  decision: Decision,
  replayed: DeadLetter | null,
  ids: Ids,
): LetterChange {
  if (replayed !== null) return stepReplayed(replayed, decision)
  if (decision.to !== 'dead') return NO_CHANGE
  const { class: failureClass, reason, error, counters, note } = decision
  const died = { class: failureClass, reason, error, attempts: counters.attempts, key: note.key }
  const row = newLetter(ids, held.work, held.event, route, died)
  return { guards: [], writes: [{ w: 'deadLetter.put', row }] }
}

/** The letter of work that died. */
export function newLetter(
  ids: Ids,
  work: Pick<NewWork, 'id' | 'consumer'>,
  event: Pick<NewEvent, 'id' | 'correlationId' | 'payloadHash'>,
  route: Route | null,
  died: {
    readonly class: FailureClass
    readonly reason: DeadLetterReason
    readonly error: string
    readonly attempts: number
    readonly key: string | null
    /** How far it came. */
    readonly step?: string
  },
): NewDeadLetter {
  return {
    id: ids.deadLetter(),
    version: 1,
    state: 'open',
    class: died.class,
    reason: died.reason,
    consumer: work.consumer,
    eventId: event.id,
    workId: work.id,
    attempts: died.attempts,
    replays: 0,
    lastError: died.error,
    key: died.key,
    correlationId: event.correlationId,
    payloadHash: event.payloadHash,
    runbook: route?.document.deadLetter.runbook ?? null,
    severity: route?.document.deadLetter.severity ?? 'medium',
    step: died.step ?? null,
    failureId: failureId(work.id),
  }
}

/** A replay ends its dead letter, or opens it again: it never makes a second one. */
function stepReplayed(letter: DeadLetter, decision: Decision): LetterChange {
  if (letter.state !== 'replaying') return NO_CHANGE
  const event: DeadLetterEvent =
    decision.to === 'dead'
      ? {
          type: 'failed',
          class: decision.class,
          reason: decision.reason,
          lastError: decision.error,
          attempts: decision.counters.attempts,
        }
      : decision.to === 'cancelled'
        ? { type: 'cancelled', attempts: decision.counters.attempts }
        : { type: 'succeeded' }
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = letter
  const step = stepDeadLetter(row, event)
  assert(step.ok, 'a replaying dead letter can end')
  return {
    guards: [{ g: 'version', of: 'deadLetter', key: letter.id, version: letter.version }],
    writes: [{ w: 'deadLetter.put', row: step.row }],
  }
}
