// One run of a function: its context, what it has started, and the obstacles to ending as the function says.
//
// Most functions use little of it, so everything expensive is created on first use. Invariants: the reason to stop a
// run is remembered, whatever the function does with the error that reports it; nothing is started after that.

import type { FunctionAction } from '../../../core/effects/action/index.ts'
import type { EffectAbilities, LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { copyPlain, parseJson } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Clock } from '../../../ports/clock.ts'
import type {
  ConnectionCaller,
  EffectOptions,
  FunctionContext,
  FunctionEvent,
  FunctionLog,
} from '../../../ports/code.ts'
import type { Log } from '../../../ports/log.ts'
import type { Emitted } from '../../events/index.ts'
import type { Item } from '../../leases/index.ts'
import { scrubFields } from '../../secrets/index.ts'
import type { Obstacle } from '../../settlement/index.ts'
import type { InternalCall } from '../call.ts'

export type EffectBody = (key: string, signal: AbortSignal) => unknown

/** One effect of this run. */
export interface OpenEffect {
  readonly name: string
  /** In the ledger. */
  readonly key: string
  readonly abilities: EffectAbilities
  /** Waiting for the ledger or for the user's code: only user code may take forever, and is then not awaited. */
  phase: 'ledger' | 'called' | 'probed' | 'left'
  /** Since when the ledger is asked, by the monotonic clock. */
  ledgerSince: number
  /** The ledger entry that the call was made over. */
  over: LedgerEntry | null
  /** When the key that a repeat relies on is forgotten. */
  until: Instant | null
  /**
   * Calls on connections within the effect that had an effect, may have had one, or are in progress: after
   * one of them the effect is no longer untouched.
   */
  acts: number
}

/** What a run needs of the engine; one object for all runs. */
export interface FunctionTools {
  readonly clock: Clock
  readonly log: Log
  effect(run: FunctionRun, name: string, body: EffectBody, options: EffectOptions<unknown>): Promise<unknown>
  emit(run: FunctionRun, subject: string, data: unknown): void
  heartbeat(run: FunctionRun, detail: unknown): void
  connection(run: FunctionRun, name: string): ConnectionCaller
}

export class FunctionRun implements FunctionContext {
  readonly call: InternalCall
  readonly action: FunctionAction
  readonly #tools: FunctionTools
  #controller: AbortController | null = null
  #event: FunctionEvent | null = null
  #idle: Deferred | null = null
  #ended: Deferred | null = null
  #isEnded = false
  #told: WeakSet<object> | null = null
  #heldBack: WeakSet<object> | null = null
  #ofCalls: WeakSet<object> | null = null
  /** By name. */
  effects: Map<string, OpenEffect> | null = null
  obstacles: Obstacle[] | null = null
  emitted: Emitted[] | null = null
  emittedLength = 0
  /** Effects in progress. */
  open = 0
  /** Calls without an effect, as the function states: they still use up an attempt. */
  callsInVain = 0
  /** By the monotonic clock; 0 until there is one. */
  deadline = 0
  isLate = false
  /** It timed out after waiting for the store most of the time: neither the function nor the vendor failed. */
  isHeldByStore = false
  /** The function has returned, and everything that it started has ended. */
  isOver = false

  constructor(call: InternalCall, action: FunctionAction, tools: FunctionTools) {
    this.call = call
    this.action = action
    this.#tools = tools
  }

  get key(): string {
    return this.call.key
  }

  get attempt(): number {
    return this.call.item.work.attempts + 1
  }

  get event(): FunctionEvent {
    this.#event ??= eventOf(this.call.item)
    return this.#event
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.isLate) this.#controller.abort()
    }
    return this.#controller.signal
  }

  get log(): FunctionLog {
    return logOf(this.#tools.log, this.call)
  }

  get clock(): { now(): Instant } {
    return this.#tools.clock
  }

  // Getters that return functions, so that they can be destructured from the context: `({ effect, emit }) => …`.

  get effect(): FunctionContext['effect'] {
    return (name, body, options = {}) => {
      const made = this.#tools.effect(this, name, body, options as EffectOptions<unknown>)
      // Also prevents an unhandled rejection if the function does not await it, or not yet: the engine knows the
      // result, and the run ends by that.
      made.catch((error) => this.#tell(error))
      return made as Promise<never>
    }
  }

  get emit(): FunctionContext['emit'] {
    return (subject, data) => {
      try {
        this.#tools.emit(this, subject, data)
      } catch (error) {
        this.#tell(error)
        throw error
      }
    }
  }

  get heartbeat(): FunctionContext['heartbeat'] {
    return (detail) => this.#tools.heartbeat(this, detail)
  }

  get connection(): (name: string) => ConnectionCaller {
    return (name) => this.#tools.connection(this, name)
  }

  /** A call was not made, or had no effect, and the whole job waits: the error means nothing else. */
  holdBack(error: Error): void {
    this.#heldBack ??= new WeakSet()
    this.#heldBack.add(error)
  }

  wasHeldBack(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#heldBack?.has(error) === true
  }

  /** The result of a call on a connection: it is about that call, not about those before it. */
  callFailed(error: unknown): void {
    if (typeof error !== 'object' || error === null) return
    this.#ofCalls ??= new WeakSet()
    this.#ofCalls.add(error)
  }

  isOfCall(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#ofCalls?.has(error) === true
  }

  #tell(error: unknown): void {
    if (typeof error !== 'object' || error === null) return
    this.#told ??= new WeakSet()
    this.#told.add(error)
  }

  /** The run gave this error to the function: rethrowing it states nothing about what the function did itself. */
  wasTold(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#told?.has(error) === true
  }

  /** Something other than the function decides how the run ends. */
  stop(obstacle: Obstacle): void {
    this.obstacles ??= []
    this.obstacles.push(obstacle)
  }

  /** Nothing more may be started; the text says why. */
  refusal(): string | null {
    if (this.isOver) return 'the function has returned already'
    if (this.isLate) return 'the function took too long and was stopped'
    const [first] = this.obstacles ?? []
    return first === undefined ? null : `the run was stopped: ${first.error}`
  }

  begin(effect: OpenEffect): void {
    this.effects ??= new Map()
    this.effects.set(effect.name, effect)
    this.open += 1
  }

  finish(effect: OpenEffect): void {
    if (effect.phase === 'left') return
    this.#less()
  }

  #less(): void {
    this.open -= 1
    if (this.open > 0) return
    this.#idle?.give()
    this.#idle = null
  }

  /** The longest time that an effect has been waiting for the store. */
  storeWaitMs(now: number): number {
    let longest = 0
    for (const { phase, ledgerSince } of this.effects?.values() ?? [])
      if (phase === 'ledger') longest = Math.max(longest, now - ledgerSince)
    return longest
  }

  /** Abandons the effects whose code does not return: they are no longer awaited. */
  leave(): readonly { readonly effect: OpenEffect; readonly wasCalled: boolean }[] {
    const left = [...(this.effects?.values() ?? [])].flatMap((effect) =>
      effect.phase === 'called' || effect.phase === 'probed'
        ? [{ effect, wasCalled: effect.phase === 'called' }]
        : [],
    )
    for (const { effect } of left) {
      effect.phase = 'left'
      this.#less()
    }
    return left
  }

  /** Resolves when no effect is in progress. */
  idle(): Promise<void> {
    if (this.open === 0) return Promise.resolve()
    this.#idle ??= makeDeferred()
    return this.#idle.promise
  }

  abort(): void {
    this.isLate = true
    this.#controller?.abort()
  }

  /** The job has left this node; later results are evidence. */
  end(): void {
    this.isOver = true
    this.#isEnded = true
    this.#ended?.give()
  }

  ended(): Promise<void> {
    if (this.#isEnded) return Promise.resolve()
    this.#ended ??= makeDeferred()
    return this.#ended.promise
  }
}

interface Deferred {
  readonly promise: Promise<void>
  give(): void
}

function makeDeferred(): Deferred {
  let give = () => {}
  const promise = new Promise<void>((resolve) => {
    give = resolve
  })
  return { promise, give }
}

function eventOf({ event }: Item): FunctionEvent {
  return {
    id: event.id,
    tenant: event.tenant,
    source: event.source,
    subject: event.subject,
    objectType: event.objectType,
    objectId: event.objectId,
    occurredAt: event.occurredAt,
    receivedAt: event.receivedAt,
    correlationId: event.correlationId,
    causationId: event.causationId,
    traceId: event.traceId,
    dedupKey: event.dedupKey,
    payloadHash: event.payloadHash,
    // Parsed again: other jobs of the event share the engine's own copy, and a function may change its object.
    data: copyPlain(parseJson(event.data)),
  }
}

function logOf(log: Log, { item, route }: InternalCall): FunctionLog {
  const say =
    (level: 'info' | 'warn' | 'error'): FunctionLog['info'] =>
    (message, fields = {}) =>
      log[level]('function.said', {
        ...scrubFields(item.event, { ...fields, message: String(message) }),
        route: route.document.name,
        work: item.work.id,
        correlationId: item.event.correlationId,
      })
  return { info: say('info'), warn: say('warn'), error: say('error') }
}
