// Copies a value for code that supports only doubles and bigints.

import { Numeral } from './numeral.ts'
import type { JsonValue } from './value.ts'

/**
 * A copy that shares nothing with the value, in which every number is a double or a bigint where one of them holds it: 1.0 is
 * 1. A number that neither holds stays a Numeral, so that its digits are not silently lost.
 */
export function copyPlain(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyPlain)
  if (value instanceof Numeral) return value.plain()
  const copy: Record<string, JsonValue> = {}
  for (const name of Object.keys(value)) {
    const member = copyPlain((value as Readonly<Record<string, JsonValue>>)[name] as JsonValue)
    // Assigning a member of this name would set the prototype.
    if (name !== '__proto__') copy[name] = member
    else
      Object.defineProperty(copy, name, {
        value: member,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return copy
}
