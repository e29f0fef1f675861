// Users' functions, by the hash of their bundle, and what a function may do while it runs.

import type { FunctionOutcome } from '../core/effects/function/index.ts'
import type { Envelope } from '../core/events/event/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { Instant } from '../core/foundation/time/index.ts'

/**
 * The envelope and its payload, parsed for this function alone. Whole numbers beyond 2^53 are bigints; a number that no double
 * can represent is a `Numeral`.
 */
export interface FunctionEvent extends Envelope {
  readonly receivedAt: Instant
  readonly data: JsonValue
}

export interface FunctionLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** How an effect with an unknown outcome can be settled; none of these: a user decides. */
export interface EffectOptions<Value> {
  readonly idempotent?: boolean
  /** `24h`, or milliseconds. */
  readonly keyTtl?: string | number
  /** `undefined`: the effect did not happen. */
  readonly probe?: (key: string) => Promise<Value | undefined> | Value | undefined
  /** How long the other side may still take to do what was requested; by default 30 s. */
  readonly probeAfter?: string | number
}

/**
 * Calls of one connection. Within an effect they use its key; outside of one only operations that may be repeated are called.
 */
export interface ConnectionCaller {
  /** `operation`: of the connection's provider, without its name. Returns the operation's result. */
  call(operation: string, input: JsonValue, options?: { readonly key?: string }): Promise<JsonValue>
}

export interface FunctionContext {
  readonly key: string
  readonly event: FunctionEvent
  readonly attempt: number
  readonly signal: AbortSignal
  readonly log: FunctionLog
  readonly clock: { now(): Instant }
  effect<Value>(
    name: string,
    run: (key: string, signal: AbortSignal) => Promise<Value> | Value,
    options?: EffectOptions<Value>,
  ): Promise<Value>
  /** Omitted: this node has no connections. */
  connection?(name: string): ConnectionCaller
  emit(subject: string, data: unknown): void
  heartbeat(detail?: unknown): void
}

export type { FunctionOutcome }

/** The store has the code, and it must not be run: jobs wait until it is deployed again. */
export class CodeRefusedError extends Error {
  override readonly name = 'CodeRefusedError'
  readonly codeHash: string
  readonly why: string

  /** `why`: a whole clause, and what to do. */
  constructor(codeHash: string, why: string, functionName: string | null = null) {
    const of = functionName === null ? '' : ` of function \`${functionName}\``
    super(`the stored code${of} (bundle ${codeHash.slice(0, 12)}) is refused: ${why}`)
    this.codeHash = codeHash
    this.why = why
  }
}

export interface Code {
  /** Bundles that this node can run. */
  hashes(): readonly string[]
  /** Whether it is one of `hashes`; called for every new job. */
  has(codeHash: string): boolean
  /** Prepares a bundle, also one that was not known here; false: it is not available, or cannot be loaded. */
  prepare(codeHash: string): Promise<boolean>
  /** The bundle that has the function now; null also if the tenant may not use it. */
  find(name: string, tenant: TenantId): string | null
  /** Whether jobs of the tenant may still run it: the function's current rule counts, if it still exists. */
  isOpen(codeHash: string, name: string, tenant: TenantId): boolean | Promise<boolean>
  /**
   * A synchronous function may return at once. `input` is shared with the other jobs of the event: an adapter gives users' code
   * its own copy; functions that are part of the process only read it. Throws `CodeRefusedError`.
   */
  run(
    codeHash: string,
    name: string,
    input: JsonValue,
    context: FunctionContext,
  ): FunctionOutcome | Promise<FunctionOutcome>
}
