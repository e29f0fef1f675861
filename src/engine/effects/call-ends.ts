// Ends a job with an outbound call, or puts it back: each a decision for the settler, and a log line.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import { decideExhausted, type FailureStep } from '../../core/queue/work/index.ts'
import { filterHashOf } from '../../core/routing/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import { lineOf } from '../observe/index.ts'
import {
  again,
  type Decision,
  type DecisionInput,
  dead,
  done,
  parked,
  type Settlement,
  type Settler,
  skipped,
} from '../settlement/index.ts'
import type { Call, Round } from './call.ts'
import {
  countersOf,
  hostOf,
  ledgerGuard,
  noteOf,
  settleLedger,
  unreservedGuard,
  withoutWords,
} from './call-outcome.ts'

export interface CallEnds {
  finish(call: Call, action: string, decision: Decision): Promise<Settlement>
  /** The same: goes on with `then` at once. */
  finish<Value>(
    call: Call,
    action: string,
    decision: Decision,
    then: (settlement: Settlement) => Value | Promise<Value>,
  ): Promise<Value>
  carryOut(call: Call, step: FailureStep, decision: DecisionInput): Promise<Settlement>
  /** The effect exists: by this job (done) or by an earlier one (skipped, with a pointer). */
  finishKnown(call: Call, entry: LedgerEntry, own: boolean): Promise<Round>
  /** An unknown outcome is settled: the effect exists. */
  finishProved(
    call: Call,
    entry: LedgerEntry,
    proof: 'acknowledged' | 'probe',
    effectRef: string | null,
    result: string | null,
  ): Promise<Round>
  waitAgain(call: Call, entry: LedgerEntry | null, delayMs: number, why: string): Promise<Round>
  stepAside(call: Call, delayMs: number, why: string): Promise<void>
  park(call: Call, entry: LedgerEntry, why: string): Promise<Round>
  exhausted(
    call: Call,
    entry: LedgerEntry | null,
    reason: 'cap_reached' | 'expired' | 'crash_loop',
  ): Promise<Round>
}

const EXHAUSTED = {
  cap_reached: 'all attempts of the retry profile are used up',
  expired: 'it waited longer than it may',
  crash_loop: 'the node stopped each time while this item ran alone',
} as const

/** For calls without a continuation, whose value is the settlement. */
function asValue<Value>(settlement: Settlement): Value {
  return settlement as Value
}

/** A decision that a guard refused is made again, with what was found. */
export function roundAfter(settlement: Settlement): Round {
  if (settlement.ok || settlement.why === 'stale') return 'finished'
  return { entry: settlement.found?.f === 'ledger' ? settlement.found.entry : null }
}

export function makeCallEnds(
  deps: Pick<EngineBase, 'time' | 'log'> & {
    readonly settler: Settler
  },
): CallEnds {
  const { settler, time, log } = deps

  const finish: CallEnds['finish'] = <Value>(
    call: Call,
    action: string,
    decision: Decision,
    then: (settlement: Settlement) => Value | Promise<Value> = asValue,
  ) =>
    settler.settle(call.item, call.route, decision, (settlement) => {
      report(call, action, decision, settlement)
      return then(settlement)
    })

  const report = (call: Call, action: string, decision: Decision, settlement: Settlement) => {
    const { note } = decision
    const point = action === 'DEDUPE_HIT' ? 'dedupe' : action === 'DEAD_LETTERED' ? 'dead-letter' : 'effect'
    log.control(
      lineOf(point, settlement.ok ? action : 'STALE', call.item.event, {
        route: call.route.document.name,
        work: call.item.work.id,
        definition: call.item.work.definition,
        target: hostOf(call.request.url),
        key: call.key,
        attempt: decision.counters.attempts,
        class: note.class,
        durationMs: note.durationMs,
        httpStatus: note.httpStatus,
        message: withoutWords(note.lastError ?? ''),
        filter: filterHashOf(call.route.document),
        externalRef: call.externalRef ?? note.effectRef,
      }),
    )
  }

  const carryOut: CallEnds['carryOut'] = async (call, step, decision) => {
    const failureClass = decision.note.class ?? 'unknown'
    switch (step.step) {
      case 'again': {
        const action = step.counters.attempts < decision.counters.attempts ? 'WAIT' : 'RETRY'
        return finish(call, action, again(step.delayMs, { ...decision, counters: step.counters }))
      }
      case 'park':
        return finish(call, 'PARKED', parked(decision))
      case 'dead': {
        const error = decision.note.lastError ?? step.reason
        const why = { class: failureClass, reason: step.reason, error }
        return finish(call, 'DEAD_LETTERED', dead(why, decision))
      }
    }
  }

  const endKnown = async (
    call: Call,
    entry: LedgerEntry,
    own: boolean,
    proved: { readonly guards: readonly Guard[]; readonly writes: readonly Write[] },
  ): Promise<Round> => {
    const effectRef = own ? entry.effectRef : (entry.effectRef ?? entry.work)
    const saying = { counters: countersOf(call.item), note: noteOf(call, { effectRef }), ...proved }
    const settlement = await finish(call, own ? 'DONE' : 'DEDUPE_HIT', own ? done(saying) : skipped(saying))
    return roundAfter(settlement)
  }

  const stepAside: CallEnds['stepAside'] = async (call, delayMs, why) => {
    const { item } = call
    await finish(
      call,
      'WAIT',
      again(delayMs, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: noteOf(call, { class: item.work.class, lastError: why }),
      }),
    )
  }

  const exhausted: CallEnds['exhausted'] = async (call, entry, reason) => {
    const { item, action } = call
    const own = entry !== null && entry.work === item.work.id
    const outcomeUnknown =
      own && (entry.state === 'unknown' || entry.state === 'reserved') && !action.policy.idempotent
    const writes =
      own && entry.state === 'reserved' ? [settleLedger(call.key, 'unknown', 'crash', null, null)] : []
    const failureClass = outcomeUnknown
      ? 'unknown'
      : reason === 'crash_loop'
        ? 'poison'
        : (item.work.class ?? 'transient')
    const settlement = await carryOut(call, decideExhausted(outcomeUnknown, reason), {
      counters: countersOf(item),
      note: noteOf(call, { class: failureClass, lastError: item.work.lastError ?? EXHAUSTED[reason] }),
      guards: entry === null ? [unreservedGuard(call.key)] : [ledgerGuard(entry)],
      writes,
    })
    return roundAfter(settlement)
  }

  return {
    finish,
    carryOut,
    stepAside,
    exhausted,
    // Guarded, because the entry may come from the cache: then the actual entry is checked.
    finishKnown: (call, entry, own) =>
      endKnown(call, entry, own, { guards: [ledgerGuard(entry)], writes: [] }),
    finishProved: (call, entry, proof, effectRef, result) =>
      endKnown(call, { ...entry, effectRef }, entry.work === call.item.work.id, {
        guards: [ledgerGuard(entry)],
        writes: [settleLedger(call.key, 'done', proof, effectRef, result ?? entry.result)],
      }),
    async waitAgain(call, entry, delayMs, why) {
      if (time.now() + delayMs >= call.item.work.expiresAt) return exhausted(call, entry, 'expired')
      await stepAside(call, delayMs, why)
      return 'finished'
    },
    async park(call, entry, why) {
      const settlement = await finish(
        call,
        'PARKED',
        parked({
          counters: countersOf(call.item),
          note: noteOf(call, { class: 'unknown', lastError: why }),
          guards: [ledgerGuard(entry)],
        }),
      )
      return roundAfter(settlement)
    },
  }
}
