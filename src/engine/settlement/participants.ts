// Who takes part when a job is settled, in which order. The settler (settle.ts) looks the list up by the kind of the job and the
// action of its route, lets each participant add its part, and commits all parts at once.
//
//   job:  integration runs → workflow step → batch members → locks     what the job was doing
//   row:  dead letter → failure → lane position                        what every ended job leaves, members of a batch included
//
// A participant lives beside its subject and never commits. The events that it emits are plans of its part.

import { deadLetterOf, type WorkKind } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { EventPlan, Planned } from '../commit/index.ts'
import type { Item } from '../leases/index.ts'
import { concerns } from './failures.ts'
import type { Decision, EndingRow, Held, Settlement } from './job-decision.ts'

/** null: it has nothing to add to this decision. */
type Answer<Part> = Part | null | Promise<Part | null>

/** The job that is settled. */
export interface Settling {
  readonly held: Held
  readonly route: Route | null
  /** null: the job is not leased by this node. */
  readonly item: Item | null
  /** What must still be true of the job. */
  readonly hold: Guard
  /** When the claim loop looks for jobs again, once this one is settled; null: it need not. */
  readonly wakeInMs: number | null
}

/** Sees the decision as the participants before it left it. */
export type Participant = (decision: Decision, job: Settling) => Answer<Part>

export interface Part {
  /** Replaces the decision, with the same guards. Omitted: the decision stays. */
  readonly decision?: Decision
  /** After those of the decision. */
  readonly guards?: readonly Guard[]
  readonly writes?: readonly Write[]
  /** Plans that end with the commit; their writes are among `writes`. */
  readonly plans?: readonly Planned[]
  /** Jobs that end in the same commit. */
  readonly others?: readonly OtherEnd[]
  /**
   * The answer to a refused guard of this part, those of `others` included. `rebuild`: this participant and those after it are
   * asked again. `stale`: another node has settled the job. Omitted: the caller of the settler gets the refused guard.
   */
  refused?(): 'rebuild' | 'stale'
  /** Called once the outcome is known; null: settling threw. */
  ended?(settlement: Settlement | null): void
}

/** A job that ends in the commit of another one, with its own dead letter, failure and lane position. */
export interface OtherEnd {
  readonly held: Held
  readonly route: Route | null
  readonly decision: Decision
  /** What must still be true of it. */
  readonly hold: Guard
}

export interface Participants {
  /** `takesPart`: the job called a connection, by its action or from its function. */
  readonly runs: { takesPart(held: Held, route: Route | null): boolean; readonly part: Participant }
  readonly steps: Participant
  readonly batches: Participant
  readonly locks: Participant
}

export type ParticipantsOf = (held: Held, route: Route | null) => readonly Participant[]

const NO_PARTICIPANTS: readonly never[] = []

/** For jobs of kinds that have no participants. */
export const noParticipants: ParticipantsOf = () => NO_PARTICIPANTS

export function listParticipants({ runs, steps, batches, locks }: Participants): ParticipantsOf {
  const around = (...own: readonly Participant[]) => ({
    plain: own,
    calls: [runs.part, ...own],
    upserts: [...own, locks],
    upsertsByCalls: [runs.part, ...own, locks],
  })
  const lists: Readonly<Record<WorkKind, ReturnType<typeof around> | null>> = {
    route: around(),
    step: around(steps),
    batch: around(batches),
    // They call no connection, and have no lock.
    intake: null,
    trigger: null,
    timer: null,
    admit: null,
    signal: null,
    // It writes its attempts itself.
    delivery: null,
    // It writes its integration run itself.
    rotation: null,
    poll: around(),
  }
  return (held, route) => {
    // A newer version may have made a job of a kind that is not in the table.
    const list = lists[held.work.kind] ?? null
    if (list === null) return NO_PARTICIPANTS
    const isUpsert = route?.action.type === 'upsert'
    if (runs.takesPart(held, route)) return isUpsert ? list.upsertsByCalls : list.calls
    return isUpsert ? list.upserts : list.plain
  }
}

export type RowParticipant = (decision: Decision, row: EndingRow) => Answer<RowPart>

export interface RowPart {
  readonly guards?: readonly Guard[]
  readonly writes?: readonly Write[]
  /** Of emitted events. */
  readonly plans?: readonly EventPlan[]
  /** Part of the write that settles the job. */
  readonly end?: Pick<Extract<Write, { w: 'work.settle' }>, 'place' | 'laneVersion'>
}

export interface RowParticipants {
  readonly deadLetter: RowParticipant
  readonly failure: RowParticipant
  readonly lane: RowParticipant
}

export type RowParticipantsOf = (
  held: Held,
  route: Route | null,
  decision: Decision,
) => readonly RowParticipant[]

const DEAD_LETTER = 1
const FAILURE = 2
const LANE = 4

export function listRowParticipants({ deadLetter, failure, lane }: RowParticipants): RowParticipantsOf {
  const ordered = [deadLetter, failure, lane]
  const lists = Array.from({ length: 8 }, (_, bits) => ordered.filter((_, at) => (bits & (1 << at)) !== 0))
  return (held, route, decision) => {
    const { to } = decision
    const endsReplay = to !== 'again' && to !== 'parked' && deadLetterOf(held.work) !== null
    const bits =
      (to === 'dead' || endsReplay ? DEAD_LETTER : 0) |
      (concerns(held, decision) ? FAILURE : 0) |
      (to !== 'again' && held.work.lane !== null && route !== null && route.lane !== null ? LANE : 0)
    return lists[bits] as readonly RowParticipant[]
  }
}
