// Makes the call: reserve, send, and settle the result.
//
// Invariants: N3 no call without an open reserve of this job and epoch. N4 done only on an acknowledgement.

import { effectRefOf, parseResponse } from '../../core/effects/action/index.ts'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import { type CallVerdict, type FailureClass, isTimeout } from '../../core/failures/failure/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type Counters, isUntried } from '../../core/queue/work/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Lease } from '../leases/index.ts'
import { encryptResult, scrubOrNull } from '../secrets/index.ts'
import {
  again,
  type Decision,
  type Decisions,
  decideNext,
  SETTLE_MARGIN_MS,
  SHORT_WAIT_MS,
} from '../settlement/index.ts'
import type { Call, Performed, Round } from './call.ts'
import type { CallEnds } from './call-ends.ts'
import {
  attemptOf,
  countersOf,
  errorTextInFull,
  hostOf,
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
  unreservedGuard,
  valueText,
} from './call-outcome.ts'
import type { FlowControl } from './flow-control-hooks.ts'
import type { LateAcks } from './late-acks.ts'
import { sendFor, verdictOf } from './send-request.ts'

export type Send = (call: Call, over: LedgerEntry | null) => Promise<Round>

export function makeReserveAndSend(
  deps: Pick<EngineBase, 'clock' | 'random' | 'http' | 'encryption' | 'commits' | 'time'> & {
    readonly lease: Lease
    readonly decisions: Decisions
    readonly lateAcks: LateAcks
    readonly callEnds: CallEnds
    readonly flowControl: FlowControl
  },
  config: Pick<EngineConfig, 'sendWithinMs' | 'responseBytesMax' | 'resultBytesMax'>,
): Send {
  const { clock, http, commits, lease, time, decisions, callEnds, flowControl } = deps

  const reserveAndSend: Send = async (call, over) => {
    const { item, action, route } = call
    if (item.work.attempts >= route.document.retry.attempts) {
      return callEnds.exhausted(call, over, 'cap_reached')
    }
    const host = hostOf(call.request.url)
    if (call.instead !== undefined) {
      flowControl.unused(item, route, host)
      const joined = await call.instead(over)
      return joined === 'finished' || 'entry' in joined
        ? joined
        : callEnds.waitAgain(call, over, joined.delayMs, joined.why)
    }
    const preparing = flowControl.prepare(item, route)
    if (preparing !== null) await preparing
    // Read secrets before the last check of the lease: between that and the call nothing waits for a vault.
    const perform = call.prepare === undefined ? call.perform : await call.prepare()
    const closed = flowControl.mayCall(item, route, host)
    if (closed !== null) return callEnds.waitAgain(call, over, closed.delayMs, closed.why)
    let isMade = false
    try {
      // Reserve last: everything that could still stop the call has been checked by now.
      const reserved = await reserve(call, over)
      if (reserved === 'finished' || 'entry' in reserved) return reserved
      isMade = true
      const startedAt = time.now()
      const { sendBy } = reserved
      const performed = await (perform?.(sendBy) ?? sendOne(call, action.abilities.timeoutMs))
      reportToFlowControl(call, host, performed)
      await settleCall(call, performed, startedAt, over)
      return 'finished'
    } finally {
      if (!isMade) flowControl.unused(item, route, host)
    }
  }

  /** `sendBy`: the reserve is ours, and the call may start until then, by the monotonic clock. */
  const reserve = async (
    call: Call,
    over: LedgerEntry | null,
  ): Promise<Round | { readonly sendBy: number }> => {
    const { item, action, key } = call
    const neededMs = config.sendWithinMs + action.abilities.timeoutMs + SETTLE_MARGIN_MS
    const covers = lease.covers(item.owner, neededMs)
    if (!(covers instanceof Promise ? await covers : covers)) {
      await callEnds.stepAside(call, SHORT_WAIT_MS, 'the lease could not be made long enough for the call')
      return 'finished'
    }
    const beside = call.beside === undefined ? null : await call.beside()
    if (beside?.ok === false) return callEnds.waitAgain(call, over, beside.delayMs, beside.why)
    const askedAt = clock.monotonic()
    const held: Guard = over === null ? unreservedGuard(key) : ledgerGuard(over)
    const result = await commits.firmly(
      item.work.tenant,
      [leaseGuard(call.item), held, ...(beside?.guards ?? [])],
      [
        { w: 'ledger.reserve', entry: newEntry(call.item, key), sendWithinMs: config.sendWithinMs },
        ...(beside?.writes ?? []),
      ],
    )
    if (!result.ok) {
      if (result.guard === 0) return 'finished'
      // The lock beside it was taken meanwhile: check again.
      if (result.guard > 1) return { entry: over }
      const found = result.found?.f === 'ledger' ? result.found.entry : null
      // Refused by its own first attempt, whose response was lost: nothing was sent yet. Without such an attempt the
      // reserve is one that this node forgot, and its call may have been made.
      const ours =
        result.isRepeat === true &&
        found?.state === 'reserved' &&
        found.work === item.work.id &&
        found.epoch === item.work.epoch
      if (!ours) return { entry: found }
    }
    // Counted from the request: the store's own time started later.
    const sendBy = askedAt + config.sendWithinMs
    const isLate = clock.monotonic() > sendBy || result.at >= item.work.expiresAt || !lease.holds(item.owner)
    if (!isLate && !isForgetting(call, over, result.at)) return { sendBy }
    await release(call, over)
    return 'finished'
  }

  /** The key that a repeat relies on would not outlive the call: time has passed since that was decided. */
  const isForgetting = ({ action }: Call, over: LedgerEntry | null, at: Instant): boolean => {
    const { idempotent, keyTtlMs, timeoutMs } = action.abilities
    if (over?.state !== 'unknown' || idempotent || keyTtlMs === null) return false
    return at + config.sendWithinMs + timeoutMs >= over.createdAt + keyTtlMs
  }

  const sendOne = (call: Call, timeoutMs: number): Promise<Performed> => {
    const options = { timeoutMs, maxResponseBytes: config.responseBytesMax }
    return sendFor(call, http, call.request, options).then((sent) => {
      const verdict = verdictOf(sent, call.action.policy, { decisions, now: clock.now() })
      return { outcome: sent.outcome, verdict, ...(sent.error === null ? {} : { error: sent.error }) }
    })
  }

  const reportToFlowControl = (
    { item, route }: Call,
    host: string | null,
    { outcome, verdict, wait }: Performed,
  ) => {
    const isDone = verdict.as === 'done'
    const retryAfterMs = isDone ? null : verdict.retryAfterMs
    // A call that was not made says nothing about the host: a node that was to probe it leaves that to another.
    const isUnmade = outcome.kind === 'failed' && outcome.sent === 'no' && outcome.code === 'blocked'
    const callResult = {
      item,
      route,
      host: isUnmade ? null : host,
      class: isDone ? ('done' as const) : verdict.class,
      retryAfterMs,
    }
    flowControl.reportResult(wait === undefined ? callResult : { ...callResult, isSeenTo: true })
  }

  /** Too late to send: proof that nothing was sent now. */
  const release = async (call: Call, over: LedgerEntry | null) => {
    const { item } = call
    await callEnds.finish(
      call,
      'RETRY',
      again(SHORT_WAIT_MS, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: noteOf(call, { class: 'transient', lastError: 'the reserve took too long; nothing was sent' }),
        guards: [reserveGuard(call.item, call.key)],
        writes: [settleNothing(call, over, 'never-sent')],
      }),
    )
  }

  /**
   * This call had no effect. That proves nothing about an earlier call that it repeats: the outcome of that
   * one stays unknown.
   */
  const settleNothing = (call: Call, over: LedgerEntry | null, proof: 'never-sent' | 'not-applied'): Write =>
    repeatsUnknown(call, over)
      ? settleLedger(call.key, 'unknown', 'no-answer', null, null)
      : settleLedger(call.key, 'released', proof, null, null)

  const repeatsUnknown = ({ action }: Call, over: LedgerEntry | null): boolean =>
    over?.state === 'unknown' && !action.policy.idempotent

  const settleCall = (
    call: Call,
    performed: Performed,
    startedAt: Instant,
    over: LedgerEntry | null,
  ): Promise<unknown> => {
    const { item, key } = call
    const { outcome, verdict } = performed
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    if (verdict.as === 'failed') return settleFailure(call, performed, verdict, counters, startedAt, over)
    const response = outcome.kind === 'response' ? parseResponse(outcome) : null
    const named = performed.effectRef ?? (response === null ? null : effectRefOf(response))
    const effectRef = scrubOrNull(item.event, named)
    const { value } = performed
    const text =
      value !== undefined
        ? valueText(value, config.resultBytesMax)
        : response === null
          ? null
          : resultText(response, config.resultBytesMax)
    const result = encryptResult(deps.encryption, item, key, text)
    const first = counters.attempts === 1 && over === null
    const decision: Decision = {
      to: 'done',
      counters,
      note: noteOf(call, { effectRef, ...measured(outcome) }),
      guards: [reserveGuard(item, key)],
      writes: [settleLedger(key, 'done', 'acknowledged', effectRef, result)],
      attempt: first ? null : attemptOf(counters.attempts, startedAt, outcome, 'done', null, null),
      ...(value !== undefined ? { said: value } : response === null ? {} : { said: response }),
    }
    return callEnds.finish(call, 'DONE', decision, (settlement) =>
      settlement.ok ? undefined : deps.lateAcks.recordLateAck(call, key, effectRef, result),
    )
  }

  const settleFailure = async (
    call: Call,
    { outcome, error = errorTextInFull(outcome), wait }: Performed,
    verdict: Extract<CallVerdict, { as: 'failed' }>,
    counters: Counters,
    startedAt: Instant,
    over: LedgerEntry | null,
  ) => {
    const { item, route, action, key } = call
    const isUnknownRepeated = repeatsUnknown(call, over)
    if (wait !== undefined && verdict.effect === 'none') {
      if (await putBack(call, wait, verdict.class, outcome, startedAt, over)) return
    }
    const step = decideNext(deps, item, route.document.retry, {
      class: verdict.class,
      isTimeout: isTimeout(outcome),
      effect: isUnknownRepeated ? 'maybe' : verdict.effect,
      idempotent: action.policy.idempotent,
      canRepeat: action.abilities.keyTtlMs !== null,
      probeAfterMs: action.abilities.probeAfterMs,
      retryAfterMs: verdict.retryAfterMs,
    })
    const ledger =
      verdict.effect === 'none'
        ? settleNothing(call, over, neverSent(outcome) ? 'never-sent' : 'not-applied')
        : settleLedger(key, 'unknown', 'no-answer', null, null)
    const shown =
      step.step === 'again' && step.counters.attempts < counters.attempts ? 'waited' : outcomeWord(step)
    await callEnds.carryOut(call, step, {
      counters,
      note: noteOf(call, { class: verdict.class, lastError: error, ...measured(outcome) }),
      guards: [reserveGuard(item, key)],
      writes: [ledger],
      attempt: attemptOf(counters.attempts, startedAt, outcome, shown, verdict.class, error),
    })
  }

  /** False: it may not wait that long. */
  const putBack = async (
    call: Call,
    { delayMs, why }: NonNullable<Performed['wait']>,
    failureClass: FailureClass,
    outcome: Performed['outcome'],
    startedAt: Instant,
    over: LedgerEntry | null,
  ): Promise<boolean> => {
    const { item, key } = call
    const now = time.now()
    const expiresAt = waitsUntil(call, now)
    if (now + delayMs >= expiresAt) return false
    const proof = neverSent(outcome) ? 'never-sent' : 'not-applied'
    const counters = { ...countersOf(item), waits: item.work.waits + 1 }
    await callEnds.finish(call, 'WAIT', {
      to: 'again',
      delayMs,
      ...(expiresAt > item.work.expiresAt && { expiresInMs: expiresAt - now }),
      counters,
      note: noteOf(call, { class: failureClass, lastError: why, ...measured(outcome) }),
      guards: [reserveGuard(item, key)],
      writes: [settleNothing(call, over, proof)],
      attempt: attemptOf(item.work.attempts + 1, startedAt, outcome, 'waited', failureClass, why),
    })
    return true
  }

  return reserveAndSend
}

/**
 * Until when the job may wait while the cause of its failure is handled: a credential that a user has to
 * provide takes longer than a rate or a circuit. One limit for all its waits together, so that they end.
 */
function waitsUntil({ item: { work }, route }: Call, now: Instant): Instant {
  const { maxWaitMs } = route.document
  const begunAt = isUntried(work) ? now : work.createdAt
  const latest = begunAt + route.expiresInMs + maxWaitMs
  return Math.max(work.expiresAt, Math.min(work.expiresAt + maxWaitMs, latest))
}
