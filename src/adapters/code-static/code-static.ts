// Functions that are part of the process, as one bundle. Its hash covers their names and texts, so that work pinned to
// an earlier text is not run by a later one. What a function closes over is outside the hash: keep state out of them.

import { createHash } from 'node:crypto'
import { type JsonValue, stringifyJson } from '../../core/json/index.ts'
import type { Code, FunctionContext, FunctionOutcome } from '../../ports/code.ts'

export type StaticFunction = (input: JsonValue, context: FunctionContext) => unknown

/** The mark that the errors of src/sdk carry; a bundled function may have its own copy of their classes. */
const CONSEQUENCE = Symbol.for('millrace.consequence')
const MESSAGE_LENGTH_MAX = 1_000

export function makeStaticCode(functions: Readonly<Record<string, StaticFunction>>): Code {
  const byName = new Map(Object.entries(functions))
  const hash = hashOf(byName)
  return {
    hashes: () => [hash],
    find: (name) => (byName.has(name) ? hash : null),
    run: (codeHash, name, input, context) => {
      const run = codeHash === hash ? byName.get(name) : undefined
      if (run === undefined) return failed('threw', null, `no function ${name} in bundle ${codeHash}`)
      try {
        const value = run(input, context)
        return isThenable(value) ? Promise.resolve(value).then(returned, outcomeOf) : returned(value)
      } catch (error) {
        return outcomeOf(error)
      }
    },
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function hashOf(byName: ReadonlyMap<string, StaticFunction>): string {
  const hash = createHash('sha256')
  for (const name of [...byName.keys()].sort()) hash.update(JSON.stringify([name, String(byName.get(name))]))
  return hash.digest('hex')
}

function returned(value: unknown): FunctionOutcome {
  if (value === undefined) return { kind: 'returned', value: null }
  // Whatever cannot be stored as JSON is the function's mistake: say so here rather than lose it later.
  const fault = jsonFault(value, 'the result', 0)
  return fault === null ? { kind: 'returned', value: value as JsonValue } : failed('threw', null, fault)
}

function jsonFault(value: unknown, where: string, depth: number): string | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint')
    return null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : `${where} is ${value}, which JSON cannot hold`
  if (typeof value !== 'object') return `${where} is a ${typeof value}, which JSON cannot hold`
  if (depth > 500) return `${where} is nested too deeply, or contains itself`
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = jsonFault(value[index], `${where}[${index}]`, depth + 1)
      if (fault !== null) return fault
    }
    return null
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return `${where} is a ${value.constructor?.name ?? 'special object'}; return plain objects, lists and texts`
  }
  for (const [key, member] of Object.entries(value)) {
    const fault = member === undefined ? null : jsonFault(member, `${where}.${key}`, depth + 1)
    if (fault !== null) return fault
  }
  return null
}

function outcomeOf(error: unknown): FunctionOutcome {
  const mark = consequenceOf(error)
  const message = messageOf(error)
  if (mark === null) return failed('threw', null, message)
  return failed(mark.how, mark.afterMs, message)
}

function consequenceOf(error: unknown): { how: 'again' | 'terminal'; afterMs: number | null } | null {
  if (typeof error !== 'object' || error === null || !(CONSEQUENCE in error)) return null
  const { how, afterMs } = error[CONSEQUENCE] as { how?: unknown; afterMs?: unknown }
  if (how !== 'again' && how !== 'terminal') return null
  return { how, afterMs: typeof afterMs === 'number' && afterMs >= 0 ? afterMs : null }
}

/** Whatever was thrown, as a text; reading it must not throw again. */
function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return error.message.slice(0, MESSAGE_LENGTH_MAX) || error.name
    if (typeof error === 'string') return error.slice(0, MESSAGE_LENGTH_MAX)
    return stringifyJson(error as JsonValue).slice(0, MESSAGE_LENGTH_MAX)
  } catch {
    return 'the function threw something that cannot be shown'
  }
}

function failed(
  how: 'again' | 'terminal' | 'threw',
  afterMs: number | null,
  message: string,
): FunctionOutcome {
  return { kind: 'failed', how, afterMs, message }
}
