// Decides whether a job of a lane runs now: a debounced job collects later ones first, and a job older than what its
// lane has done is skipped.
//
// Invariants: LN3 a job older than what its lane has done does not run. DB1 a skipped job names the job that replaces
// it, in the commit that ends it. DB3 no state is held between two commits: after a crash everything is decided again.

import type { Scope } from '../../core/expression/index.ts'
import type { WorkId } from '../../core/foundation/ids/index.ts'
import { gathers } from '../../core/queue/lane/index.ts'
import { deadLetterOf, EMPTY_NOTE, type WorkRow } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import { type Commits, type EngineBase, retrying } from '../commit/index.ts'
import { countersOf, leaseGuard } from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import {
  again,
  type Decision,
  type Decisions,
  type Settler,
  SHORT_WAIT_MS,
  skipped,
} from '../settlement/index.ts'

export interface Debouncer {
  /** False: the job was put back or settled. `scope` is the job's own. Throws ExpressionError if the job has no lane key. */
  take(item: Item, route: Route, scope: Scope): Promise<boolean>
}

/** Jobs skipped per commit. */
const MEMBERS_MAX = 250
/** Each round settles some jobs, or is refused because one of them changed meanwhile. */
const ROUNDS_MAX = 40

export function makeDebouncer(
  deps: Pick<EngineBase, 'store' | 'log' | 'time' | 'wake'> & {
    readonly settler: Settler
    readonly commits: Pick<Commits, 'firmly'>
    readonly decisions: Pick<Decisions, 'decideDebounce' | 'isStale'>
  },
): Debouncer {
  const { store, log, settler, commits, decisions, time } = deps

  const take: Debouncer['take'] = async (item, route, scope) => {
    const { lane } = route
    if (lane === null) return true
    const { work } = item
    if (work.lane === null) {
      // A job without a lane exists only if its key could not be computed, which this reports as a failure.
      lane.of(scope)
      return true
    }
    const reads = store.forTenant(work.tenant)
    // A job that crashed during its call is not skipped: a call that may be under way is settled first.
    if (work.epoch > 1 && (await reads.ledgerOfWork(work.id)).length > 0) return true
    if (lane.debounce !== null && gathers(work) && deadLetterOf(work) === null) {
      if (!(await gather(item, route, work.lane, lane.debounce))) return false
    }
    if (!lane.skipsStale || lane.version === null || work.generation > 1 || work.attempts > 0) return true
    const version = lane.version(scope)
    const done = version === null ? null : await reads.lane(work.consumer, work.lane)
    if (!decisions.isStale(version, done?.version ?? null)) return true
    await skip(item, route, 'STALE_VERSION', 'its lane is past this version', ended('STALE', null))
    return false
  }

  const gather = (
    item: Item,
    route: Route,
    lane: string,
    policy: NonNullable<NonNullable<Route['lane']>['debounce']>,
  ): Promise<boolean> => {
    const { work } = item
    const reads = store.forTenant(work.tenant)
    const gatherOnce = async (retry: () => Promise<boolean>): Promise<boolean> => {
      const rows = await reads.laneWaiting(work.consumer, lane, MEMBERS_MAX + 1)
      const members = untilReplay(rows)
      const step = decisions.decideDebounce({
        policy,
        head: work,
        waiting: members.slice(0, MEMBERS_MAX),
        isCapped: members.length > MEMBERS_MAX,
        now: time.now(),
      })
      if (step.step === 'run') return true
      if (step.step === 'wait') {
        await settler.settle(item, route, putOff(item, step.delayMs))
        return false
      }
      const { survivor, superseded } = step
      const guards = [...superseded, ...(survivor === work.id ? [] : [survivor])].map((id) =>
        stillWaits(members, id),
      )
      const writes = superseded.map((id) => giveWay(members, id, survivor))
      if (step.step === 'freeze' && survivor !== work.id) {
        const message = `${superseded.length + 1} give way to ${survivor}`
        const decision = { ...ended('SUPERSEDED', survivor), guards, writes, place: { to: survivor } }
        return (await skip(item, route, 'SUPERSEDED', message, decision)) ? false : retry()
      }
      const result = await commits.firmly(work.tenant, [leaseGuard(item), ...guards], writes)
      if (!result.ok && result.guard === 0) return false
      if (!result.ok) return retry()
      const facts = { route: route.document.name, work: work.id, definition: route.hash }
      const message = `${superseded.length} give way to ${survivor}`
      log.control(lineOf('dedupe', 'SUPERSEDED', item.event, { ...facts, message }))
      return step.step === 'freeze' ? true : retry()
    }
    return retrying(ROUNDS_MAX, gatherOnce, async () => {
      await settler.settle(item, route, putOff(item, SHORT_WAIT_MS))
      return false
    })
  }

  /** False: one of the jobs that the decision is about changed meanwhile. */
  const skip = async (
    item: Item,
    route: Route,
    action: string,
    message: string,
    decision: Pick<Decision, 'note' | 'guards' | 'writes'> & Pick<Decision, 'place'>,
  ): Promise<boolean> => {
    const counters = countersOf(item)
    const settlement = await settler.settle(item, route, skipped({ ...decision, counters }))
    if (!settlement.ok) return settlement.why === 'stale'
    const facts = {
      route: route.document.name,
      work: item.work.id,
      definition: route.hash,
      attempt: item.work.attempts,
      message,
    }
    log.control(lineOf('dedupe', action, item.event, facts))
    deps.wake()
    return true
  }

  return { take }
}

/** The jobs that may be skipped: the replay of a dead letter was requested, so it always runs itself. */
function untilReplay(rows: readonly WorkRow[]): readonly WorkRow[] {
  const at = rows.findIndex((row) => deadLetterOf(row) !== null)
  return at === -1 ? rows : rows.slice(0, at)
}

/** The job was not attempted: its counters stay, and its time limit does not start. */
function putOff(item: Item, delayMs: number): Decision {
  const counters = countersOf(item)
  return again(delayMs, { counters, note: EMPTY_NOTE })
}

function ended(lastError: string, effectRef: WorkId | null): Pick<Decision, 'note' | 'guards' | 'writes'> {
  return { note: { ...EMPTY_NOTE, lastError, effectRef }, guards: [], writes: [] }
}

function stillWaits(members: readonly WorkRow[], id: WorkId): Guard {
  const epoch = members.find((row) => row.id === id)?.epoch ?? 0
  return { g: 'work', work: id, state: 'waiting', epoch }
}

function giveWay(members: readonly WorkRow[], id: WorkId, survivor: WorkId): Write {
  const { attempts = 0, waits = 0, losses = 0 } = members.find((row) => row.id === id) ?? {}
  const note = { ...EMPTY_NOTE, lastError: 'SUPERSEDED', effectRef: survivor }
  return { w: 'work.settle', work: id, to: 'skipped', counters: { attempts, waits, losses }, note }
}
