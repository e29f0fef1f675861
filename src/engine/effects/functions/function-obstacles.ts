// The obstacles to one effect of a function, as data: unknown outcomes, waits, limits, misuse. The core decides;
// function-effects.ts says when each of them applies.

import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { StoreTime } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import {
  type Decisions,
  decideNext,
  makeObstacle,
  makeWait,
  type Obstacle,
  SHORT_WAIT_MS,
} from '../../settlement/index.ts'
import { ledgerGuard, reserveGuard, settleLedger } from '../call-outcome.ts'
import type { FunctionRun, OpenEffect } from './function-run.ts'

export interface Obstacles {
  /** The call may have had its effect; the ledger is updated with the job's next step. */
  unknownOutcome(run: FunctionRun, effect: OpenEffect, error: string, retryAfterMs: number | null): Obstacle
  /**
   * A crash left this job's own reserve: the call may have been made. It counts as an attempt, and is checked
   * in the next run.
   */
  crashed(effect: OpenEffect, entry: LedgerEntry): Obstacle
  /** The time was over before the probe had a response. */
  unanswered(effect: OpenEffect, why: string): Obstacle
  /** Only an operator can decide. */
  park(effect: OpenEffect, entry: LedgerEntry): Obstacle
  /** The call may not be made any more. */
  exhausted(
    run: FunctionRun,
    effect: OpenEffect,
    entry: LedgerEntry | null,
    reason: 'cap_reached' | 'expired',
  ): Obstacle
  wait(
    run: FunctionRun,
    effect: OpenEffect,
    delayMs: number,
    error: string,
    outcomeUnknown: boolean,
  ): Obstacle
  /** The job has another owner by now. */
  stale(effect: OpenEffect): Obstacle
  /** A bug in the function: retrying cannot fix it. */
  misuse(run: FunctionRun, problem: string): Obstacle
}

const EXHAUSTED = {
  cap_reached: 'all attempts of the retry profile are used up',
  expired: 'it waited longer than it may',
} as const

export function makeObstacles(
  deps: Pick<EngineDeps, 'random'> & { readonly time: StoreTime; readonly decisions: Decisions },
): Obstacles {
  const { time } = deps
  return {
    unknownOutcome(run, effect, error, retryAfterMs) {
      const { item, route } = run.call
      const { idempotent, keyTtlMs, probeAfterMs } = effect.abilities
      const failureClass = idempotent ? 'transient' : 'unknown'
      const step = decideNext(deps, item, route.document.retry, {
        class: failureClass,
        effect: 'maybe',
        idempotent,
        canRepeat: keyTtlMs !== null,
        probeAfterMs,
        retryAfterMs,
      })
      return makeObstacle(effect.key, {
        step: step.step,
        delayMs: step.step === 'again' ? step.delayMs : 0,
        class: failureClass,
        reason: step.step === 'dead' ? step.reason : 'cap_reached',
        error: `effect '${effect.name}': ${error}`,
        outcomeUnknown: !idempotent,
        guards: [reserveGuard(item, effect.key)],
        writes: [settleLedger(effect.key, 'unknown', 'no-answer', null, null)],
      })
    },
    crashed: (effect, entry) =>
      makeObstacle(effect.key, {
        step: 'again',
        class: 'unknown',
        error: `the node stopped while effect '${effect.name}' was under way; it may be there`,
        outcomeUnknown: !effect.abilities.idempotent,
        guards: [ledgerGuard(entry)],
        writes: [settleLedger(effect.key, 'unknown', 'crash', null, null)],
      }),
    unanswered: (effect, why) =>
      makeObstacle(effect.key, {
        step: 'again',
        delayMs: SHORT_WAIT_MS,
        class: 'unknown',
        error: `effect '${effect.name}': the probe gave no answer: ${why}`,
        outcomeUnknown: true,
      }),
    park: (effect, entry) =>
      makeObstacle(effect.key, {
        step: 'park',
        class: 'unknown',
        counts: 'nothing',
        outcomeUnknown: true,
        error: `the outcome of effect '${effect.name}' is unknown and cannot be asked for`,
        guards: [ledgerGuard(entry)],
      }),
    exhausted(run, effect, entry, reason) {
      const { work } = run.call.item
      const outcomeUnknown = isUnknown(run, effect, entry)
      return makeObstacle(effect.key, {
        step: outcomeUnknown ? 'park' : 'dead',
        counts: 'nothing',
        class: outcomeUnknown ? 'unknown' : (work.class ?? 'transient'),
        reason,
        error: work.lastError ?? EXHAUSTED[reason],
        outcomeUnknown,
        guards: entry === null ? [] : [ledgerGuard(entry)],
      })
    },
    wait: (run, effect, delayMs, error, outcomeUnknown) =>
      makeWait(effect.key, run.call.item.work, time.now(), {
        delayMs,
        error: `effect '${effect.name}': ${error}`,
        outcomeUnknown,
      }),
    stale: (effect) =>
      makeObstacle(effect.key, {
        step: 'stale',
        error: 'the item is no longer in the hands of this node',
      }),
    misuse: (run, problem) => makeObstacle(run.key, { step: 'dead', class: 'validation', error: problem }),
  }
}

/** An earlier call of this job may have had the effect, and repeating it is not safe. */
export function isUnknown(run: FunctionRun, { abilities }: OpenEffect, entry: LedgerEntry | null): boolean {
  return entry?.state === 'unknown' && entry.work === run.call.item.work.id && !abilities.idempotent
}
