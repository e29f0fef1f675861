// Runs an outbound call under the ledger: decides by what the ledger knows of the key. The core decides
// (`decideEffect`); reserve-and-send.ts makes the call, call-ends.ts ends it.
//
// Invariants: N3 no call without an open reserve of this job and epoch. N4 done only on an acknowledgement, a probe or
// evidence. N5 a stale owner writes evidence and nothing else.

import { acknowledgedRef, isProved, type LedgerEntry } from '../../core/effects/ledger/index.ts'
import { type EngineBase, retrying } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Lease } from '../leases/index.ts'
import { encryptResult, scrubOrNull } from '../secrets/index.ts'
import { type Decisions, type Settler, SHORT_WAIT_MS } from '../settlement/index.ts'
import type { Call, KnownOutcome, Round } from './call.ts'
import { makeCallEnds, roundAfter } from './call-ends.ts'
import {
  countersOf,
  isFresh,
  leaseGuard,
  ledgerGuard,
  noteOf,
  resultText,
  settleLedger,
} from './call-outcome.ts'
import type { FlowControl } from './flow-control-hooks.ts'
import { makeKnown } from './known-effects.ts'
import type { LateAcks } from './late-acks.ts'
import { askProbe } from './probe.ts'
import { openSecrets } from './request-secrets.ts'
import { makeReserveAndSend } from './reserve-and-send.ts'
import { sendFor } from './send-request.ts'

export interface Effects {
  run(call: Call): Promise<void>
  /** A job that crashed its node too often: dead, or parked if its effect may exist. */
  poison(call: Call): Promise<void>
}

const ROUNDS_MAX = 6
const CANNOT_ASK = 'the outcome is unknown and cannot be asked for'

export function makeEffects(
  deps: Pick<
    EngineBase,
    'store' | 'clock' | 'random' | 'http' | 'log' | 'encryption' | 'vault' | 'commits' | 'time'
  > & {
    readonly settler: Settler
    readonly lease: Lease
    readonly decisions: Decisions
    readonly lateAcks: LateAcks
    readonly flowControl: FlowControl
  },
  config: Pick<EngineConfig, 'sendWithinMs' | 'responseBytesMax' | 'resultBytesMax'>,
): Effects {
  const { store, http, commits, time, decisions } = deps
  const callEnds = makeCallEnds(deps)
  const reserveAndSend = makeReserveAndSend({ ...deps, callEnds }, config)
  const known = makeKnown()

  /** Runs until the job has left this node: a leased job that does not run would be lost for as long as the node lives. */
  const inRounds = (
    call: Call,
    first: LedgerEntry | null,
    step: (entry: LedgerEntry | null) => Promise<Round>,
  ): Promise<void> => {
    let entry = first
    return retrying<void>(
      ROUNDS_MAX,
      (retry) =>
        step(entry).then((next) => {
          if (next === 'finished') return
          entry = next.entry
          return retry()
        }),
      () => callEnds.stepAside(call, SHORT_WAIT_MS, 'the ledger entry keeps changing'),
    )
  }

  const stepOnce = (call: Call, entry: LedgerEntry | null): Promise<Round> =>
    entry === null ? reserveAndSend(call, null) : stepKnown(call, entry)

  const stepKnown = async (call: Call, entry: LedgerEntry): Promise<Round> => {
    const { item, action } = call
    const step = decisions.decideEffect({
      entry,
      work: item.work.id,
      epoch: item.work.epoch,
      consumer: item.work.consumer,
      waits: item.work.waits,
      generation: item.work.generation,
      abilities: action.abilities,
      now: time.now(),
    })
    switch (step.step) {
      case 'reserve':
        return reserveAndSend(call, entry)
      case 'hit':
        known.note(entry)
        return callEnds.finishKnown(call, entry, step.own)
      case 'believe':
        return callEnds.finishProved(call, entry, 'acknowledged', acknowledgedRef(entry), null)
      case 'doubt':
        return declareUnknown(call, entry)
      case 'probe':
        return probe(call, entry)
      case 'wait': {
        const why = step.for === 'other' ? 'another item holds the key' : 'not yet time to ask'
        return callEnds.waitAgain(call, entry, step.delayMs, why)
      }
      case 'park':
        return callEnds.park(call, entry, CANNOT_ASK)
    }
  }

  /** A crash left this job's own reserve: the call may have been made. It counts as an attempt, and is checked again. */
  const declareUnknown = async (call: Call, entry: LedgerEntry): Promise<Round> => {
    const counters = { ...countersOf(call.item), attempts: call.item.work.attempts + 1 }
    const error = 'the node stopped between reserve and answer; the call may have been made'
    const settlement = await callEnds.finish(call, 'UNKNOWN', {
      to: 'again',
      delayMs: 0,
      counters,
      note: noteOf(call, { class: 'unknown', lastError: error }),
      guards: [ledgerGuard(entry)],
      writes: [settleLedger(call.key, 'unknown', 'crash', null, null)],
      attempt: {
        number: counters.attempts,
        startedAt: time.now(),
        durationMs: 0,
        outcome: 'unknown',
        class: 'unknown',
        httpStatus: null,
        error,
      },
    })
    return roundAfter(settlement)
  }

  const ask = async (call: Call, entry: LedgerEntry): Promise<KnownOutcome | null> => {
    const { action, scope, item } = call
    if (call.ask !== undefined) return call.ask(entry)
    if (action.probe === null) return null
    const opened = await openSecrets(deps.vault, item.work.tenant, action.probe.secrets)
    if (!opened.ok) return { effect: null, error: `probe: ${opened.error}` }
    const { timeoutMs } = action.abilities
    const options = { timeoutMs, maxResponseBytes: config.responseBytesMax, hidden: opened.hidden }
    return askProbe(action.probe, opened.open(scope), (request) => sendFor(call, http, request, options))
  }

  const probe = async (call: Call, entry: LedgerEntry): Promise<Round> => {
    const { item, key } = call
    const answer = await ask(call, entry)
    if (answer === null || answer.effect === 'unclear') return callEnds.park(call, entry, CANNOT_ASK)
    if (answer.effect === 'repeat') return reserveAndSend(call, entry)
    if (answer.effect === 'found') {
      const text = answer.said === undefined ? null : resultText(answer.said, config.resultBytesMax)
      const result = encryptResult(deps.encryption, item, key, text)
      return callEnds.finishProved(call, entry, 'probe', scrubOrNull(item.event, answer.effectRef), result)
    }
    if (answer.effect === 'absent') {
      const result = await commits.firmly(
        item.work.tenant,
        [leaseGuard(call.item), ledgerGuard(entry)],
        [settleLedger(key, 'released', 'probe', null, null)],
      )
      if (result.ok) return { entry: { ...entry, state: 'released', proof: 'probe' } }
      if (result.guard === 0) return 'finished'
      return { entry: result.found?.f === 'ledger' ? result.found.entry : null }
    }
    return callEnds.waitAgain(call, entry, SHORT_WAIT_MS * 2 ** Math.min(item.work.waits, 8), answer.error)
  }

  return {
    /** Handles what the ledger says until the job is settled or put back. */
    run(call) {
      const { item, key } = call
      const { tenant } = item.work
      const step = (found: LedgerEntry | null) =>
        // A known effect is recorded, however late.
        time.now() >= item.work.expiresAt && !isProved(found, item.work.generation)
          ? callEnds.exhausted(call, found, 'expired')
          : stepOnce(call, found)
      if (isFresh(item)) return inRounds(call, known.find(tenant, key), step)
      return store
        .forTenant(tenant)
        .ledger(key)
        .then((entry) => inRounds(call, entry, step))
    },
    async poison(call) {
      const { work } = call.item
      const entry = await store.forTenant(work.tenant).ledger(call.key)
      await inRounds(call, entry, (found) =>
        isProved(found, work.generation)
          ? stepOnce(call, found)
          : callEnds.exhausted(call, found, 'crash_loop'),
      )
    },
  }
}
