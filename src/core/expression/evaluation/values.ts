// Values and how they compare.
// Inside the evaluator `undefined` is a missing value and `null` a present one: they behave alike, except that a single
// template omits a missing field. A number is a double, a bigint or a Numeral (core/foundation/json), and compares by its
// value.

import {
  canonicalNumber,
  compareNumbers,
  isNumber,
  isNumeral,
  type JsonValue,
  stringifyByValue,
  stringifyJson,
} from '../../foundation/json/index.ts'
import { ExpressionError } from '../syntax/index.ts'
import { charge, type Frame } from './evaluation-frame.ts'

export type Operand = string | undefined

export function typeOf(value: unknown): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'number':
    case 'bigint':
      return 'number'
    case 'string':
      return 'string'
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'list' : isNumeral(value) ? 'number' : 'map'
    default:
      return 'null'
  }
}

/** `path` names the operand when it is a plain path; the value itself is never included. */
export function typeError(what: string, value: unknown, path: Operand): ExpressionError {
  const type = typeOf(value)
  return new ExpressionError('type', `${what}, but ${path ?? 'this value'} is a ${type}`, path, type)
}

export function isMissing(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumeral(value)
}

export function equal(frame: Frame, a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    charge(frame, Math.min(a.length, b.length) >> 12)
    return a === b
  }
  if (a === b) return true
  if (isMissing(a) || isMissing(b)) return isMissing(a) && isMissing(b)
  if (isNumber(a) || isNumber(b)) return isNumber(a) && isNumber(b) && compareNumbers(a, b) === 0
  if (typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && equalLists(frame, a, b)
  }
  return equalMaps(frame, a as Record<string, unknown>, b as Record<string, unknown>)
}

function equalLists(frame: Frame, a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  charge(frame, 1 + (a.length >> 4))
  return a.every((item, i) => equal(frame, item, b[i]))
}

function equalMaps(frame: Frame, a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  charge(frame, 1 + (keys.length >> 4))
  return keys.every((key) => Object.hasOwn(b, key) && equal(frame, a[key], b[key]))
}

/** Negative, zero or positive; null when either is missing, undefined when the types have no order. */
export function order(frame: Frame, a: unknown, b: unknown): number | null | undefined {
  if (isMissing(a) || isMissing(b)) return null
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b)
  const ordered =
    (typeof a === 'string' && typeof b === 'string') || (typeof a === 'boolean' && typeof b === 'boolean')
  if (!ordered) return undefined
  if (typeof a === 'string') charge(frame, a.length >> 12)
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * How a value is written in a longer text that is sent: missing is empty, lists and maps are JSON, numbers are spelled as
 * written.
 */
export function toSentText(value: unknown): string {
  if (isNumeral(value)) return value.text
  return typeof value === 'object' && value !== null ? stringifyJson(value as JsonValue) : toText(value)
}

/** The same, but numbers of equal value are written equally, however they were spelled: for names and keys. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (isMissing(value)) return ''
  if (isNumber(value)) return canonicalNumber(value)
  return typeof value === 'object' ? stringifyByValue(value as JsonValue) : String(value)
}

/** By code points, so that a character outside the basic plane counts once. */
export function codePointLength(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      length--
      i++
    }
  }
  return length
}
