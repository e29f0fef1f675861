// Users' functions, by the hash of the bundle they come in.

import type { FunctionOutcome } from '../core/function/index.ts'
import type { EventId } from '../core/ids/index.ts'
import type { JsonValue } from '../core/json/index.ts'

export interface FunctionContext {
  readonly key: string
  readonly eventId: EventId
  readonly attempt: number
  readonly signal: AbortSignal
}

export type { FunctionOutcome }

export interface Code {
  /** Bundles that this node can run. */
  hashes(): readonly string[]
  /** The bundle that has the function now, or null. */
  find(name: string): string | null
  /** A function that does not wait may be answered at once. */
  run(
    codeHash: string,
    name: string,
    input: JsonValue,
    context: FunctionContext,
  ): FunctionOutcome | Promise<FunctionOutcome>
}
