// `ctx.effect`: one external effect of a function, with its own ledger entry. Check, reserve, call, settle, as for the
// call of a route; but the function's own code makes the call, and goes on afterwards.
//
// Invariants: N3 no call without an open reserve of this job and epoch. N4 done only on an acknowledgement, a probe or
// evidence. N5 a stale owner writes evidence and nothing else. A stopped run starts nothing more.

import { keyForHeader } from '../../../core/effects/action/index.ts'
import { outcomeOfError } from '../../../core/effects/function/index.ts'
import {
  acknowledgedRef,
  acknowledgedResult,
  keyOfGeneration,
  type LedgerEntry,
} from '../../../core/effects/ledger/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { EffectOptions } from '../../../ports/code.ts'
import type { Write } from '../../../ports/store.ts'
import { type Commits, retrying, type StoreTime } from '../../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../../config.ts'
import type { Lease } from '../../leases/index.ts'
import { lineOf } from '../../observe/index.ts'
import { encryptResult, openResult, scrubOrNull } from '../../secrets/index.ts'
import { type Decisions, type Obstacle, SETTLE_MARGIN_MS, SHORT_WAIT_MS } from '../../settlement/index.ts'
import { isFresh, leaseGuard, ledgerGuard, newEntry, reserveGuard, settleLedger } from '../call-outcome.ts'
import type { LateAcks } from '../late-acks.ts'
import { checkEffect, keepResult, readResult, refOfResult } from './function-effect-values.ts'
import { isUnknown, makeObstacles } from './function-obstacles.ts'
import type { EffectBody, FunctionRun, OpenEffect } from './function-run.ts'

export interface FunctionEffects {
  /** Returns the effect's result, of this run or an earlier one. Throws errors that the function must not swallow. */
  perform(run: FunctionRun, name: string, body: EffectBody, options: EffectOptions<unknown>): Promise<unknown>
  /** The time is over: the function's code is no longer awaited, and its outcome is unknown. */
  abandon(run: FunctionRun, why: string): void
}

/** What `effect` throws when the run cannot go on. It carries no information: the engine remembers why. */
class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

/** The ledger has something new, and the effect is checked again. */
type Round = { readonly entry: LedgerEntry | null } | { readonly value: unknown }

const ROUNDS_MAX = 6

export function makeFunctionEffects(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'random' | 'log' | 'encryption'> & {
    readonly commits: Commits
    readonly lease: Lease
    readonly time: StoreTime
    readonly decisions: Decisions
    readonly lateAcks: LateAcks
  },
  config: Pick<EngineConfig, 'sendWithinMs' | 'resultBytesMax'>,
): FunctionEffects {
  const { store, clock, log, commits, lease, time, decisions } = deps
  const obstacles = makeObstacles(deps)

  const perform: FunctionEffects['perform'] = async (run, name, body, options) => {
    const refusal = run.refusal()
    if (refusal !== null) throw new StoppedError(refusal)
    const checked = checkEffect(run, name, body, options)
    if (!checked.ok) {
      return stop(run, obstacles.misuse(run, checked.problem))
    }
    const { effect } = checked
    run.begin(effect)
    askLedger(effect)
    try {
      return await inRounds(run, effect, body, options)
    } finally {
      effect.ledgerSince = Number.POSITIVE_INFINITY
      run.finish(effect)
    }
  }

  const askLedger = (effect: OpenEffect) => {
    effect.phase = 'ledger'
    effect.ledgerSince = clock.monotonic()
  }

  const inRounds = async (
    run: FunctionRun,
    effect: OpenEffect,
    body: EffectBody,
    options: EffectOptions<unknown>,
  ): Promise<unknown> => {
    const { item } = run.call
    // In the middle of a run, giving up after a failed read would lose what the run has done so far.
    const reads = store.forTenant(item.work.tenant)
    let entry = isFresh(item) ? null : await commits.retryUntilAvailable(() => reads.ledger(effect.key))
    const runOnce = async (retry: () => Promise<unknown>): Promise<unknown> => {
      const refusal = run.refusal()
      if (refusal !== null) throw new StoppedError(refusal)
      const next = await stepOnce(run, effect, body, options, entry)
      if ('value' in next) return next.value
      entry = next.entry
      return retry()
    }
    return await retrying(ROUNDS_MAX, runOnce, () =>
      wait(run, effect, SHORT_WAIT_MS, 'the ledger entry keeps changing', isUnknown(run, effect, entry)),
    )
  }

  const stepOnce = async (
    run: FunctionRun,
    effect: OpenEffect,
    body: EffectBody,
    options: EffectOptions<unknown>,
    entry: LedgerEntry | null,
  ): Promise<Round> => {
    if (entry === null) return reserveAndCall(run, effect, body, null)
    const { work } = run.call.item
    const step = decisions.decideEffect({
      entry: withLastSend(entry, effect.abilities.timeoutMs),
      work: work.id,
      epoch: work.epoch,
      consumer: work.consumer,
      waits: work.waits,
      generation: work.generation,
      abilities: effect.abilities,
      now: time.now(),
    })
    switch (step.step) {
      case 'reserve':
        return reserveAndCall(run, effect, body, entry)
      case 'hit':
        report(run, effect, 'DEDUPE_HIT', null)
        return { value: resultOf(run, effect, entry) }
      case 'believe':
        return trustAcknowledgement(run, effect, entry)
      case 'doubt':
        return declareUnknown(run, effect, entry)
      case 'probe':
        return probe(run, effect, options, entry)
      case 'wait':
        return step.for === 'other'
          ? wait(run, effect, step.delayMs, 'another item holds the key', false)
          : wait(run, effect, step.delayMs, 'not yet time to ask', true)
      case 'park':
        return stop(run, obstacles.park(effect, entry))
    }
  }

  const reserveAndCall = async (
    run: FunctionRun,
    effect: OpenEffect,
    body: EffectBody,
    over: LedgerEntry | null,
  ): Promise<Round> => {
    const { item, route } = run.call
    const { work } = item
    // The first call of an effect is not a repetition, however often the function restarted for other effects.
    if (over !== null && work.attempts >= route.document.retry.attempts) {
      return stop(run, obstacles.exhausted(run, effect, over, 'cap_reached'))
    }
    if (time.now() >= work.expiresAt) {
      return stop(run, obstacles.exhausted(run, effect, over, 'expired'))
    }
    // Reserve last: everything that could still stop the call has been checked by now.
    if (!(await lease.covers(item.owner, config.sendWithinMs + run.action.timeoutMs + SETTLE_MARGIN_MS))) {
      const error = 'the lease could not be made long enough for the function'
      return wait(run, effect, SHORT_WAIT_MS, error, isUnknown(run, effect, over))
    }
    const askedAt = clock.monotonic()
    const result = await commits.firmly(
      work.tenant,
      [leaseGuard(item), over === null ? { g: 'unreserved', key: effect.key } : ledgerGuard(over)],
      [{ w: 'ledger.reserve', entry: newEntry(item, effect.key), sendWithinMs: config.sendWithinMs }],
    )
    if (!result.ok) {
      if (result.guard === 0) return stale(run, effect)
      const found = result.found?.f === 'ledger' ? result.found.entry : null
      // Refused by its own first attempt, whose response was lost: nothing was called yet.
      const isOurs =
        result.isRepeat === true &&
        found?.state === 'reserved' &&
        found.work === work.id &&
        found.epoch === work.epoch
      if (!isOurs) return { entry: found }
    }
    effect.over = over
    effect.until = repeatsUntil(effect, over)
    const isLate =
      clock.monotonic() - askedAt > config.sendWithinMs ||
      !lease.holds(item.owner) ||
      result.at >= work.expiresAt ||
      (effect.until !== null && result.at + config.sendWithinMs + effect.abilities.timeoutMs >= effect.until)
    const refusal = run.refusal()
    if (isLate || refusal !== null) {
      // Something else stopped the run meanwhile, or its time is over: release the key.
      await settleHeld(run, effect, settleNothing(effect, 'never-sent'))
      if (refusal !== null && !run.isLate && !repeatsUnknown(effect)) throw new StoppedError(refusal)
      return stop(run, obstacles.reservedLate(run, effect, repeatsUnknown(effect)))
    }
    return call(run, effect, body)
  }

  const call = async (run: FunctionRun, effect: OpenEffect, body: EffectBody): Promise<Round> => {
    const { item } = run.call
    const startedAt = clock.monotonic()
    effect.phase = 'called'
    let value: unknown
    try {
      value = await body(keySent(run, effect), run.signal)
    } catch (error) {
      if (isLeft(effect)) throw error
      askLedger(effect)
      await settleThrown(run, effect, error)
      throw error
    }
    const storable = keepResult(value, config.resultBytesMax)
    if (storable.text === null) {
      log.warn('function.result-not-kept', {
        route: run.call.route.document.name,
        work: item.work.id,
        effect: effect.name,
        error: storable.problem,
      })
    }
    const effectRef = scrubOrNull(item.event, refOfResult(value))
    const result = encryptResult(deps.encryption, item, effect.key, storable.text)
    if (isLeft(effect)) {
      // The job was settled without this effect: the result is evidence, and settles the unknown outcome.
      run
        .ended()
        .then(() => deps.lateAcks.recordLateAck(run.call, effect.key, effectRef, result))
        .catch((error) => log.warn('work.witness-lost', { work: item.work.id, error: messageOf(error) }))
      throw new StoppedError('the function took too long and was stopped')
    }
    askLedger(effect)
    const done = settleLedger(effect.key, 'done', 'acknowledged', effectRef, result)
    const settled = await commits.firmly(
      item.work.tenant,
      [leaseGuard(item), reserveGuard(item, effect.key)],
      [done],
    )
    const isDone = settled.ok || (settled.found?.f === 'ledger' && settled.found.entry.state === 'done')
    if (!isDone) {
      await deps.lateAcks.recordLateAck(run.call, effect.key, effectRef, result)
      return stale(run, effect)
    }
    report(run, effect, 'DONE', Math.round(clock.monotonic() - startedAt))
    return { value }
  }

  /**
   * `RetryableError` and `TerminalError` are the author's statement that nothing happened; any other error
   * states nothing. Neither does an error of the engine or of another effect of the run that was rethrown:
   * the call may have been made before it. The error of a call on a connection is the engine's statement
   * about that one call.
   */
  const settleThrown = async (run: FunctionRun, effect: OpenEffect, error: unknown): Promise<void> => {
    const isPartly = effect.acts > 0 && run.isOfCall(error)
    const isUnknownRepeated = isPartly && !effect.abilities.idempotent
    if (run.wasHeldBack(error) && !isUnknownRepeated) {
      await settleCalled(run, effect, isPartly)
      return
    }
    const outcome = outcomeOfError(error)
    if (outcome.kind !== 'failed') return
    const isNothing =
      outcome.how !== 'threw' && !run.wasTold(error) && !repeatsUnknown(effect) && !isUnknownRepeated
    if (!isNothing) {
      run.stop(obstacles.unknownOutcome(run, effect, outcome.message, outcome.afterMs))
      report(run, effect, 'UNKNOWN', null)
      return
    }
    run.callsInVain += 1
    await settleCalled(run, effect, isPartly)
  }

  /** The call that failed had no effect. `isPartly`: a call before it had one. */
  const settleCalled = async (run: FunctionRun, effect: OpenEffect, isPartly: boolean): Promise<void> => {
    const write = isPartly
      ? settleLedger(effect.key, 'unknown', 'no-answer', null, null)
      : settleNothing(effect, 'not-applied')
    await settleHeld(run, effect, write)
    report(run, effect, isPartly ? 'UNKNOWN' : 'RELEASED', null)
  }

  const declareUnknown = (run: FunctionRun, effect: OpenEffect, entry: LedgerEntry): never => {
    report(run, effect, 'UNKNOWN', null)
    return stop(run, obstacles.crashed(effect, entry))
  }

  const trustAcknowledgement = async (
    run: FunctionRun,
    effect: OpenEffect,
    entry: LedgerEntry,
  ): Promise<Round> => {
    const [effectRef, result] = [acknowledgedRef(entry), acknowledgedResult(entry)]
    const write = settleLedger(effect.key, 'done', 'acknowledged', effectRef, result)
    const next = await settleFound(run, effect, entry, write)
    if (next !== null) return next
    return { value: resultOf(run, effect, { ...entry, state: 'done', proof: 'acknowledged', result }) }
  }

  const probe = async (
    run: FunctionRun,
    effect: OpenEffect,
    options: EffectOptions<unknown>,
    entry: LedgerEntry,
  ): Promise<Round> => {
    effect.phase = 'probed'
    let value: unknown
    try {
      value = await options.probe?.(keySent(run, effect))
    } catch (error) {
      if (isLeft(effect)) throw error
      askLedger(effect)
      const delayMs = SHORT_WAIT_MS * 2 ** Math.min(run.call.item.work.waits, 8)
      return wait(run, effect, delayMs, `the probe gave no answer: ${messageOf(error)}`, true)
    }
    if (isLeft(effect)) throw new StoppedError('the function took too long and was stopped')
    askLedger(effect)
    if (value === undefined) {
      const write = settleLedger(effect.key, 'released', 'probe', null, null)
      const next = await settleFound(run, effect, entry, write)
      return next ?? { entry: { ...entry, state: 'released', proof: 'probe' } }
    }
    const { text } = keepResult(value, config.resultBytesMax)
    const { item } = run.call
    const effectRef = scrubOrNull(item.event, refOfResult(value))
    const result = encryptResult(deps.encryption, item, effect.key, text)
    const write = settleLedger(effect.key, 'done', 'probe', effectRef, result)
    const next = await settleFound(run, effect, entry, write)
    return next ?? { value }
  }

  /** null: settled. */
  const settleFound = async (
    run: FunctionRun,
    effect: OpenEffect,
    entry: LedgerEntry,
    write: Write,
  ): Promise<Round | null> => {
    const { item } = run.call
    const guards = [leaseGuard(item), ledgerGuard(entry)]
    const result = await commits.firmly(item.work.tenant, guards, [write])
    if (result.ok) return null
    if (result.guard === 0) return stale(run, effect)
    return { entry: result.found?.f === 'ledger' ? result.found.entry : null }
  }

  /** Settles our own reserve, while the job is leased to this node. */
  const settleHeld = async (run: FunctionRun, effect: OpenEffect, write: Write): Promise<void> => {
    const { item } = run.call
    const guards = [leaseGuard(item), reserveGuard(item, effect.key)]
    const result = await commits.firmly(item.work.tenant, guards, [write])
    if (!result.ok && result.guard === 0) stale(run, effect)
  }

  /**
   * This call had no effect. That proves nothing about an earlier call that it repeats: the outcome of that
   * one stays unknown.
   */
  const settleNothing = (effect: OpenEffect, proof: 'never-sent' | 'not-applied'): Write =>
    repeatsUnknown(effect)
      ? settleLedger(effect.key, 'unknown', 'no-answer', null, null)
      : settleLedger(effect.key, 'released', proof, null, null)

  /** The stored result of the effect, for the function to go on with. */
  const resultOf = (run: FunctionRun, effect: OpenEffect, entry: LedgerEntry): unknown => {
    const opened = openResult(deps.encryption, entry)
    const read = opened.ok ? readResult({ ...entry, result: opened.text }) : opened
    if (read.ok) return read.value
    return stop(run, obstacles.misuse(run, `effect '${effect.name}' is done, but ${read.problem}`))
  }

  const wait = (
    run: FunctionRun,
    effect: OpenEffect,
    delayMs: number,
    error: string,
    outcomeUnknown: boolean,
  ): never => stop(run, obstacles.wait(run, effect, delayMs, error, outcomeUnknown))

  const stale = (run: FunctionRun, effect: OpenEffect): never => stop(run, obstacles.stale(effect))

  const stop = (run: FunctionRun, obstacle: Obstacle): never => {
    run.stop(obstacle)
    throw new StoppedError(`the run was stopped: ${obstacle.error}`)
  }

  const abandon: FunctionEffects['abandon'] = (run, why) => {
    for (const { effect, wasCalled } of run.leave()) {
      run.stop(
        wasCalled ? obstacles.unknownOutcome(run, effect, why, null) : obstacles.unanswered(effect, why),
      )
      if (wasCalled) report(run, effect, 'UNKNOWN', null)
    }
  }

  const report = (run: FunctionRun, effect: OpenEffect, action: string, durationMs: number | null) => {
    const { item, route } = run.call
    log.control(
      lineOf(action === 'DEDUPE_HIT' ? 'dedupe' : 'effect', action, item.event, {
        route: route.document.name,
        work: item.work.id,
        definition: item.work.definition,
        key: effect.key,
        attempt: run.attempt,
        durationMs,
      }),
    )
  }

  return { perform, abandon }
}

function keySent(run: FunctionRun, effect: OpenEffect): string {
  return keyForHeader(keyOfGeneration(effect.key, run.call.item.work.generation))
}

function isLeft(effect: OpenEffect): boolean {
  return effect.phase === 'left'
}

function repeatsUnknown({ over, abilities }: OpenEffect): boolean {
  return over?.state === 'unknown' && !abilities.idempotent
}

/** The key that a repeat relies on must outlive the call. */
function repeatsUntil({ abilities }: OpenEffect, over: LedgerEntry | null): Instant | null {
  if (over?.state !== 'unknown' || abilities.idempotent || abilities.keyTtlMs === null) return null
  return over.createdAt + abilities.keyTtlMs
}

/**
 * A function's call starts within the reserve's time, but a heartbeat may extend that: it may have been made
 * until its outcome was recorded as unknown.
 */
function withLastSend(entry: LedgerEntry, timeoutMs: number): LedgerEntry {
  if (entry.state !== 'unknown' || entry.settledAt === null) return entry
  return { ...entry, sendBy: Math.max(entry.sendBy ?? 0, entry.settledAt - timeoutMs) }
}
