// The end of one job as a part of a commit: its own row, and what the row participants add (dead letter, failure, lane position).

import type { NewEvent } from '../../core/events/event/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { DeadLetterId, Ids } from '../../core/foundation/ids/index.ts'
import { type Counters, deadLetterOf, isUntried } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Guard, Store, Write } from '../../ports/store.ts'
import type { Commits, EventPlan } from '../commit/index.ts'
import { makeDeadLetterEnd } from './dead-letter-end.ts'
import { storableError } from './dead-letter-row.ts'
import type { Failures } from './failures.ts'
import type { Decision, EndingRow, Held } from './job-decision.ts'
import { type LaneDeps, makeLaneEnd } from './lane-position.ts'
import { listRowParticipants, type RowPart } from './participants.ts'

/** What ends one job, besides the guards of its decision. */
export interface JobEnd {
  /** Of the dead letter that it replays. */
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
}

/**
 * Synchronous if nothing has to be read, as for nearly every job. `isFirst`: the dead letter that a replay was leased with is
 * used, because its version is guarded; otherwise it is read from the store.
 */
export type PlanEnd = (
  held: Held,
  route: Route | null,
  decision: Decision,
  isFirst: boolean,
) => JobEnd | Promise<JobEnd>

const NONE: readonly never[] = []

export function makePlanEnd(deps: {
  readonly store: Pick<Store, 'forTenant'>
  readonly commits: Pick<Commits, 'retryUntilAvailable'>
  readonly ids: Ids
  readonly failures: Pick<Failures, 'change'>
  readonly lanes: LaneDeps
}): PlanEnd {
  const { store, commits } = deps
  const participantsOf = listRowParticipants({
    deadLetter: makeDeadLetterEnd(deps),
    failure: deps.failures.change,
    lane: makeLaneEnd(deps.lanes),
  })

  const readDeadLetter = async (held: Held, id: DeadLetterId, isFirst: boolean) =>
    isFirst && held.deadLetter?.state === 'replaying'
      ? held.deadLetter
      : commits.retryUntilAvailable(() => store.forTenant(held.work.tenant).deadLetter(id))

  return (held, route, asDecided, isFirst) => {
    const decision = asStored(asDecided, held)
    const list = participantsOf(held, route, decision)
    if (list.length === 0) return putTogether(held, route, decision, NONE)
    const parts: RowPart[] = []
    const askFrom = (at: number, deadLetter: EndingRow['deadLetter']): JobEnd | Promise<JobEnd> => {
      const participant = list[at]
      if (participant === undefined) return putTogether(held, route, decision, parts)
      const add = (part: RowPart | null) => {
        if (part !== null) parts.push(part)
        return askFrom(at + 1, deadLetter)
      }
      const part = participant(decision, { held, route, deadLetter })
      return part instanceof Promise ? part.then(add) : add(part)
    }
    const deadLetterId = deadLetterOf(held.work)
    if (deadLetterId === null) return askFrom(0, null)
    return readDeadLetter(held, deadLetterId, isFirst).then((deadLetter) => askFrom(0, deadLetter))
  }
}

function putTogether(held: Held, route: Route | null, decision: Decision, parts: readonly RowPart[]): JobEnd {
  if (parts.length === 0) {
    const own = itemWrites(held, route, decision, undefined)
    const writes = decision.writes.length === 0 ? own : [...own, ...decision.writes]
    return { guards: NONE, writes, plans: NONE }
  }
  const end = parts.find((part) => part.end !== undefined)?.end
  return {
    guards: parts.flatMap(({ guards }) => guards ?? NONE),
    writes: [
      ...itemWrites(held, route, decision, end),
      ...decision.writes,
      ...parts.flatMap(({ writes }) => writes ?? NONE),
    ],
    plans: parts.flatMap(({ plans }) => plans ?? NONE),
  }
}

function asStored(decision: Decision, { work, event }: Held): Decision {
  return withClass(withStorableTexts(decision, event), work.class)
}

/** A job that failed once keeps the class until its end: it shows that a success followed a failure. */
function withClass(decision: Decision, known: FailureClass | null): Decision {
  const { to, note } = decision
  if (known === null || note.class !== null) return decision
  if (to !== 'again' && to !== 'merged' && to !== 'parked') return decision
  return { ...decision, note: { ...note, class: known } }
}

/**
 * Error texts come from vendors and functions. They may contain characters that no store accepts: the decision must not fail
 * because of them. And they may quote sensitive values of the event, which must not be stored with them.
 */
function withStorableTexts(decision: Decision, event: NewEvent): Decision {
  const { note, attempt } = decision
  if (note.lastError === null && attempt?.error == null && decision.to !== 'dead') return decision
  const storable = (text: string) => storableError(event, text)
  const cleaned = {
    ...decision,
    note: note.lastError === null ? note : { ...note, lastError: storable(note.lastError) },
    attempt: attempt?.error == null ? attempt : { ...attempt, error: storable(attempt.error) },
  }
  return cleaned.to === 'dead' ? { ...cleaned, error: storable(cleaned.error) } : cleaned
}

function itemWrites(
  { work }: Held,
  route: Route | null,
  decision: Decision,
  lane: RowPart['end'],
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

/** The time of a job starts with its first attempt: until then it may have waited behind others, or in a paused route. */
function beginning(
  work: Held['work'],
  route: Route | null,
  counters: Counters,
): { readonly expiresInMs?: number } {
  if (!isUntried(work) || isUntried(counters)) return {}
  return { expiresInMs: route?.expiresInMs ?? work.expiresAt - work.createdAt }
}
