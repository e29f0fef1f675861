// The settler: one commit per decision about a job. It asks the participants (participants.ts) for their parts in order, commits all
// parts together or not at all, ends their plans, and wakes the claim loop. This is the only way to end a job or to put it back.

import type { Route } from '../../core/routing/index.ts'
import type { Guard } from '../../ports/store.ts'
import { orFail, RACES_MAX, retrying, type UnitOfWork } from '../commit/index.ts'
import type { Item } from '../leases/index.ts'
import type { Decision, Held, Settlement } from './job-decision.ts'
import type { PlanEnd } from './job-end.ts'
import type { OtherEnd, Part, Participant, ParticipantsOf, Settling } from './participants.ts'

export interface Settler {
  settle(item: Item, route: Route | null, decision: Decision): Promise<Settlement>
  /** For a job that is not leased by this node: `hold` says what must still be true of it. */
  settleUnheld(held: Held, route: Route | null, decision: Decision, hold: Guard): Promise<Settlement>
}

/** Each is another change of the same rows, such as a step of the same instance. Giving up would lose a known outcome. */
const REBUILDS_MAX = 1_000
const PART_UNENDING = orFail('assertion failed: what a job is settled with changes without end')
const DEAD_LETTER_UNENDING = orFail('assertion failed: the dead letter of a replay changes without end')
const NONE: readonly never[] = []

export function makeSettler(deps: {
  readonly planEnd: PlanEnd
  readonly participantsOf: ParticipantsOf
  readonly unitOfWork: Pick<UnitOfWork, 'firmly' | 'settling'>
  /** The settlement of a leased job has begun. */
  onSettling(item: Item, route: Route | null, decision: Decision): void
  wake(delayMs: number): void
}): Settler {
  const { planEnd, unitOfWork } = deps

  const commit = (job: Settling, decision: Decision, others: readonly OtherEnd[]): Promise<Settlement> => {
    const { held, route, hold, wakeInMs } = job
    const own =
      others.length === 0
        ? decision.guards
        : [...decision.guards, ...others.flatMap((one) => [one.hold, ...one.decision.guards])]
    const commitOnce = async (retry: () => Promise<Settlement>, race: number): Promise<Settlement> => {
      const isFirst = race === 0
      const known = planEnd(held, route, decision, isFirst)
      const end = known instanceof Promise ? await known : known
      const ends = [end]
      for (const one of others) ends.push(await planEnd(one.held, one.route, one.decision, isFirst))
      const isOne = others.length === 0
      const result = await unitOfWork.firmly(
        held.event.tenant,
        {
          guards: [hold, ...own, ...(isOne ? end.guards : ends.flatMap(({ guards }) => guards))],
          writes: isOne ? end.writes : ends.flatMap(({ writes }) => writes),
          plans: isOne ? end.plans : ends.flatMap(({ plans }) => plans),
        },
        held,
      )
      if (result.ok) {
        if (wakeInMs !== null) deps.wake(wakeInMs)
        return { ok: true, result }
      }
      if (result.guard === 0) return { ok: false, why: 'stale', found: result.found }
      if (result.guard > own.length) return retry()
      return { ok: false, why: 'guard', index: result.guard - 1, found: result.found }
    }
    return retrying(RACES_MAX, commitOnce, DEAD_LETTER_UNENDING)
  }

  /** Asks the participants from `at` on, then commits. */
  const askFrom = (
    at: number,
    list: readonly Participant[],
    job: Settling,
    decision: Decision,
    others: readonly OtherEnd[],
  ): Promise<Settlement> => {
    const participant = list[at]
    if (participant === undefined) return commit(job, decision, others)
    const askOnce = async (rebuild: () => Promise<Settlement>): Promise<Settlement> => {
      const part = await participant(decision, job)
      if (part === null) return askFrom(at + 1, list, job, decision, others)
      const goOn = () => askFrom(at + 1, list, job, withPart(decision, part), part.others ?? others)
      let settlement: Settlement | null = null
      try {
        settlement = await (part.plans === undefined ? goOn() : unitOfWork.settling(part.plans, goOn))
      } finally {
        part.ended?.(settlement)
      }
      if (part.refused === undefined || !isRefused(part, decision.guards.length, settlement))
        return settlement
      return part.refused() === 'rebuild' ? rebuild() : { ok: false, why: 'stale', found: settlement.found }
    }
    return retrying(REBUILDS_MAX, askOnce, PART_UNENDING)
  }

  const start = (job: Settling, decision: Decision): Promise<Settlement> => {
    const list = deps.participantsOf(job.held, job.route)
    const ask = () => askFrom(0, list, job, decision, NONE)
    return decision.plans === undefined ? ask() : unitOfWork.settling(decision.plans, ask)
  }

  return {
    settle(item, route, decision) {
      const { id, epoch, lane } = item.work
      const hold: Guard = { g: 'lease', work: id, owner: item.owner, epoch }
      // A job that is put back is due later, and the end of one with a lane may make the next one due.
      const wakeInMs = decision.to === 'again' ? decision.delayMs : lane === null ? null : 0
      const settled = start({ held: item, item, route, hold, wakeInMs }, decision)
      deps.onSettling(item, route, decision)
      return settled
    },
    settleUnheld: (held, route, decision, hold) =>
      start({ held, item: null, route, hold, wakeInMs: null }, decision),
  }
}

function withPart(decision: Decision, part: Part): Decision {
  const { guards = NONE, writes = NONE } = part
  const decided = part.decision ?? decision
  if (guards.length + writes.length === 0) return decided
  return { ...decided, guards: [...decided.guards, ...guards], writes: [...decided.writes, ...writes] }
}

/** Whether the refused guard is one of the part's; `from`: how many guards there were before it. */
function isRefused(
  part: Part,
  from: number,
  settlement: Settlement,
): settlement is Extract<Settlement, { why: 'guard' }> {
  if (settlement.ok || settlement.why !== 'guard' || settlement.index < from) return false
  return part.others !== undefined || settlement.index < from + (part.guards ?? NONE).length
}
