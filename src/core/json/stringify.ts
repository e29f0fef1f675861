// core/json/stringify.ts — value to text: for the wire (key order kept) and for hashing (canonical).
// Canonical: keys by UTF-16 code unit, no spaces, and numbers of equal value are written equally, whether
// they arrived as number or as bigint.

import { JsonError, type JsonValue } from './value.ts'

const DEPTH_MAX = 5000

export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    // The built-in writer refuses bigint (and cycles, which the depth limit below reports).
    return write(value, false, 0)
  }
}

export function canonicalJson(value: JsonValue): string {
  return write(value, true, 0)
}

function write(value: unknown, canonical: boolean, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return writeNumber(value, canonical)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      if (value === null) return 'null'
      if (depth >= DEPTH_MAX) throw new JsonError('nested too deep to write', 0)
      return Array.isArray(value)
        ? writeArray(value, canonical, depth + 1)
        : writeObject(value, canonical, depth + 1)
    default:
      return 'null'
  }
}

function writeNumber(value: number, canonical: boolean): string {
  if (!Number.isFinite(value)) return 'null'
  if (canonical && Number.isInteger(value) && !Number.isSafeInteger(value)) return BigInt(value).toString()
  return String(value === 0 ? 0 : value)
}

function writeArray(array: readonly unknown[], canonical: boolean, depth: number): string {
  let text = '['
  for (let i = 0; i < array.length; i++) {
    if (i > 0) text += ','
    text += write(array[i], canonical, depth)
  }
  return `${text}]`
}

function writeObject(object: object, canonical: boolean, depth: number): string {
  const keys = Object.keys(object)
  if (canonical) keys.sort()
  let text = ''
  for (const key of keys) {
    const member = (object as Record<string, unknown>)[key]
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${write(member, canonical, depth)}`
  }
  return `{${text}}`
}
