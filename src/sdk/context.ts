// What a function is given beside its input.

import type { DurationText } from './errors.ts'

/** The event that the work is about. */
export interface FunctionEvent {
  readonly id: string
  readonly tenant: string
  readonly source: string
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  /** Milliseconds since 1970, as all instants here. */
  readonly occurredAt: number | null
  readonly receivedAt: number
  /** Travels with everything that follows from one event. */
  readonly correlationId: string
  /** The event that caused this one. */
  readonly causationId: string | null
  readonly traceId: string
  readonly dedupKey: string
  readonly payloadHash: string
  /** The payload. */
  // biome-ignore lint/suspicious/noExplicitAny: what a sender puts into its payload is known to the user alone.
  readonly data: any
}

export interface FunctionLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export interface EffectOptions<Value> {
  /** Repeating the call is harmless: after a lost answer it is simply made again. */
  readonly idempotent?: boolean
  /** How long the vendor remembers the key: until then a call whose answer got lost is made again with the same key. */
  readonly keyTtl?: DurationText | number
  /** Looks whether the effect is there, after a lost answer; `undefined` says that it is not. */
  readonly probe?: (key: string) => Promise<Value | undefined> | Value | undefined
  /** How long the other side may still take to do what it was asked for; 30 s when left out. */
  readonly probeAfter?: DurationText | number
}

/** A connection, by which the operations of its provider are called. */
export interface ConnectionCaller {
  /**
   * One call of an operation, with the connection's address, credential and limits; it is kept as a run. Outside of `ctx.effect` only
   * operations are allowed that may be repeated.
   *
   * @param operation of the connection's provider, without its name: `postHours`
   * @param input what the operation asks for
   * @returns what the operation gives
   */
  // biome-ignore lint/suspicious/noExplicitAny: what an operation gives is known to its provider alone.
  call(operation: string, input: unknown, options?: { readonly key?: string }): Promise<any>
}

export interface FunctionContext {
  /** The idempotency key of the work item; stays the same in every attempt. */
  readonly key: string
  readonly event: FunctionEvent
  /** 1 in the first attempt. */
  readonly attempt: number
  readonly log: FunctionLog
  /** The node's clock; never make it part of a key. */
  readonly clock: { now(): number }
  /** Fires when the time is over or the node gives the work up: pass it to what you call. */
  readonly signal: AbortSignal
  /**
   * Does one thing to the outside, once: it has a ledger entry of its own, and its result is kept. In a later attempt,
   * an effect that is done is not done again; what it returned comes back.
   *
   * @param name tells the effects of one function apart; the same in every attempt
   * @param run makes the call; send `key` as the vendor's idempotency key
   */
  effect<Value>(
    name: string,
    run: (key: string, signal: AbortSignal) => Promise<Value> | Value,
    options?: EffectOptions<Value>,
  ): Promise<Value>
  /**
   * Somebody else's system, by the name of its `kind: Connection`.
   *
   * `ctx.effect('post', (key) => ctx.connection('sap').call('postHours', input, { key }))`
   */
  connection(name: string): ConnectionCaller
  /** Publishes an event when the function has returned: in the same commit, or not at all. */
  emit(subject: string, data: unknown): void
  /** Says that a long function is still at work; its time begins anew. `detail` is shown to people. */
  heartbeat(detail?: unknown): void
}
