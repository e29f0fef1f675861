// Writes a value as JSON: for the wire (in key order) and for hashing (canonical). For the wire a number is spelled as it
// arrived. Canonical: keys by UTF-16 code unit, no spaces, and numbers of equal value are written equally.

import { canonicalNumber, Numeral } from './numeral.ts'
import { JsonError, type JsonValue } from './value.ts'

const DEPTH_MAX = 5000

export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    // The built-in writer refuses bigint and, on Node 20, Numeral (and cycles, which the depth limit below reports).
    return write(value, 'wire', 0)
  }
}

export function canonicalJson(value: JsonValue): string {
  return write(value, 'canonical', 0)
}

/** Keys in their order, numbers of equal value equally: for idempotency keys. */
export function stringifyByValue(value: JsonValue): string {
  return write(value, 'value', 0)
}

type Style = 'wire' | 'value' | 'canonical'

function write(value: unknown, style: Style, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return writeNumber(value, style)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      if (value === null) return 'null'
      if (value instanceof Numeral) return style === 'wire' ? value.text : canonicalNumber(value)
      if (depth >= DEPTH_MAX) throw new JsonError('nested too deep to write', 0)
      return Array.isArray(value) ? writeArray(value, style, depth + 1) : writeObject(value, style, depth + 1)
    default:
      return 'null'
  }
}

function writeNumber(value: number, style: Style): string {
  if (!Number.isFinite(value)) return 'null'
  return style === 'wire' ? String(value === 0 ? 0 : value) : canonicalNumber(value)
}

function writeArray(array: readonly unknown[], style: Style, depth: number): string {
  let text = '['
  for (let i = 0; i < array.length; i++) {
    if (i > 0) text += ','
    text += write(array[i], style, depth)
  }
  return `${text}]`
}

function writeObject(object: object, style: Style, depth: number): string {
  const keys = Object.keys(object)
  if (style === 'canonical') keys.sort()
  let text = ''
  for (const key of keys) {
    const member = (object as Record<string, unknown>)[key]
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${write(member, style, depth)}`
  }
  return `{${text}}`
}
