// One commit per decision: the item, its ledger entry, its failure, its dead letter and what it caused, together or not at all.

import type { NewEvent } from '../../core/events/event/index.ts'
import {
  type DeadLetter,
  type DeadLetterEvent,
  type NewDeadLetter,
  stepDeadLetter,
} from '../../core/failures/dead-letter/index.ts'
import { type FailureClass, failureId } from '../../core/failures/failure/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { DeadLetterId, Ids } from '../../core/foundation/ids/index.ts'
import { type Counters, isUntried, letterOf } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { CommitResult, Found, Guard, Store, Write } from '../../ports/store.ts'
import {
  type Commits,
  type EventPlan,
  orFail,
  RACES_MAX,
  retrying,
  type UnitOfWork,
} from '../commit/index.ts'
import type { Item } from '../leases/index.ts'
import { newLetter, stepReached, storableError } from './dead-letter-row.ts'
import { concerns, type FailureChange, type Failures, NO_FAILURE_CHANGE } from './failures.ts'
import type { Decision, Held } from './job-decision.ts'
import { changeLane, type LaneChange, type LaneDeps } from './lane-position.ts'

export type Settlement =
  | { readonly ok: true; readonly result: Extract<CommitResult, { ok: true }> }
  /** Somebody else owns the item now, or it is settled. */
  | { readonly ok: false; readonly why: 'stale'; readonly found: Found | null }
  /** One of the decision's own guards, or of those that end with it; `index` counts within them, in their order. */
  | { readonly ok: false; readonly why: 'guard'; readonly index: number; readonly found: Found | null }

export interface Settler {
  settle(item: Item, route: Route | null, decision: Decision): Promise<Settlement>
  /** For work that nobody holds: `hold` says what must still be true of it. */
  settleUnheld(held: Held, route: Route | null, decision: Decision, hold: Guard): Promise<Settlement>
}

/** What ends an item that nobody holds, for a commit that is about more than the item. */
export type PlanEnd = (held: Held, route: Route | null, decision: Decision) => Promise<Parts>

const NOBODY: NonNullable<Decision['others']> = []
const LETTER_UNENDING = orFail('assertion failed: the dead letter of a replay changes without end')

/** What ends one item, besides the guards of its decision. */
interface Parts {
  /** Of its dead letter. */
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
}

export function makeSettler(deps: {
  readonly store: Store
  readonly commits: Pick<Commits, 'stubbornly'>
  readonly ids: Ids
  readonly failures: Failures
  readonly lanes: LaneDeps
  readonly unitOfWork: Pick<UnitOfWork, 'firmly'>
}): Settler & { readonly planEnd: PlanEnd } {
  const { store, commits, unitOfWork, ids, failures } = deps

  /** As the item knows it, at first: its version is guarded, and one that has moved on is looked at. */
  const letterFor = async (held: Held, id: DeadLetterId, isFirst: boolean): Promise<DeadLetter | null> =>
    isFirst && held.letter?.state === 'replaying'
      ? held.letter
      : commits.stubbornly(() => store.forTenant(held.work.tenant).deadLetter(id))

  /** At once where no letter and no failure has to be looked at, which is the end of nearly everything. */
  const partsOf = (
    held: Held,
    route: Route | null,
    decision: Decision,
    isFirst: boolean,
  ): Parts | Promise<Parts> => {
    const ends = decision.to !== 'again' && decision.to !== 'parked'
    const isPlain = !concerns(held, decision) && (!ends || letterOf(held.work) === null)
    if (!isPlain) return lookForParts(held, route, decision, isFirst)
    return putTogether(
      held,
      route,
      decision,
      changeLetter(held, route, decision, null, ids),
      NO_FAILURE_CHANGE,
    )
  }

  const lookForParts = async (
    held: Held,
    route: Route | null,
    decision: Decision,
    isFirst: boolean,
  ): Promise<Parts> => {
    const letterId = letterOf(held.work)
    const ends = decision.to !== 'again' && decision.to !== 'parked'
    const letter = letterId === null ? null : await letterFor(held, letterId, isFirst)
    const letterChange = changeLetter(held, route, decision, ends ? letter : null, ids)
    const failureChange = concerns(held, decision)
      ? await failures.change(held, route, decision, letter)
      : NO_FAILURE_CHANGE
    return putTogether(held, route, decision, letterChange, failureChange)
  }

  const putTogether = (
    held: Held,
    route: Route | null,
    decision: Decision,
    letterChange: LetterChange,
    { writes, plans }: FailureChange,
  ): Parts => {
    const lane = changeLane(deps.lanes, held, route, decision)
    const own = itemWrites(held, route, decision, lane.end)
    const isAll =
      decision.writes.length + letterChange.writes.length + writes.length + lane.writes.length === 0
    return {
      guards: letterChange.guards,
      writes: isAll ? own : [...own, ...decision.writes, ...letterChange.writes, ...writes, ...lane.writes],
      plans: lane.plans.length === 0 ? plans : [...plans, ...lane.plans],
    }
  }

  const settleUnheld: Settler['settleUnheld'] = (held, route, asDecided, hold) => {
    const decision = asKept(asDecided, held)
    const others = (decision.others ?? NOBODY).map((one) => ({
      ...one,
      decision: asKept(one.decision, one.held),
    }))
    const own =
      others.length === 0
        ? decision.guards
        : [
            ...decision.guards,
            ...others.flatMap((one) =>
              one.hold === null ? one.decision.guards : [one.hold, ...one.decision.guards],
            ),
          ]
    const settleOnce = async (retry: () => Promise<Settlement>, race: number): Promise<Settlement> => {
      const known = partsOf(held, route, decision, race === 0)
      const first = known instanceof Promise ? await known : known
      const all = [first]
      for (const one of others) all.push(await partsOf(one.held, one.route, one.decision, race === 0))
      const isOne = all.length === 1
      const result = await unitOfWork.firmly(
        held.event.tenant,
        {
          guards: [hold, ...own, ...(isOne ? first.guards : all.flatMap(({ guards }) => guards))],
          writes: isOne ? first.writes : all.flatMap(({ writes }) => writes),
          plans: isOne ? first.plans : all.flatMap(({ plans }) => plans),
        },
        held,
      )
      if (result.ok) return { ok: true, result }
      if (result.guard === 0) return { ok: false, why: 'stale', found: result.found }
      if (result.guard > own.length) return retry()
      return { ok: false, why: 'guard', index: result.guard - 1, found: result.found }
    }
    return retrying(RACES_MAX, settleOnce, LETTER_UNENDING)
  }
  return {
    settleUnheld,
    planEnd: async (held, route, decision) => partsOf(held, route, asKept(decision, held), false),
    settle: (item, route, decision) =>
      settleUnheld(item, route, decision, {
        g: 'lease',
        work: item.work.id,
        owner: item.owner,
        epoch: item.work.epoch,
      }),
  }
}

/** Outermost around a settler: ends the plans of a decision by what came of it, whichever part in between decides or throws. */
export function endPlans(settler: Settler, unitOfWork: Pick<UnitOfWork, 'settling'>): Settler {
  return {
    settle: (item, route, decision) =>
      decision.plans === undefined
        ? settler.settle(item, route, decision)
        : unitOfWork.settling(decision.plans, () => settler.settle(item, route, decision)),
    settleUnheld: (held, route, decision, hold) =>
      decision.plans === undefined
        ? settler.settleUnheld(held, route, decision, hold)
        : unitOfWork.settling(decision.plans, () => settler.settleUnheld(held, route, decision, hold)),
  }
}

function asKept(decision: Decision, { work, event }: Held): Decision {
  return withClass(withStorableTexts(decision, event), work.class)
}

/** An item that failed once keeps the class on its way to the end: by it a success is known to be one after a failure. */
function withClass(decision: Decision, known: FailureClass | null): Decision {
  const { to, note } = decision
  if (known === null || note.class !== null) return decision
  if (to !== 'again' && to !== 'merged' && to !== 'parked') return decision
  return { ...decision, note: { ...note, class: known } }
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

function itemWrites(
  { work }: Held,
  route: Route | null,
  decision: Decision,
  lane: LaneChange['end'],
): readonly Write[] {
  const { counters, note, place } = decision
  const settled: Write =
    decision.to === 'again'
      ? {
          w: 'work.again',
          work: work.id,
          delayMs: decision.delayMs,
          counters,
          note,
          ...beginning(work, route, counters),
          ...(decision.expiresInMs !== undefined && { expiresInMs: decision.expiresInMs }),
        }
      : {
          w: 'work.settle',
          work: work.id,
          to: decision.to,
          counters,
          note,
          ...lane,
          ...(place === undefined ? {} : { place }),
        }
  if (decision.attempt === null) return [settled]
  return [settled, { w: 'attempt.append', work: work.id, attempt: decision.attempt }]
}

/** The time of an item begins with its first try: until then it may have lain behind others, or in a route that is paused. */
function beginning(
  work: Held['work'],
  route: Route | null,
  counters: Counters,
): { readonly expiresInMs?: number } {
  if (!isUntried(work) || isUntried(counters)) return {}
  return { expiresInMs: route?.expiresInMs ?? work.expiresAt - work.createdAt }
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
  if (replayed !== null) return stepReplayed(replayed, held.work, route, decision)
  if (decision.to !== 'dead') return NO_CHANGE
  const { class: failureClass, reason, error, counters, note } = decision
  const died = {
    class: failureClass,
    reason,
    error,
    attempts: counters.attempts,
    key: note.key,
    step: stepOf(held.work, route, decision),
  }
  const row = newLetter(ids, held.work, held.event, route, died)
  return { guards: [], writes: [{ w: 'deadLetter.put', row }] }
}

function stepOf(
  work: Held['work'],
  route: Route | null,
  decision: Extract<Decision, { to: 'dead' }>,
): string {
  const { reason, class: failureClass, note, counters, step } = decision
  if (step !== undefined) return step
  return stepReached(work, route, { reason, class: failureClass, key: note.key, attempts: counters.attempts })
}

/** A replay ends its dead letter, or opens it again: it never makes a second one. */
function stepReplayed(
  letter: DeadLetter,
  work: Held['work'],
  route: Route | null,
  decision: Decision,
): LetterChange {
  if (letter.state !== 'replaying') return NO_CHANGE
  const event: DeadLetterEvent =
    decision.to === 'dead'
      ? {
          type: 'failed',
          class: decision.class,
          reason: decision.reason,
          lastError: decision.error,
          attempts: decision.counters.attempts,
          step: stepOf(work, route, decision),
        }
      : decision.to === 'cancelled'
        ? { type: 'cancelled', attempts: decision.counters.attempts }
        : { type: 'succeeded' }
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = letter
  const step = stepDeadLetter(row, event)
  assert(step.ok, 'a replaying dead letter can end')
  return {
    guards: [{ g: 'version', of: 'deadLetter', key: letter.id, version: letter.version }],
    // A letter from before failures were kept gets that of its first replay that fails.
    writes: [
      { w: 'deadLetter.put', row: { ...step.row, failureId: letter.failureId ?? failureOf(work, decision) } },
    ],
  }
}

function failureOf(work: Held['work'], { to }: Decision): NewDeadLetter['failureId'] {
  return to === 'dead' ? failureId(work.id) : null
}
