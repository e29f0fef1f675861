// Ends the run of a function when something other than the function decides: an unknown outcome, a key held by another
// job, a lost lease, a timeout. Every unknown outcome is recorded with the job's next step, in one commit.
//
// Invariants: W5 a job whose effect may exist never dies and is never done: it is parked for an operator, with the key
// of that effect. An unknown outcome of an earlier run is found even if this run did not reach it.

import { type FunctionOutcome, failureText } from '../../../core/effects/function/index.ts'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { type Attempt, EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import type { Commits, StoreTime } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import { lineOf } from '../../observe/index.ts'
import {
  again,
  type Decision,
  type Decisions,
  decideNext,
  makeObstacle,
  makeWait,
  type Obstacle,
  type Settler,
  SHORT_WAIT_MS,
} from '../../settlement/index.ts'
import type { InternalCall } from '../call.ts'
import { countersOf, isFresh, ledgerGuard, settleLedger } from '../call-outcome.ts'
import type { FunctionRun } from './function-run.ts'

export interface FunctionEnds {
  /** Settles the job by the obstacles of the run. False: there are none, and the function's own result decides. */
  endStopped(run: FunctionRun, outcome: FunctionOutcome): Promise<boolean>
  /** The job may not run again. False: none of its outcomes is unknown, and it may be dead-lettered. */
  parkUnknown(call: InternalCall, error: string): Promise<boolean>
}

export function makeFunctionEnds(
  deps: Pick<EngineDeps, 'store' | 'random' | 'log'> & {
    readonly time: StoreTime
    readonly commits: Commits
    readonly settler: Settler
    readonly decisions: Decisions
  },
): FunctionEnds {
  const { store, log, time, commits, settler, decisions } = deps

  const endStopped: FunctionEnds['endStopped'] = async (run, outcome) => {
    const { call } = run
    const obstacles = [...(run.obstacles ?? [])]
    if (obstacles.some(({ step }) => step === 'stale')) return true
    const forgotten = await findForgotten(run, obstacles)
    if (obstacles.length === 0 && forgotten.length === 0) return false
    if (outcome.kind === 'failed' && (obstacles.length === 0 || run.isLate)) {
      obstacles.push(run.isHeldByStore ? heldByStore(call) : failureOf(call, outcome))
    }
    const isOver = outcome.kind === 'returned' && obstacles.length === 0
    for (const entry of forgotten) {
      const known = [...(run.effects?.values() ?? [])].find(({ key }) => key === entry.key)
      const isHarmless = known?.abilities.idempotent === true
      obstacles.push({ ...forgottenOf(entry, isOver ? 'park' : 'again'), outcomeUnknown: !isHarmless })
    }
    return settle(call, obstacles, run.callsInVain > 0)
  }

  const parkUnknown: FunctionEnds['parkUnknown'] = async (call, error) => {
    const forgotten = await openEntries(call)
    if (forgotten.length === 0) return false
    return settle(
      call,
      forgotten.map((entry) => ({ ...forgottenOf(entry, 'park'), error })),
      false,
    )
  }

  const settle = async (
    call: InternalCall,
    obstacles: readonly Obstacle[],
    wasCalledInVain: boolean,
  ): Promise<boolean> => {
    const { item, route } = call
    const chosen = decisions.decideStop(obstacles)
    if (chosen === null) return false
    const decision = decisionOf(call, chosen, obstacles, wasCalledInVain)
    const settlement = await settler.settle(item, route, decision)
    if (settlement.ok) {
      report(call, decision)
    } else if (settlement.why === 'guard') {
      // The ledger has changed meanwhile: the next run checks it again.
      await settler.settle(
        item,
        route,
        again(SHORT_WAIT_MS, {
          counters: { ...countersOf(item), waits: item.work.waits + 1 },
          note: decision.note,
        }),
      )
    }
    return true
  }

  /** The store, or the connection to it, was slow: that uses up a wait, and no attempt of the function. */
  const heldByStore = ({ item, key }: InternalCall): Obstacle =>
    makeWait(key, item.work, time.now(), {
      delayMs: SHORT_WAIT_MS,
      class: 'transient',
      error: 'the store did not answer in time; the function was stopped while it waited',
    })

  const failureOf = (call: InternalCall, outcome: Extract<FunctionOutcome, { kind: 'failed' }>): Obstacle => {
    const { item, route, key } = call
    const failureClass = outcome.how === 'terminal' ? 'validation' : 'transient'
    const step = decideNext(deps, item, route.document.retry, {
      class: failureClass,
      isTimeout: outcome.isTimeout === true,
      retryAfterMs: outcome.afterMs,
    })
    return makeObstacle(key, {
      step: step.step === 'again' ? 'again' : 'dead',
      delayMs: step.step === 'again' ? step.delayMs : 0,
      class: failureClass,
      reason: step.step === 'dead' ? step.reason : 'cap_reached',
      error: failureText(outcome),
    })
  }

  /**
   * Unknown outcomes that no obstacle of this run covers: it was stopped before it reached them, or did not
   * reach them at all.
   */
  const findForgotten = async (
    run: FunctionRun,
    obstacles: readonly Obstacle[],
  ): Promise<readonly LedgerEntry[]> => {
    const recorded = new Set(obstacles.map(({ key }) => key))
    return (await openEntries(run.call)).filter(({ key }) => !recorded.has(key))
  }

  /** Entries of this very job that are neither done nor released. A job in its first claim has none. */
  const openEntries = async ({ item }: InternalCall): Promise<readonly LedgerEntry[]> => {
    if (isFresh(item)) return []
    const { tenant, id } = item.work
    return commits.retryUntilAvailable(() => store.forTenant(tenant).ledgerOfWork(id))
  }

  const report = ({ item, route }: InternalCall, decision: Decision) => {
    const { counters, note } = decision
    const action =
      decision.to === 'parked'
        ? 'PARKED'
        : decision.to === 'dead'
          ? 'DEAD_LETTERED'
          : counters.attempts > item.work.attempts
            ? 'RETRY'
            : 'WAIT'
    log.control(
      lineOf(decision.to === 'dead' ? 'dead-letter' : 'effect', action, item.event, {
        route: route.document.name,
        work: item.work.id,
        definition: item.work.definition,
        key: note.key,
        attempt: counters.attempts,
        class: note.class,
        message: note.lastError ?? '',
      }),
    )
  }

  const decisionOf = (
    call: InternalCall,
    chosen: Obstacle,
    obstacles: readonly Obstacle[],
    wasCalledInVain: boolean,
  ): Decision => {
    const { item } = call
    const isAttempt = wasCalledInVain || obstacles.some(({ counts }) => counts === 'attempt')
    const { attempts, waits, losses } = item.work
    const counters = {
      attempts: attempts + (isAttempt ? 1 : 0),
      waits: waits + (chosen.step === 'again' && !isAttempt ? 1 : 0),
      losses,
    }
    const { class: failureClass, error } = chosen
    const attempt: Attempt | null = isAttempt
      ? {
          number: counters.attempts,
          startedAt: time.now(),
          durationMs: 0,
          outcome: wordOf(chosen),
          class: failureClass,
          httpStatus: null,
          error,
        }
      : null
    const base = {
      counters,
      // The key of the effect, so that an operator sees what it is about; a dead letter stores the job's key, for its
      // replay.
      note: {
        ...EMPTY_NOTE,
        key: chosen.step === 'dead' ? call.key : chosen.key,
        class: failureClass,
        lastError: error,
      },
      guards: obstacles.flatMap(({ guards }) => guards),
      writes: obstacles.flatMap(({ writes }) => writes),
      attempt,
    }
    switch (chosen.step) {
      case 'again':
        return { ...base, to: 'again', delayMs: Math.max(...obstacles.map(({ delayMs }) => delayMs)) }
      case 'park':
        return { ...base, to: 'parked' }
      default:
        return {
          ...base,
          to: 'dead',
          class: failureClass,
          reason: chosen.reason,
          error,
          step: stepOf(call.key, chosen.key),
        }
    }
  }

  return { endStopped, parkUnknown }
}

/** The effect that stopped the function, if one did. */
function stepOf(own: string, key: string | null): string {
  return key === null || key === own ? 'function' : `effect ${key.slice(key.lastIndexOf('#') + 1)}`
}

function wordOf({ step, outcomeUnknown }: Obstacle): Attempt['outcome'] {
  if (step === 'again') return outcomeUnknown ? 'unknown' : 'again'
  return step === 'park' ? 'parked' : 'dead'
}

function forgottenOf(entry: LedgerEntry, step: 'park' | 'again'): Obstacle {
  const name = entry.key.slice(entry.key.lastIndexOf('#') + 1)
  const isReserved = entry.state === 'reserved'
  return makeObstacle(entry.key, {
    step,
    counts: isReserved ? 'attempt' : 'nothing',
    class: 'unknown',
    error: `the outcome of effect '${name}' is unknown, and the function did not come to it again`,
    outcomeUnknown: true,
    guards: [ledgerGuard(entry)],
    writes: isReserved ? [settleLedger(entry.key, 'unknown', 'crash', null, null)] : [],
  })
}
