// One run of a function: what it sees, what it has begun, and what stands in the way of ending as it says.
//
// Most functions look at little of it: everything dear is made when it is asked for. Invariants: what must stop the run is
// remembered, whatever the function makes of the error that it was told by; nothing is begun after that.

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
  /** Of the ledger or of the user: only what the user's code does may take for ever, and is not waited for. */
  phase: 'ledger' | 'called' | 'probed' | 'left'
  /** Since when the ledger is asked, by the monotonic clock. */
  ledgerSince: number
  /** What the call was made over. */
  over: LedgerEntry | null
  /** When the key that a repeat relies on is forgotten. */
  until: Instant | null
  /** Calls on connections within it that had an effect, may have had one, or are under way: with one of them it is no longer untouched. */
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
  #idle: Hand | null = null
  #ended: Hand | null = null
  #isEnded = false
  #told: WeakSet<object> | null = null
  #heldBack: WeakSet<object> | null = null
  #ofCalls: WeakSet<object> | null = null
  /** By name. */
  effects: Map<string, OpenEffect> | null = null
  obstacles: Obstacle[] | null = null
  emitted: Emitted[] | null = null
  emittedLength = 0
  /** Effects under way. */
  open = 0
  /** Calls that had no effect, by the word of the function: they use up an attempt all the same. */
  callsInVain = 0
  /** By the monotonic clock; 0 until there is one. */
  deadline = 0
  isLate = false
  /** Its time was up while it waited for the store, for most of that time: neither the function nor the vendor failed. */
  isHeldByStore = false
  /** The function has returned, and all that it began is over. */
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

  // Getters of functions, so that they can be taken out of the context: `({ effect, emit }) => …`.

  get effect(): FunctionContext['effect'] {
    return (name, body, options = {}) => {
      const made = this.#tools.effect(this, name, body, options as EffectOptions<unknown>)
      // Also what keeps the node alive when the function does not wait for it, or not yet: the engine knows what became of
      // it, and the run ends by that.
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

  /** A call was not made, or had no effect, and the whole item waits: the error says nothing else. */
  holdBack(error: Error): void {
    this.#heldBack ??= new WeakSet()
    this.#heldBack.add(error)
  }

  wasHeldBack(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#heldBack?.has(error) === true
  }

  /** What a call on a connection came to: it speaks of that call, and not of those before it. */
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

  /** The function was given this error by the run: that it throws it again says nothing of what it did itself. */
  wasTold(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#told?.has(error) === true
  }

  /** Something other than the function decides how the run ends. */
  stop(obstacle: Obstacle): void {
    this.obstacles ??= []
    this.obstacles.push(obstacle)
  }

  /** Nothing more may be begun; the text says why. */
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

  /** How long the effect that has waited longest for the store has done so. */
  storeWaitMs(now: number): number {
    let longest = 0
    for (const { phase, ledgerSince } of this.effects?.values() ?? [])
      if (phase === 'ledger') longest = Math.max(longest, now - ledgerSince)
    return longest
  }

  /** The effects whose code does not come back are left alone: they are no longer waited for. */
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

  /** Settles when no effect is under way. */
  idle(): Promise<void> {
    if (this.open === 0) return Promise.resolve()
    this.#idle ??= makeHand()
    return this.#idle.promise
  }

  abort(): void {
    this.isLate = true
    this.#controller?.abort()
  }

  /** The item is out of our hands; what is heard from now on is evidence. */
  end(): void {
    this.isOver = true
    this.#isEnded = true
    this.#ended?.give()
  }

  ended(): Promise<void> {
    if (this.#isEnded) return Promise.resolve()
    this.#ended ??= makeHand()
    return this.#ended.promise
  }
}

interface Hand {
  readonly promise: Promise<void>
  give(): void
}

function makeHand(): Hand {
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
    // Parsed anew: other items of the event share the engine's own copy, and a function may change what it is given.
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
