// Runs actions inside the process: functions and emitted events. Their ledger entry, their result and the emitted
// events are one commit with the job's end. External effects of a function go through `ctx.effect`
// (function-effects.ts).

import type { EmitAction, FunctionAction } from '../../../core/effects/action/index.ts'
import { failedFunction, failureText, findJsonFault } from '../../../core/effects/function/index.ts'
import { keyOfGeneration, type LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type Ids, type InstanceId } from '../../../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../../core/foundation/json/index.ts'
import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import { CodeRefusedError, type FunctionOutcome } from '../../../ports/code.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import type { EventPlan, PlanEvent, Planned, StoreTime, UnitOfWork } from '../../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../../config.ts'
import { type Emitted, findEmitFault, makeEmitted, planEmitted } from '../../events/index.ts'
import type { Lease } from '../../leases/index.ts'
import { lineOf } from '../../observe/index.ts'
import { encryptResult, scrubOf } from '../../secrets/index.ts'
import {
  type Decision,
  done,
  SETTLE_MARGIN_MS,
  type Settlement,
  type Settler,
  skipped,
} from '../../settlement/index.ts'
import type { InternalCall } from '../call.ts'
import { countersOf, isFirstRun, ledgerGuard, newEntry, unreservedGuard } from '../call-outcome.ts'
import type { FunctionConnections } from './connection-caller.ts'
import type { FunctionEffects } from './function-effects.ts'
import type { FunctionEnds } from './function-end.ts'
import { FunctionRun, type FunctionTools } from './function-run.ts'

export interface InternalActions {
  /** Ends the job if the ledger has its effect already; not needed for a job that is fresh. */
  endKnown(call: InternalCall): Promise<boolean>
  /** Parks a job that may not run again, if the outcome of one of its function's effects is unknown. */
  parkUnknown(call: InternalCall, error: string): Promise<boolean>
  runFunction(call: InternalCall, action: FunctionAction): Promise<void>
  runEmit(call: InternalCall, action: EmitAction): Promise<void>
  /** Done, with its ledger entry, unless the ledger knows the key. */
  complete(call: InternalCall, result: string | null, startedAt: number, extra: Extra): Promise<Settlement>
  /** After `complete`: an obstacle ends the job too, or puts it back. */
  settleKnown(call: InternalCall, settlement: Settlement): Promise<void>
}

/** What a completed action adds to its ledger entry. */
export interface Extra {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  /** What else ends with the job; their writes are among `writes`. Omitted: nothing. */
  readonly plans?: readonly Planned[]
  /** Its result. */
  readonly said?: JsonValue
  /** The instance that a step started and waits for. */
  readonly waitsFor?: InstanceId
}

export interface InternalFailure {
  readonly class: FailureClass
  readonly error: string
  readonly retryAfterMs: number | null
}

/** Events that one run may emit: they are one commit with its end. */
const EMITTED_MAX = 100
const EMITTED_LENGTH_MAX = 1_048_576

export function makeInternalActions(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'code' | 'log' | 'encryption'> & {
    readonly ids: Ids
    readonly settler: Settler
    readonly lease: Lease
    readonly time: StoreTime
    readonly effects: FunctionEffects
    readonly ends: FunctionEnds
    readonly connections: FunctionConnections
    readonly plan: PlanEvent
    readonly unitOfWork: Pick<UnitOfWork, 'settling' | 'release'>
    fail(call: InternalCall, failure: InternalFailure): Promise<void>
    hold(call: InternalCall, entry: LedgerEntry): Promise<void>
  },
  config: Pick<EngineConfig, 'resultBytesMax'>,
): InternalActions {
  const { store, clock, code, log, settler, lease, time, effects, ends } = deps

  /** Done, unless the ledger knows the key: then the first effect stands and this job points to it. */
  const complete: InternalActions['complete'] = (call, result, startedAt, extra) => {
    const settle = () => completeFree(call, result, startedAt, extra, asIs)
    return extra.plans === undefined ? settle() : deps.unitOfWork.settling(extra.plans, settle)
  }

  const completeFree = <Value>(
    call: InternalCall,
    result: string | null,
    startedAt: number,
    extra: Extra,
    then: (settlement: Settlement) => Value | Promise<Value>,
  ): Promise<Value> =>
    completeOver(call, result, startedAt, extra, unreservedGuard(call.key), (settlement) => {
      if (settlement.ok || settlement.why === 'stale' || settlement.found?.f !== 'ledger')
        return then(settlement)
      const { entry } = settlement.found
      const isFree = entry.state === 'released' || (entry.state === 'done' && isRepetition(call, entry))
      if (!isFree) return then(settlement)
      return completeOver(call, result, startedAt, extra, ledgerGuard(entry), then)
    })

  const completeOver = <Value>(
    call: InternalCall,
    result: string | null,
    startedAt: number,
    extra: Extra,
    free: Guard,
    then: (settlement: Settlement) => Value | Promise<Value>,
  ): Promise<Value> => {
    const { item, route, key } = call
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const durationMs = Math.round(clock.monotonic() - startedAt)
    const note = { ...EMPTY_NOTE, key, durationMs }
    const entry = newEntry(item, key)
    const first = counters.attempts === 1
    const decision: Decision = {
      to: 'done',
      counters,
      note,
      guards: [free, ...extra.guards],
      writes: [
        {
          w: 'ledger.done',
          entry,
          effectRef: null,
          result: encryptResult(deps.encryption, item, key, result),
        },
        ...extra.writes,
      ],
      attempt: first
        ? null
        : {
            number: counters.attempts,
            startedAt: clock.now() - durationMs,
            durationMs,
            outcome: 'done',
            class: null,
            httpStatus: null,
            error: null,
          },
      ...(extra.said === undefined ? {} : { said: extra.said }),
      ...(extra.waitsFor === undefined ? {} : { waitsFor: extra.waitsFor }),
    }
    return settler.settle(item, route, decision, (settlement) => {
      if (settlement.ok) report(call, 'DONE', counters.attempts, durationMs)
      return then(settlement)
    })
  }

  const report = (call: InternalCall, action: string, attempt: number, durationMs: number | null) => {
    const { item, route, key } = call
    const facts = {
      route: route.document.name,
      work: item.work.id,
      definition: item.work.definition,
      key,
      attempt,
      durationMs,
    }
    log.control(lineOf(action === 'DEDUPE_HIT' ? 'dedupe' : 'effect', action, item.event, facts))
  }

  /** Handles the obstacle to an internal action. */
  const settleKnown: InternalActions['settleKnown'] = async (call, settlement) => {
    if (settlement.ok || settlement.why === 'stale') return
    const entry = settlement.found?.f === 'ledger' ? settlement.found.entry : null
    if (entry !== null && entry.state !== 'done') return deps.hold(call, entry)
    // Either the ledger has the effect, or an emitted event is known by its dedup key: both are the same effect.
    const own = entry === null || entry.work === call.item.work.id
    const effectRef = own ? (entry?.effectRef ?? null) : (entry.effectRef ?? entry.work)
    const saying = {
      counters: countersOf(call.item),
      note: { ...EMPTY_NOTE, key: call.key, effectRef },
    }
    const ended = await settler.settle(call.item, call.route, own ? done(saying) : skipped(saying))
    if (ended.ok) report(call, own ? 'DONE' : 'DEDUPE_HIT', call.item.work.attempts, null)
  }

  const endKnown: InternalActions['endKnown'] = async (call) => {
    const entry = await store.forTenant(call.item.work.tenant).ledger(call.key)
    if (entry?.state !== 'done' || isRepetition(call, entry)) return false
    await settleKnown(call, { ok: false, why: 'guard', index: 0, found: { f: 'ledger', entry } })
    return true
  }

  const tools: FunctionTools = {
    clock,
    log,
    effect: effects.perform,
    connection: deps.connections.caller,
    emit(run, subject, data) {
      const refusal = run.refusal()
      if (refusal !== null) throw new Error(refusal)
      const named = String(subject)
      const fault =
        findEmitFault(run.call.item, named)?.error ??
        findJsonFault(data === undefined ? null : data, 'the data')
      if (fault !== null) throw terminal(`emit('${named.slice(0, 200)}'): ${fault}`)
      run.emitted ??= []
      const text = stringifyJson((data ?? null) as JsonValue)
      run.emittedLength += text.length
      if (run.emitted.length >= EMITTED_MAX || run.emittedLength > EMITTED_LENGTH_MAX) {
        throw terminal(
          `one run may emit ${EMITTED_MAX} events of ${EMITTED_LENGTH_MAX} bytes together: emit one that others work off`,
        )
      }
      // Parsed back from text: the function may change its object before the run ends.
      run.emitted.push(makeEmitted(named, parseJson(text)))
    },
    heartbeat(run, detail) {
      if (run.refusal() !== null) return
      const { item, route } = run.call
      if (detail !== undefined) {
        const fields = {
          route: route.document.name,
          work: item.work.id,
          detail: scrubOf(item.event)(shown(detail)),
        }
        log.info('function.heartbeat', fields)
      }
      // Called before the function first waited: its timeout has not started.
      if (run.deadline === 0) return
      const saidAt = clock.monotonic()
      const givenMs = Math.min(run.action.timeoutMs, latestEnd(run) - time.now())
      // Extend the timeout only if the node's lease lasts as long.
      void Promise.resolve(lease.covers(item.owner, givenMs + SETTLE_MARGIN_MS)).then((isCovered) => {
        if (isCovered && !run.isLate) run.deadline = Math.max(run.deadline, saidAt + givenMs)
      })
    },
  }

  /** Checked at run time: a function that was open when the route was applied may be closed by now. */
  const refuseClosed = async (call: InternalCall, { codeHash, name }: FunctionAction): Promise<boolean> => {
    const { tenant } = call.item.work
    let isOpen = false
    try {
      isOpen = await code.isOpen(codeHash, name, tenant)
    } catch (error) {
      if (error instanceof CodeRefusedError) throw error
      // Unknown so far, and nothing ran.
      await deps.fail(call, { class: 'transient', error: messageOf(error), retryAfterMs: null })
      return true
    }
    if (isOpen) return false
    const error = `there is no function \`${name}\` for this tenant any more`
    if (await ends.parkUnknown(call, error)) return true
    await deps.fail(call, { class: 'config', error, retryAfterMs: null })
    return true
  }

  /** In one turn up to the commit that ends the job, if the function returns at once and has started nothing. */
  const runFunction: InternalActions['runFunction'] = (call, action) =>
    call.item.work.tenant === DEFAULT_TENANT ? runOpen(call, action) : runIfOpen(call, action)

  const runIfOpen: InternalActions['runFunction'] = async (call, action) => {
    if (!(await refuseClosed(call, action))) await runOpen(call, action)
  }

  const runOpen: InternalActions['runFunction'] = (call, action) => {
    const startedAt = clock.monotonic()
    const run = new FunctionRun(call, action, tools)
    const ran = code.run(action.codeHash, action.name, action.input(call.scope), run)
    const isOver = !(ran instanceof Promise) && run.open === 0 && run.effects === null
    if (!isOver || run.obstacles !== null || !isFirstRun(call.item)) return endLater(run, ran, startedAt)
    run.isOver = true
    run.end()
    return endAsSaid(run, ran, startedAt)
  }

  const endLater = async (
    run: FunctionRun,
    ran: FunctionOutcome | Promise<FunctionOutcome>,
    startedAt: number,
  ): Promise<void> => {
    try {
      const outcome = ran instanceof Promise || run.open > 0 ? await untilOver(run, ran) : ran
      run.isOver = true
      if (run.obstacles !== null || !isFirstRun(run.call.item)) {
        if (await ends.endStopped(run, outcome)) return
      }
      await endAsSaid(run, outcome, startedAt)
    } finally {
      run.end()
    }
  }

  const endAsSaid = (run: FunctionRun, outcome: FunctionOutcome, startedAt: number): Promise<void> => {
    const { call } = run
    if (outcome.kind === 'failed') {
      return deps.fail(call, {
        class: outcome.how === 'terminal' ? 'validation' : 'transient',
        error: failureText(outcome),
        retryAfterMs: outcome.afterMs,
      })
    }
    const text = stringifyJson(outcome.value)
    const result = text.length > config.resultBytesMax ? null : text
    const settle = (settlement: Settlement) => (settlement.ok ? undefined : settleKnown(call, settlement))
    if (run.emitted === null) {
      return completeFree(
        call,
        result,
        startedAt,
        { guards: NONE, writes: NONE, said: outcome.value },
        settle,
      )
    }
    const plans = planAllEmitted(call, run.emitted)
    return complete(call, result, startedAt, {
      guards: plans.map(({ event }) => ({ g: 'dedup', source: event.source, key: event.dedupKey })),
      writes: plans.flatMap(({ writes }) => writes),
      plans,
      said: outcome.value,
    }).then(settle)
  }

  const planAllEmitted = (call: InternalCall, emitted: readonly Emitted[]): readonly EventPlan[] => {
    const plans: EventPlan[] = []
    try {
      for (const [index, one] of emitted.entries())
        plans.push(planEmitted(deps, call.item, one, `${keySent(call)}#${index}`))
      return plans
    } catch (error) {
      deps.unitOfWork.release(plans)
      throw error
    }
  }

  /** The function has returned and everything it started has ended, or its time is over; requests to the store are awaited. */
  const untilOver = async (
    run: FunctionRun,
    ran: FunctionOutcome | Promise<FunctionOutcome>,
  ): Promise<FunctionOutcome> => {
    const outcome = await new Promise<FunctionOutcome>((resolve, reject) => {
      const { timeoutMs } = run.action
      run.deadline = clock.monotonic() + timeoutMs
      let cancel: () => void = () => {}
      const arm = (delayMs: number) => {
        cancel = clock.after(delayMs, () => {
          // A heartbeat has moved the deadline.
          const leftMs = run.deadline - clock.monotonic()
          if (leftMs > 0) return arm(leftMs)
          run.isHeldByStore = run.storeWaitMs(clock.monotonic()) >= timeoutMs / 2
          run.abort()
          const why = `it took longer than ${timeoutMs} ms`
          effects.abandon(run, why)
          resolve({ ...failedFunction('again', why), isTimeout: true })
        })
      }
      arm(timeoutMs)
      const over = async (): Promise<FunctionOutcome> => {
        const said = await ran
        if (run.open > 0) await run.idle()
        return said
      }
      over()
        .finally(() => cancel())
        .then(resolve, reject)
    })
    if (run.open > 0) await run.idle()
    return outcome
  }

  const runEmit: InternalActions['runEmit'] = (call, action) => {
    const { item, scope } = call
    const key = keySent(call)
    const startedAt = clock.monotonic()
    const { subject, data } = action.render(scope)
    const fault = findEmitFault(item, subject)
    if (fault !== null) return deps.fail(call, { ...fault, retryAfterMs: null })
    const plan = planEmitted(deps, item, makeEmitted(subject, data), key)
    return complete(call, stringifyJson({ eventId: plan.event.id }), startedAt, {
      guards: [{ g: 'dedup', source: plan.event.source, key }],
      writes: plan.writes,
      plans: [plan],
    }).then((settlement) => (settlement.ok ? undefined : settleKnown(call, settlement)))
  }

  return { endKnown, parkUnknown: ends.parkUnknown, runFunction, runEmit, complete, settleKnown }
}

/** The job repeats an effect that the ledger has, on purpose. */
function isRepetition({ item }: InternalCall, entry: LedgerEntry): boolean {
  return entry.generation < item.work.generation
}

function keySent({ item, key }: InternalCall): string {
  return keyOfGeneration(key, item.work.generation)
}

const NONE: readonly never[] = []

function asIs(settlement: Settlement): Settlement {
  return settlement
}

/** How far a heartbeat may move the deadline: to the job's own, and no call may outlive the key that it relies on. */
function latestEnd(run: FunctionRun): number {
  let latest = run.call.item.work.expiresAt
  for (const { phase, until } of run.effects?.values() ?? []) {
    if (phase === 'called' && until !== null) latest = Math.min(latest, until)
  }
  return latest
}

const DETAIL_LENGTH_MAX = 1_000

/** Any detail is shown as far as possible; the heartbeat counts in any case. */
function shown(detail: unknown): string {
  if (typeof detail === 'string') return detail.slice(0, DETAIL_LENGTH_MAX)
  try {
    return (stringifyJson(detail as JsonValue) ?? String(detail)).slice(0, DETAIL_LENGTH_MAX)
  } catch {
    return `a ${typeof detail} that cannot be shown`
  }
}

/** Recognised by its marker, like the errors of src/sdk. */
function terminal(message: string): Error {
  return Object.assign(new Error(message), {
    [Symbol.for('millrace.consequence')]: { how: 'terminal', afterMs: null },
  })
}
