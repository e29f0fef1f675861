// Actions that stay inside the process: functions and emitted events. They need no reserve: their ledger entry, their
// result and what they caused are one commit.

import type { EmitAction, FunctionAction } from '../core/action/index.ts'
import { hashText } from '../core/definition/index.ts'
import type { NewEvent } from '../core/event/index.ts'
import type { Scope } from '../core/expression/index.ts'
import type { FailureClass } from '../core/failure/index.ts'
import type { EventId, Ids } from '../core/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/json/index.ts'
import type { LedgerEntry } from '../core/ledger/index.ts'
import type { Route } from '../core/route/index.ts'
import { parseSubject } from '../core/subject/index.ts'
import { DAY } from '../core/time/index.ts'
import { EMPTY_NOTE } from '../core/work/index.ts'
import type { FunctionContext, FunctionOutcome } from '../ports/code.ts'
import type { Guard, Write } from '../ports/store.ts'
import type { EngineConfig, EngineDeps } from './deps.ts'
import type { Decisions } from './effect.ts'
import type { Item } from './item.ts'
import { lineOf } from './lines.ts'
import { countersOf, ledgerGuard, newEntry } from './outcome.ts'
import type { EventPlan } from './plan.ts'
import type { Settlement, Settler } from './settle.ts'

export interface InternalCall {
  readonly item: Item
  readonly route: Route
  readonly key: string
  readonly scope: Scope
}

export interface InternalActions {
  runFunction(call: InternalCall, action: FunctionAction): Promise<void>
  runEmit(call: InternalCall, action: EmitAction): Promise<void>
}

/** What a completed action brings besides its ledger entry. */
interface Extra {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

export interface InternalFailure {
  readonly class: FailureClass
  readonly error: string
  readonly retryAfterMs: number | null
}

/** An event that causes itself, directly or around a circle, is stopped after this many steps. */
const HOPS_MAX = 32
const HOPS_HEADER = 'millrace-hops'
/** An emitted event is known by its key for as long as a replay may bring it again. */
const EMIT_DEDUP_MS = 30 * DAY

export function makeInternalActions(
  deps: Pick<EngineDeps, 'clock' | 'code' | 'log'> & {
    readonly ids: Ids
    readonly settler: Settler
    readonly decisions: Decisions
    plan(
      draft: Omit<NewEvent, 'matched'>,
      payload: JsonValue,
      header: JsonValue,
      dedupForMs: number,
    ): EventPlan
    /** Runs what was born leased, or gives its slots back. */
    settleBirths(plan: EventPlan, settlement: Settlement | null): void
    fail(call: InternalCall, failure: InternalFailure): Promise<void>
    hold(call: InternalCall, entry: LedgerEntry): Promise<void>
  },
  config: Pick<EngineConfig, 'resultBytesMax'>,
): InternalActions {
  const { clock, code, log, ids, settler } = deps

  /** Done, unless the ledger knows the key: then the first effect stands and this item points to it. */
  const complete = async (
    call: InternalCall,
    result: string | null,
    startedAt: number,
    extra: Extra,
  ): Promise<Settlement> => {
    const settlement = await completeOver(call, result, startedAt, extra, { g: 'unreserved', key: call.key })
    if (settlement.ok || settlement.why === 'stale' || settlement.found?.f !== 'ledger') return settlement
    const { entry } = settlement.found
    if (entry.state !== 'released') return settlement
    return completeOver(call, result, startedAt, extra, ledgerGuard(entry))
  }

  const completeOver = async (
    call: InternalCall,
    result: string | null,
    startedAt: number,
    extra: Extra,
    free: Guard,
  ): Promise<Settlement> => {
    const { item, route, key } = call
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const durationMs = Math.round(clock.monotonic() - startedAt)
    const note = { ...EMPTY_NOTE, key, durationMs }
    const entry = newEntry(item, key)
    const first = counters.attempts === 1
    const settlement = await settler.settle(item, route, {
      to: 'done',
      counters,
      note,
      guards: [free, ...extra.guards],
      writes: [{ w: 'ledger.done', entry, effectRef: null, result }, ...extra.writes],
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
    })
    if (settlement.ok) report(call, 'DONE', counters.attempts, durationMs)
    return settlement
  }

  const report = (call: InternalCall, action: string, attempt: number, durationMs: number | null) => {
    const { item, route, key } = call
    const facts = { route: route.document.name, work: item.work.id, key, attempt, durationMs }
    log.control(lineOf(action === 'DEDUPE_HIT' ? 'dedupe' : 'effect', action, item.event, facts))
  }

  /** What stood in the way of an action inside the process. */
  const settleKnown = async (call: InternalCall, settlement: Settlement): Promise<void> => {
    if (settlement.ok || settlement.why === 'stale') return
    const entry = settlement.found?.f === 'ledger' ? settlement.found.entry : null
    if (entry !== null && entry.state !== 'done') return deps.hold(call, entry)
    // Either the ledger has the effect, or an emitted event is known by its dedup key: both are the same effect.
    const own = entry === null || entry.work === call.item.work.id
    const effectRef = own ? (entry?.effectRef ?? null) : (entry.effectRef ?? entry.work)
    const ended = await settler.settle(call.item, call.route, {
      to: own ? 'done' : 'skipped',
      counters: countersOf(call.item),
      note: { ...EMPTY_NOTE, key: call.key, effectRef },
      guards: [],
      writes: [],
      attempt: null,
    })
    if (ended.ok) report(call, own ? 'DONE' : 'DEDUPE_HIT', call.item.work.attempts, null)
  }

  const runFunction: InternalActions['runFunction'] = async (call, action) => {
    const { scope } = call
    const startedAt = clock.monotonic()
    const running = new RunningFunction(call)
    const ran = code.run(action.codeHash, action.name, action.input(scope), running)
    const outcome = ran instanceof Promise ? await withTimeout(clock, action.timeoutMs, ran, running) : ran
    if (outcome.kind === 'failed') {
      return deps.fail(call, {
        class: outcome.how === 'terminal' ? 'validation' : 'transient',
        error: outcome.message,
        retryAfterMs: outcome.afterMs,
      })
    }
    const text = stringifyJson(outcome.value)
    const result = text.length > config.resultBytesMax ? null : text
    await settleKnown(call, await complete(call, result, startedAt, { guards: [], writes: [] }))
  }

  const runEmit: InternalActions['runEmit'] = async (call, action) => {
    const { item, scope, key } = call
    const startedAt = clock.monotonic()
    const { subject, data } = action.render(scope)
    const named = parseSubject(subject)
    const hops = hopsOf(item.header()) + 1
    if (!named.ok || hops > HOPS_MAX) {
      const error = named.ok
        ? `an event that causes itself was stopped after ${HOPS_MAX} steps`
        : named.problem.message
      return deps.fail(call, { class: named.ok ? 'config' : 'validation', error, retryAfterMs: null })
    }
    const text = stringifyJson(data)
    const header = { [HOPS_HEADER]: String(hops) }
    const { event } = item
    const source = item.work.consumer
    const dedupKey = key
    const plan = deps.plan(
      {
        id: ids.event(),
        tenant: event.tenant,
        source,
        subject,
        objectType: event.objectType,
        objectId: event.objectId,
        occurredAt: null,
        correlationId: event.correlationId,
        causationId: event.id,
        traceId: event.traceId,
        dedupKey,
        payloadHash: hashText(text),
        headers: stringifyJson(header),
        data: text,
      },
      data,
      header,
      EMIT_DEDUP_MS,
    )
    let settlement: Settlement | null = null
    try {
      settlement = await complete(call, stringifyJson({ eventId: plan.event.id }), startedAt, {
        guards: [{ g: 'dedup', source, key: dedupKey }],
        writes: plan.writes,
      })
    } finally {
      deps.settleBirths(plan, settlement)
    }
    await settleKnown(call, settlement)
  }

  return { runFunction, runEmit }
}

function hopsOf(header: JsonValue): number {
  if (typeof header !== 'object' || header === null || Array.isArray(header)) return 0
  const hops = Number((header as Readonly<Record<string, JsonValue>>)[HOPS_HEADER] ?? 0)
  return Number.isInteger(hops) && hops > 0 ? hops : 0
}

/** What a function sees. Most never look at their signal: it is made when they do. */
class RunningFunction implements FunctionContext {
  readonly key: string
  readonly eventId: EventId
  readonly attempt: number
  #controller: AbortController | null = null
  #isLate = false

  constructor({ key, item }: InternalCall) {
    this.key = key
    this.eventId = item.event.id
    this.attempt = item.work.attempts + 1
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#isLate) this.#controller.abort()
    }
    return this.#controller.signal
  }

  abort(): void {
    this.#isLate = true
    this.#controller?.abort()
  }
}

function withTimeout(
  clock: EngineDeps['clock'],
  timeoutMs: number,
  run: Promise<FunctionOutcome>,
  running: RunningFunction,
): Promise<FunctionOutcome> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      running.abort()
      resolve({ kind: 'failed', how: 'again', afterMs: null, message: `it took longer than ${timeoutMs} ms` })
    })
    run.finally(cancel).then(resolve, reject)
  })
}
