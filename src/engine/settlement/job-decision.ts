// A decision about a job, and its result: plain data. The settler (settle.ts) turns a decision into one commit.

import type { DeadLetter, DeadLetterReason } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { InstanceId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Attempt, Counters, Note, SettledState } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { CommitResult, Found, Guard, Write } from '../../ports/store.ts'
import type { Planned } from '../commit/index.ts'
import type { Item } from '../leases/index.ts'

/** What a decision is about; `owner` is needed only if a lease guards it. */
export type Held = Pick<Item, 'work' | 'event' | 'deadLetter'>

/** The fields of every decision. */
export interface DecisionBase {
  readonly counters: Counters
  readonly note: Note
  /** Besides the lease. */
  readonly guards: readonly Guard[]
  /** Besides the job, its failure and its dead letter: ledger, emitted events, follow-up jobs. */
  readonly writes: readonly Write[]
  /** Plans that end with the commit; their writes are among `writes`. Omitted: none. */
  readonly plans?: readonly Planned[]
  readonly attempt: Attempt | null
  /** What happens to its lane position. Omitted: as the route says. */
  readonly place?: 'keep' | { readonly to: WorkId }
  /** The result of the action: participants that end with the job get it. */
  readonly said?: unknown
  /** The instance that a step started and waits for. */
  readonly waitsFor?: InstanceId
}

export type Decision = DecisionBase &
  (
    | { readonly to: Exclude<SettledState, 'dead'> }
    | {
        readonly to: 'again'
        readonly delayMs: number
        /** How much time it has from now on. Omitted: as much as it had. */
        readonly expiresInMs?: number
      }
    | {
        readonly to: 'dead'
        readonly class: FailureClass
        readonly reason: DeadLetterReason
        readonly error: string
        /** How far it came. */
        readonly step?: string
      }
  )

/** The input of a decision below: omitted fields are not needed. */
export type DecisionInput = Pick<DecisionBase, 'counters' | 'note'> & Partial<DecisionBase>

const NOTHING: Pick<DecisionBase, 'guards' | 'writes' | 'attempt'> = { guards: [], writes: [], attempt: null }

export function done(input: DecisionInput): Decision {
  return { to: 'done', ...NOTHING, ...input }
}

/** Another job, or an earlier run, has done it, or it has nothing to do. */
export function skipped(input: DecisionInput): Decision {
  return { to: 'skipped', ...NOTHING, ...input }
}

export function cancelled(input: DecisionInput): Decision {
  return { to: 'cancelled', ...NOTHING, ...input }
}

/** It waits for a user's decision. */
export function parked(input: DecisionInput): Decision {
  return { to: 'parked', ...NOTHING, ...input }
}

/** `expiresInMs`: how much time it has from then on. Omitted: as much as it had. */
export function again(
  delayMs: number,
  input: DecisionInput & { readonly expiresInMs?: number },
): Extract<Decision, { to: 'again' }> {
  return { to: 'again', delayMs, ...NOTHING, ...input }
}

/** `step`: how far it came. */
export function dead(
  why: Pick<Extract<Decision, { to: 'dead' }>, 'class' | 'reason' | 'error' | 'step'>,
  input: DecisionInput,
): Extract<Decision, { to: 'dead' }> {
  return { to: 'dead', ...why, ...NOTHING, ...input }
}

/** The row of a job that ends or is put back. */
export interface EndingRow {
  readonly held: Held
  readonly route: Route | null
  /** The dead letter that the job replays. */
  readonly deadLetter: DeadLetter | null
}

/** The result of a decision. */
export type Settlement =
  | { readonly ok: true; readonly result: Extract<CommitResult, { ok: true }> }
  /** Another node leases the job now, or the job is settled. */
  | { readonly ok: false; readonly why: 'stale'; readonly found: Found | null }
  /** A guard of the decision, or of a participant; `index` counts the decision's guards first. */
  | { readonly ok: false; readonly why: 'guard'; readonly index: number; readonly found: Found | null }
