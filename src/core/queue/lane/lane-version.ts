// Compares two versions of an object: numbers by their value at any length, anything else as text.

import { ExpressionError } from '../../expression/index.ts'
import { isNumeral, isStorable, type JsonValue } from '../../foundation/json/index.ts'

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?$/
const VERSION_LENGTH_MAX = 256

/** The text of a version; null: the event has none. Throws ExpressionError if it is neither text nor number. */
export function versionText(value: JsonValue): string | null {
  if (value === null) return null
  if ((typeof value === 'object' && !isNumeral(value)) || typeof value === 'boolean') {
    const valueType = Array.isArray(value) ? 'list' : typeof value === 'object' ? 'map' : 'bool'
    throw new ExpressionError('type', 'the version is not a text or a number', 'order.version', valueType)
  }
  const text = String(value)
  if (text.length > VERSION_LENGTH_MAX) {
    const message = `the version is longer than ${VERSION_LENGTH_MAX} characters`
    throw new ExpressionError('bounds', message, 'order.version', 'string')
  }
  if (!isStorable(text)) {
    const message = 'the version holds a character that no store keeps'
    throw new ExpressionError('type', message, 'order.version', 'string')
  }
  return text
}

/** Below 0: `a` is older than `b`. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [NUMBER.exec(a), NUMBER.exec(b)]
  if (one !== null && other !== null) return compareNumbers(one, other)
  return a < b ? -1 : a > b ? 1 : 0
}

/** Both as integers of the same unit: nothing is rounded. */
function compareNumbers(a: RegExpExecArray, b: RegExpExecArray): number {
  const digits = Math.max(a[3]?.length ?? 0, b[3]?.length ?? 0)
  const [one, other] = [scaled(a, digits), scaled(b, digits)]
  return one < other ? -1 : one > other ? 1 : 0
}

function scaled([, sign, whole, fraction = '']: RegExpExecArray, digits: number): bigint {
  const value = BigInt(`${whole}${fraction.padEnd(digits, '0')}`)
  return sign === '-' ? -value : value
}
