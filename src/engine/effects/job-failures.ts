// How a job fails that made no outbound call of its own: it is dead, tried again by its failure class, or waits for another job's key.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { EngineBase } from '../commit/index.ts'
import { lineOf } from '../observe/index.ts'
import { again, type Decisions, dead, decideNext, type Settler } from '../settlement/index.ts'
import type { DeadLetterRouteJob, InternalCall } from './call.ts'
import { countersOf } from './call-outcome.ts'
import type { InternalFailure } from './functions/index.ts'

export interface JobFailures {
  fail(call: InternalCall, failure: InternalFailure): Promise<void>
  hold(call: InternalCall, entry: LedgerEntry): Promise<void>
  readonly deadLetterJob: DeadLetterRouteJob
}

/** Retry delay while another job is about to settle the ledger entry. */
const HELD_MS = 1_000

export function makeJobFailures(
  deps: Pick<EngineBase, 'random' | 'log' | 'time'> & {
    readonly settler: Settler
    readonly decisions: Decisions
  },
): JobFailures {
  const { time, log, settler } = deps

  const deadLetterJob: DeadLetterRouteJob = async (item, route, key, failureClass, reason, error) => {
    const settlement = await settler.settle(
      item,
      route,
      dead(
        { class: failureClass, reason, error },
        { counters: countersOf(item), note: { ...EMPTY_NOTE, key, class: failureClass, lastError: error } },
      ),
    )
    if (!settlement.ok) return
    const facts = {
      work: item.work.id,
      definition: item.work.definition,
      key,
      class: failureClass,
      message: error,
      errorCode: reason,
    }
    log.control(
      lineOf('dead-letter', 'DEAD_LETTERED', item.event, {
        ...facts,
        route: route?.document.name ?? null,
        attempt: item.work.attempts,
      }),
    )
  }

  /** An internal action failed: handled by failure class, like every other. */
  const fail = async (call: InternalCall, failure: InternalFailure): Promise<void> => {
    const { item, route, key } = call
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const step = decideNext(deps, item, route.document.retry, {
      class: failure.class,
      retryAfterMs: failure.retryAfterMs,
    })
    const note = { ...EMPTY_NOTE, key, class: failure.class, lastError: failure.error }
    const isDead = step.step === 'dead'
    const attempt = {
      number: counters.attempts,
      startedAt: time.now(),
      durationMs: 0,
      outcome: isDead ? ('dead' as const) : ('again' as const),
      class: failure.class,
      httpStatus: null,
      error: failure.error,
    }
    const base = { counters, note, attempt }
    const settlement = await settler.settle(
      item,
      route,
      step.step === 'again'
        ? again(step.delayMs, { ...base, counters: step.counters })
        : dead(
            { class: failure.class, reason: isDead ? step.reason : 'cap_reached', error: failure.error },
            base,
          ),
    )
    if (!settlement.ok) return
    log.control(
      lineOf(isDead ? 'dead-letter' : 'effect', isDead ? 'DEAD_LETTERED' : 'RETRY', item.event, {
        route: route.document.name,
        work: item.work.id,
        definition: item.work.definition,
        key,
        attempt: counters.attempts,
        class: failure.class,
        message: failure.error,
      }),
    )
  }

  /** Another job holds the key for an outbound call: wait for it without using up an attempt. */
  const hold = async (call: InternalCall, entry: LedgerEntry): Promise<void> => {
    const { item, route, key } = call
    const step = deps.decisions.decideEffect({
      entry,
      work: item.work.id,
      epoch: item.work.epoch,
      consumer: item.work.consumer,
      waits: item.work.waits,
      abilities: { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 },
      now: time.now(),
    })
    const delayMs = step.step === 'wait' ? step.delayMs : HELD_MS
    if (time.now() + delayMs >= item.work.expiresAt) {
      return deadLetterJob(item, route, key, 'transient', 'expired', 'another item held its key for too long')
    }
    await settler.settle(
      item,
      route,
      again(delayMs, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: { ...EMPTY_NOTE, key, lastError: 'another item holds the key' },
      }),
    )
  }

  return { fail, hold, deadLetterJob }
}
