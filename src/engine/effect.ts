// A call to somebody else's system, under the ledger: reserve, send, settle; and what to do when the ledger already
// knows the key. Decisions are the core's (`decideEffect`, `classifyCall`, `decideFailure`); this file carries them out.
//
// Invariants: N3 no call without an open reserve of this item and epoch. N4 done only on an acknowledgement, a probe or
// evidence. N5 a stale owner writes evidence and nothing else.

import { effectRefOf, parseResponse, type RenderedRequest } from '../core/action/index.ts'
import type { CallVerdict } from '../core/failure/index.ts'
import { acknowledgedRef, isProved, type LedgerEntry } from '../core/ledger/index.ts'
import type { Instant } from '../core/time/index.ts'
import { type Counters, decideExhausted, type FailureStep } from '../core/work/index.ts'
import type { HttpOutcome } from '../ports/http-client.ts'
import type { Guard, Write } from '../ports/store.ts'
import type { Commits } from './commits.ts'
import { type Decisions, SETTLE_MARGIN_MS, SHORT_WAIT_MS } from './decisions.ts'
import type { EngineConfig, EngineDeps } from './deps.ts'
import type { Lease } from './lease.ts'
import { lineOf } from './lines.ts'
import {
  attemptOf,
  type Call,
  countersOf,
  errorTextInFull,
  factsOf,
  hostOf,
  isFresh,
  leaseGuard,
  ledgerGuard,
  measured,
  neverSent,
  newEntry,
  noteOf,
  outcomeWord,
  reserveGuard,
  resultText,
  settleLedger,
  traced,
  withoutWords,
} from './outcome.ts'
import { askProbe } from './probe.ts'
import { scrubOrNull, sealResult } from './sensitive.ts'
import type { Decision, DecisionBase, Settlement, Settler } from './settle.ts'
import type { StoreTime } from './store-time.ts'
import type { Witness } from './witness.ts'

export interface Effects {
  run(call: Call): Promise<void>
  /** An item that took its node down too often: dead, or parked when its effect may be there. */
  poison(call: Call): Promise<void>
}

/** The item is settled or put back, or the ledger says something new and the item is looked at again. */
type Round = 'finished' | { readonly entry: LedgerEntry | null }

const ROUNDS_MAX = 6

export function makeEffects(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'random' | 'http' | 'log' | 'seal'> & {
    readonly commits: Commits
    readonly settler: Settler
    readonly lease: Lease
    readonly time: StoreTime
    readonly decisions: Decisions
    readonly witness: Witness
  },
  config: Pick<EngineConfig, 'sendWithinMs' | 'responseBytesMax' | 'resultBytesMax'>,
): Effects {
  const { store, clock, random, http, log, commits, settler, lease, time, decisions } = deps

  /** Steps through what the ledger says until the item is settled or put back. */
  const run = async (call: Call): Promise<void> => {
    const { item, key } = call
    const entry = isFresh(item) ? null : await store.forTenant(item.work.tenant).ledger(key)
    await inRounds(call, entry, (found) =>
      // What is known to be there is told, however late.
      time.now() >= item.work.expiresAt && !isProved(found)
        ? exhausted(call, found, 'expired')
        : stepOnce(call, found),
    )
  }

  /** Until the item is out of our hands: one that stays leased and is not run would be lost for as long as we live. */
  const inRounds = async (
    call: Call,
    first: LedgerEntry | null,
    step: (entry: LedgerEntry | null) => Promise<Round>,
  ): Promise<void> => {
    let entry = first
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const next = await step(entry)
      if (next === 'finished') return
      entry = next.entry
    }
    await stepAside(call, SHORT_WAIT_MS, 'the ledger entry keeps changing')
  }

  /** A decision that a guard refused is made again, on what was found. */
  const roundAfter = (settlement: Settlement): Round => {
    if (settlement.ok || settlement.why === 'stale') return 'finished'
    return { entry: settlement.found?.f === 'ledger' ? settlement.found.entry : null }
  }

  const stepOnce = async (call: Call, entry: LedgerEntry | null): Promise<Round> => {
    if (entry === null) return reserveAndSend(call, null)
    const { item, action } = call
    const step = decisions.decideEffect({
      entry,
      work: item.work.id,
      epoch: item.work.epoch,
      consumer: item.work.consumer,
      waits: item.work.waits,
      abilities: action.abilities,
      now: time.now(),
    })
    switch (step.step) {
      case 'reserve':
        return reserveAndSend(call, entry)
      case 'hit':
        return finishKnown(call, entry, step.own)
      case 'believe':
        return finishProved(call, entry, 'acknowledged', acknowledgedRef(entry))
      case 'doubt':
        return declareDoubt(call, entry)
      case 'probe':
        return probe(call, entry)
      case 'wait':
        return waitAgain(
          call,
          entry,
          step.delayMs,
          step.for === 'other' ? 'another item holds the key' : 'not yet time to ask',
        )
      case 'park':
        return park(call, entry, 'the outcome is unknown and cannot be asked for')
    }
  }

  const reserveAndSend = async (call: Call, over: LedgerEntry | null): Promise<Round> => {
    const { item, action, key, route } = call
    if (item.work.attempts >= route.document.retry.attempts) return exhausted(call, over, 'cap_reached')
    // Reserve last: everything that could still stop the call has been asked by now.
    const neededMs = config.sendWithinMs + action.abilities.timeoutMs + SETTLE_MARGIN_MS
    if (!(await lease.covers(item.owner, neededMs))) {
      await stepAside(call, SHORT_WAIT_MS, 'the lease could not be made long enough for the call')
      return 'finished'
    }
    const askedAt = clock.monotonic()
    const held: Guard = over === null ? { g: 'unreserved', key } : ledgerGuard(over)
    const result = await commits.firmly(
      item.work.tenant,
      [leaseGuard(call.item), held],
      [{ w: 'ledger.reserve', entry: newEntry(call.item, key), sendWithinMs: config.sendWithinMs }],
    )
    if (!result.ok) {
      if (result.guard === 0) return 'finished'
      const found = result.found?.f === 'ledger' ? result.found.entry : null
      // Refused by its own first try, whose answer was lost: nothing was sent yet. Without such a try the reserve is one
      // that we forgot, and its call may have been made.
      const ours =
        result.isRepeat === true &&
        found?.state === 'reserved' &&
        found.work === item.work.id &&
        found.epoch === item.work.epoch
      if (!ours) return { entry: found }
    }
    const isLate = clock.monotonic() - askedAt > config.sendWithinMs || result.at >= item.work.expiresAt
    if (isLate || isForgetting(call, over, result.at)) {
      await release(call, over)
      return 'finished'
    }
    const startedAt = time.now()
    const outcome = await send(traced(call), action.abilities.timeoutMs)
    await settleCall(call, outcome, startedAt, over)
    return 'finished'
  }

  /** The key that a repeat relies on would not outlive the call: time passed since that was decided. */
  const isForgetting = ({ action }: Call, over: LedgerEntry | null, at: Instant): boolean => {
    const { idempotent, keyTtlMs, timeoutMs } = action.abilities
    if (over?.state !== 'unknown' || idempotent || keyTtlMs === null) return false
    return at + config.sendWithinMs + timeoutMs >= over.createdAt + keyTtlMs
  }

  const send = (request: RenderedRequest, timeoutMs: number): Promise<HttpOutcome> =>
    http.send({ ...request, timeoutMs, maxResponseBytes: config.responseBytesMax })

  /** Too late to send: proof that nothing was sent now. */
  const release = async (call: Call, over: LedgerEntry | null) => {
    const { item } = call
    await finish(call, 'RETRY', {
      to: 'again',
      delayMs: SHORT_WAIT_MS,
      counters: { ...countersOf(item), waits: item.work.waits + 1 },
      note: noteOf(call, { class: 'transient', lastError: 'the reserve took too long; nothing was sent' }),
      guards: [reserveGuard(call.item, call.key)],
      writes: [settleNothing(call, over, 'never-sent')],
      attempt: null,
    })
  }

  /** This call had no effect. That says nothing of an earlier one which it repeats: that one stays in doubt. */
  const settleNothing = (call: Call, over: LedgerEntry | null, proof: 'never-sent' | 'not-applied'): Write =>
    repeatsDoubt(call, over)
      ? settleLedger(call.key, 'unknown', 'no-answer', null, null)
      : settleLedger(call.key, 'released', proof, null, null)

  const repeatsDoubt = ({ action }: Call, over: LedgerEntry | null): boolean =>
    over?.state === 'unknown' && !action.policy.idempotent

  const settleCall = async (
    call: Call,
    outcome: HttpOutcome,
    startedAt: Instant,
    over: LedgerEntry | null,
  ) => {
    const { item, action, key } = call
    const verdict = decisions.classifyCall(factsOf(outcome, clock.now()), action.policy)
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const reserve = reserveGuard(item, key)
    if (verdict.as === 'done') {
      const response = outcome.kind === 'response' ? parseResponse(outcome) : null
      const effectRef = response === null ? null : scrubOrNull(item.event, effectRefOf(response))
      const text = response === null ? null : resultText(response, config.resultBytesMax)
      const result = sealResult(deps.seal, item, key, text)
      const first = counters.attempts === 1 && over === null
      const settlement = await finish(call, 'DONE', {
        to: 'done',
        counters,
        note: noteOf(call, { effectRef, ...measured(outcome) }),
        guards: [reserve],
        writes: [settleLedger(key, 'done', 'acknowledged', effectRef, result)],
        attempt: first ? null : attemptOf(counters.attempts, startedAt, outcome, 'done', null, null),
      })
      if (!settlement.ok) await deps.witness.bear(call, key, effectRef, result)
      return
    }
    await settleFailure(call, outcome, verdict, counters, startedAt, over)
  }

  const settleFailure = async (
    call: Call,
    outcome: HttpOutcome,
    verdict: Extract<CallVerdict, { as: 'failed' }>,
    counters: Counters,
    startedAt: Instant,
    over: LedgerEntry | null,
  ) => {
    const { item, route, action, key } = call
    const error = errorTextInFull(outcome)
    const now = time.now()
    const step = decisions.decideFailure({
      class: verdict.class,
      effect: repeatsDoubt(call, over) ? 'maybe' : verdict.effect,
      idempotent: action.policy.idempotent,
      canRepeat: action.abilities.keyTtlMs !== null,
      probeAfterMs: action.abilities.probeAfterMs,
      counters,
      policy: route.document.retry,
      retryAfterMs: verdict.retryAfterMs,
      jitter: random.unit(),
      now,
      expiresAt: item.work.expiresAt,
    })
    const ledger =
      verdict.effect === 'none'
        ? settleNothing(call, over, neverSent(outcome) ? 'never-sent' : 'not-applied')
        : settleLedger(key, 'unknown', 'no-answer', null, null)
    const shown =
      step.step === 'again' && step.counters.attempts < counters.attempts ? 'waited' : outcomeWord(step)
    await carryOut(call, step, {
      counters,
      note: noteOf(call, { class: verdict.class, lastError: error, ...measured(outcome) }),
      guards: [reserveGuard(call.item, call.key)],
      writes: [ledger],
      attempt: attemptOf(counters.attempts, startedAt, outcome, shown, verdict.class, error),
    })
  }

  const carryOut = async (call: Call, step: FailureStep, decision: DecisionBase): Promise<Settlement> => {
    const failureClass = decision.note.class ?? 'unknown'
    switch (step.step) {
      case 'again': {
        const action = step.counters.attempts < decision.counters.attempts ? 'WAIT' : 'RETRY'
        return finish(call, action, {
          ...decision,
          to: 'again',
          delayMs: step.delayMs,
          counters: step.counters,
        })
      }
      case 'park':
        return finish(call, 'PARKED', { ...decision, to: 'parked' })
      case 'dead': {
        const error = decision.note.lastError ?? step.reason
        return finish(call, 'DEAD_LETTERED', {
          ...decision,
          to: 'dead',
          class: failureClass,
          reason: step.reason,
          error,
        })
      }
    }
  }

  /** A crash left our own reserve: the call may have been made. It counts as one, and is looked at afresh. */
  const declareDoubt = async (call: Call, entry: LedgerEntry): Promise<Round> => {
    const counters = { ...countersOf(call.item), attempts: call.item.work.attempts + 1 }
    const error = 'the node stopped between reserve and answer; the call may have been made'
    const settlement = await finish(call, 'UNKNOWN', {
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

  const probe = async (call: Call, entry: LedgerEntry): Promise<Round> => {
    const { item, action, key, scope } = call
    const prober = action.probe
    if (prober === null) return park(call, entry, 'the outcome is unknown and cannot be asked for')
    const answer = await askProbe(prober, scope, {
      http,
      timeoutMs: action.abilities.timeoutMs,
      maxResponseBytes: config.responseBytesMax,
    })
    if (answer.effect === 'found') {
      return finishProved(call, entry, 'probe', scrubOrNull(item.event, answer.effectRef))
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
    return waitAgain(call, entry, SHORT_WAIT_MS * 2 ** Math.min(item.work.waits, 8), answer.error)
  }

  /** The effect is there: by this item (done) or by an earlier one (skipped, with a pointer). */
  const finishKnown = async (
    call: Call,
    entry: LedgerEntry,
    own: boolean,
    proved: { readonly guards: readonly Guard[]; readonly writes: readonly Write[] } = NOTHING,
  ): Promise<Round> => {
    const effectRef = own ? entry.effectRef : (entry.effectRef ?? entry.work)
    const settlement = await finish(call, own ? 'DONE' : 'DEDUPE_HIT', {
      to: own ? 'done' : 'skipped',
      counters: countersOf(call.item),
      note: noteOf(call, { effectRef }),
      ...proved,
      attempt: null,
    })
    return roundAfter(settlement)
  }

  /** A doubt is settled: the effect turned out to be there. */
  const finishProved = (
    call: Call,
    entry: LedgerEntry,
    proof: 'acknowledged' | 'probe',
    effectRef: string | null,
  ): Promise<Round> =>
    finishKnown(call, { ...entry, effectRef }, entry.work === call.item.work.id, {
      guards: [ledgerGuard(entry)],
      writes: [settleLedger(call.key, 'done', proof, effectRef, entry.result)],
    })

  const waitAgain = async (call: Call, entry: LedgerEntry, delayMs: number, why: string): Promise<Round> => {
    if (time.now() + delayMs >= call.item.work.expiresAt) return exhausted(call, entry, 'expired')
    await stepAside(call, delayMs, why)
    return 'finished'
  }

  const stepAside = async (call: Call, delayMs: number, why: string): Promise<void> => {
    const { item } = call
    await finish(call, 'WAIT', {
      to: 'again',
      delayMs,
      counters: { ...countersOf(item), waits: item.work.waits + 1 },
      note: noteOf(call, { class: item.work.class, lastError: why }),
      guards: [],
      writes: [],
      attempt: null,
    })
  }

  const park = async (call: Call, entry: LedgerEntry, why: string): Promise<Round> => {
    const settlement = await finish(call, 'PARKED', {
      to: 'parked',
      counters: countersOf(call.item),
      note: noteOf(call, { class: 'unknown', lastError: why }),
      guards: [ledgerGuard(entry)],
      writes: [],
      attempt: null,
    })
    return roundAfter(settlement)
  }

  const exhausted = async (
    call: Call,
    entry: LedgerEntry | null,
    reason: 'cap_reached' | 'expired' | 'crash_loop',
  ): Promise<Round> => {
    const { item, action } = call
    const own = entry !== null && entry.work === item.work.id
    const inDoubt =
      own && (entry.state === 'unknown' || entry.state === 'reserved') && !action.policy.idempotent
    const writes =
      own && entry.state === 'reserved' ? [settleLedger(call.key, 'unknown', 'crash', null, null)] : []
    const failureClass = inDoubt
      ? 'unknown'
      : reason === 'crash_loop'
        ? 'poison'
        : (item.work.class ?? 'transient')
    const settlement = await carryOut(call, decideExhausted(inDoubt, reason), {
      counters: countersOf(item),
      note: noteOf(call, { class: failureClass, lastError: item.work.lastError ?? EXHAUSTED[reason] }),
      guards: entry === null ? [{ g: 'unreserved', key: call.key }] : [ledgerGuard(entry)],
      writes,
      attempt: null,
    })
    return roundAfter(settlement)
  }

  const finish = async (call: Call, action: string, decision: Decision): Promise<Settlement> => {
    const settlement = await settler.settle(call.item, call.route, decision)
    const { note } = decision
    const point = action === 'DEDUPE_HIT' ? 'dedupe' : action === 'DEAD_LETTERED' ? 'dead-letter' : 'effect'
    log.control(
      lineOf(point, settlement.ok ? action : 'STALE', call.item.event, {
        route: call.route.document.name,
        work: call.item.work.id,
        target: hostOf(call.request.url),
        key: call.key,
        attempt: decision.counters.attempts,
        class: note.class,
        durationMs: note.durationMs,
        httpStatus: note.httpStatus,
        message: withoutWords(note.lastError ?? ''),
      }),
    )
    return settlement
  }

  const poison = async (call: Call): Promise<void> => {
    const { work } = call.item
    const entry = await store.forTenant(work.tenant).ledger(call.key)
    await inRounds(call, entry, (found) =>
      isProved(found) ? stepOnce(call, found) : exhausted(call, found, 'crash_loop'),
    )
  }

  return { run, poison }
}

const NOTHING = { guards: [], writes: [] } as const

const EXHAUSTED = {
  cap_reached: 'all attempts of the retry profile are used up',
  expired: 'it waited longer than it may',
  crash_loop: 'the node stopped each time while this item ran alone',
} as const
