// The outcome of a user's function, wherever it runs: the value that it returned, if JSON can hold it, or what it threw, named
// by its consequence.

import { isNumeral, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'

export type FunctionOutcome =
  | { readonly kind: 'returned'; readonly value: JsonValue }
  /** `again`: the function requested a retry; `terminal`: it declared retrying useless; `threw`: anything else. */
  | {
      readonly kind: 'failed'
      readonly how: 'again' | 'terminal' | 'threw'
      readonly afterMs: number | null
      /** The node stopped it because it took too long. */
      readonly isTimeout?: true
      readonly message: string
      /** Where in the user's files it was thrown (`orders.ts:12:7`), if known. */
      readonly at?: string
    }

/** The mark that the errors of src/sdk carry; a bundled function may have its own copy of their classes. */
const CONSEQUENCE = Symbol.for('millrace.consequence')
const MESSAGE_LENGTH_MAX = 1_000
const DEPTH_MAX = 500

export function outcomeOfValue(value: unknown): FunctionOutcome {
  if (value === undefined) return { kind: 'returned', value: null }
  // A value that JSON cannot hold is the function's mistake: report it here rather than lose it later.
  const fault = findJsonFault(value, 'the result')
  return fault === null ? { kind: 'returned', value: value as JsonValue } : failedFunction('threw', fault)
}

export function outcomeOfError(error: unknown): FunctionOutcome {
  const mark = consequenceOf(error)
  const message = textOf(error)
  return mark === null ? failedFunction('threw', message) : failedFunction(mark.how, message, mark.afterMs)
}

export function failedFunction(
  how: 'again' | 'terminal' | 'threw',
  message: string,
  afterMs: number | null = null,
): FunctionOutcome & { readonly kind: 'failed' } {
  return { kind: 'failed', how, afterMs, message }
}

/** The error for users: with the line that it comes from, if known. */
export function failureText({ message, at }: Extract<FunctionOutcome, { kind: 'failed' }>): string {
  return at === undefined ? message : `${message} (at ${at})`
}

/** Why a value is not JSON, with the location in it, or null. Undefined members count as absent. */
export function findJsonFault(value: unknown, where: string, depthMax: number = DEPTH_MAX): string | null {
  if (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    typeof value === 'bigint' ||
    isNumeral(value)
  )
    return null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : `${where} is ${value}, which JSON cannot hold`
  if (typeof value !== 'object') return `${where} is a ${typeof value}, which JSON cannot hold`
  if (depthMax < 0) return `${where} is nested too deeply, or contains itself`
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = findJsonFault(value[index], `${where}[${index}]`, depthMax - 1)
      if (fault !== null) return fault
    }
    return null
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return `${where} is a ${value.constructor?.name ?? 'special object'}; use plain objects, lists and texts`
  }
  for (const [key, member] of Object.entries(value)) {
    const fault = member === undefined ? null : findJsonFault(member, `${where}.${key}`, depthMax - 1)
    if (fault !== null) return fault
  }
  return null
}

function consequenceOf(error: unknown): { how: 'again' | 'terminal'; afterMs: number | null } | null {
  if (typeof error !== 'object' || error === null || !(CONSEQUENCE in error)) return null
  const { how, afterMs } = error[CONSEQUENCE] as { how?: unknown; afterMs?: unknown }
  if (how !== 'again' && how !== 'terminal') return null
  return { how, afterMs: typeof afterMs === 'number' && afterMs >= 0 ? afterMs : null }
}

/** Whatever was thrown, as text; reading it must not throw again. */
function textOf(error: unknown): string {
  try {
    if (error instanceof Error) return error.message.slice(0, MESSAGE_LENGTH_MAX) || error.name
    if (typeof error === 'string') return error.slice(0, MESSAGE_LENGTH_MAX)
    return stringifyJson(error as JsonValue).slice(0, MESSAGE_LENGTH_MAX)
  } catch {
    return 'the function threw something that cannot be shown'
  }
}
