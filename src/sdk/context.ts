// What a function receives besides its input.

import type { DurationText } from './errors.ts'

/** The event that the job is about. */
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
  /** Repeating the call is harmless: after a lost response it is simply made again. */
  readonly idempotent?: boolean
  /**
   * How long the vendor remembers the key: until then a call whose response got lost is made again with the same key.
   */
  readonly keyTtl?: DurationText | number
  /** Checks whether the effect happened, after a lost response; `undefined` says that it did not. */
  readonly probe?: (key: string) => Promise<Value | undefined> | Value | undefined
  /** How long the other side may still take to carry out the request; 30 s when left out. */
  readonly probeAfter?: DurationText | number
}

/** A connection, by which the operations of its provider are called. */
export interface ConnectionCaller {
  /**
   * One call of an operation, with the connection's address, credential and limits; it is stored as a run. Outside
   * `ctx.effect` only operations that may be repeated are allowed.
   *
   * @param operation of the connection's provider, without its name: `postHours`
   * @param input the operation's input
   * @returns the operation's result
   */
  // biome-ignore lint/suspicious/noExplicitAny: what an operation gives is known to its provider alone.
  call(operation: string, input: unknown, options?: { readonly key?: string }): Promise<any>
}

export interface FunctionContext {
  /** The idempotency key of the job; stays the same in every attempt. */
  readonly key: string
  readonly event: FunctionEvent
  /** 1 in the first attempt. */
  readonly attempt: number
  readonly log: FunctionLog
  /** The node's clock; never make it part of a key. */
  readonly clock: { now(): number }
  /** Fires when the time is over or the node gives the job up: pass it to what you call. */
  readonly signal: AbortSignal
  /**
   * Has one effect on another system, once: it has its own ledger entry, and its result is stored. In a later attempt,
   * an effect that is done is not repeated; its result is returned.
   *
   * @param name distinguishes the effects of one function; the same in every attempt
   * @param run makes the call; send `key` as the vendor's idempotency key
   */
  effect<Value>(
    name: string,
    run: (key: string, signal: AbortSignal) => Promise<Value> | Value,
    options?: EffectOptions<Value>,
  ): Promise<Value>
  /**
   * Another system, by the name of its `kind: Connection`.
   *
   * `ctx.effect('post', (key) => ctx.connection('sap').call('postHours', input, { key }))`
   */
  connection(name: string): ConnectionCaller
  /** Publishes an event when the function has returned: in the same commit, or not at all. */
  emit(subject: string, data: unknown): void
  /** Says that a long function is still running; its timeout starts again. `detail` is shown to users. */
  heartbeat(detail?: unknown): void
}
