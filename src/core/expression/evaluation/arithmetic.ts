// Arithmetic of exact integers, doubles and exact decimals, and `+` of texts and lists. Where a double holds both operands as
// written, doubles are used; where one of them is a number that no double holds, all but `/` is exact.
// Invariant: a result is a finite double that is not an integer beyond 2^53, or the bigint or Numeral that no such double
// holds.

import {
  canonicalNumber,
  compareNumbers,
  fromScaled,
  isNumber,
  type JsonNumber,
  NUMERAL_BOUNDS,
  plainNumber,
  type Scaled,
  toScaled,
} from '../../foundation/json/index.ts'
import { ExpressionError } from '../syntax/index.ts'
import { charge, chargeList, chargeText, type Frame } from './evaluation-frame.ts'
import { isMissing, type Operand, typeError } from './values.ts'

const WHOLE_MAX = 10n ** 1000n

export function normalise(value: bigint): number | bigint {
  if (value >= -9007199254740991n && value <= 9007199254740991n) return Number(value)
  if (value > WHOLE_MAX || value < -WHOLE_MAX)
    throw new ExpressionError('bounds', 'a whole number of more than 1000 digits')
  return value
}

export function finite(value: number): number | bigint {
  if (!Number.isFinite(value)) throw new ExpressionError('bounds', 'a number out of range')
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value + 0
}

/** Throws if the result exceeds the bounds of a number. */
export function exact(value: Scaled): JsonNumber {
  const result = fromScaled(value)
  if (result === null) throw new ExpressionError('bounds', `a number out of range: ${NUMERAL_BOUNDS}`)
  return result
}

function isWhole(value: JsonNumber): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}

type Wholes = (a: bigint, b: bigint) => bigint

/** Of two numbers in their plain form. */
function calculateExactly(
  a: JsonNumber,
  b: JsonNumber,
  doubles: (a: number, b: number) => number,
  wholes: Wholes,
  scaleOf: 'same' | 'sum' = 'same',
): JsonNumber {
  if (isWhole(a) && isWhole(b)) return normalise(wholes(BigInt(a), BigInt(b)))
  if (typeof a === 'number' && typeof b === 'number') return finite(doubles(a, b))
  const [one, other] = [toScaled(a), toScaled(b)]
  if (scaleOf === 'sum')
    return exact({ coefficient: wholes(one.coefficient, other.coefficient), scale: one.scale + other.scale })
  const scale = Math.max(one.scale, other.scale)
  return exact({ coefficient: wholes(scaleTo(one, scale), scaleTo(other, scale)), scale })
}

function scaleTo({ coefficient, scale }: Scaled, wanted: number): bigint {
  return coefficient * 10n ** BigInt(wanted - scale)
}

export interface Operands {
  readonly operator: string
  readonly left: Operand
  readonly right: Operand
}

export function add(frame: Frame, a: unknown, b: unknown, at: Operands): unknown {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  if (isMissing(a)) return a
  if (isMissing(b)) return b
  if (isNumber(a) && isNumber(b)) {
    // A sum visits sixteen elements per charged step: exact ones take far longer.
    if (typeof a === 'object' || typeof b === 'object') charge(frame, 1)
    return calculateExactly(plainNumber(a), plainNumber(b), addDoubles, addWholes)
  }
  if (typeof a === 'string' || typeof b === 'string') return joinTexts(frame, a, b, at)
  if (Array.isArray(a) && Array.isArray(b)) {
    chargeList(frame, a.length + b.length)
    return [...a, ...b]
  }
  throw Array.isArray(a) || isNumber(a)
    ? typeError(`\`+\` adds two numbers, two texts or two lists`, b, at.right)
    : typeError(`\`+\` adds two numbers, two texts or two lists`, a, at.left)
}

function joinTexts(frame: Frame, a: unknown, b: unknown, at: Operands): string {
  const left = textOf(a, at.left)
  const right = textOf(b, at.right)
  chargeText(frame, left.length + right.length)
  return left + right
}

function textOf(value: unknown, path: Operand): string {
  if (typeof value === 'string') return value
  if (isNumber(value)) return canonicalNumber(value)
  if (typeof value === 'object') throw typeError('`+` joins texts, numbers and true or false', value, path)
  return String(value)
}

type Doubles = (a: number, b: number) => number

function calculate(
  a: unknown,
  b: unknown,
  at: Operands,
  doubles: Doubles,
  wholes: Wholes,
  scaleOf?: 'sum',
): unknown {
  if (typeof a === 'number' && typeof b === 'number') {
    const result = doubles(a, b)
    if (Number.isSafeInteger(result)) return result + 0
  }
  if (isMissing(a)) return a
  if (isMissing(b)) return b
  checkNumbers(a, b, at)
  return calculateExactly(plainNumber(a), plainNumber(b as JsonNumber), doubles, wholes, scaleOf)
}

function checkNumbers(a: unknown, b: unknown, at: Operands): asserts a is JsonNumber {
  if (!isNumber(a)) throw typeError(`\`${at.operator}\` needs numbers`, a, at.left)
  if (!isNumber(b)) throw typeError(`\`${at.operator}\` needs numbers`, b, at.right)
}

const addDoubles: Doubles = (a, b) => a + b
const addWholes: Wholes = (a, b) => a + b
const subtractDoubles: Doubles = (a, b) => a - b
const subtractWholes: Wholes = (a, b) => a - b
const multiplyDoubles: Doubles = (a, b) => a * b
const multiplyWholes: Wholes = (a, b) => a * b
const remainderDoubles: Doubles = (a, b) => a % b
const remainderWholes: Wholes = (a, b) => a % b

export function subtract(a: unknown, b: unknown, at: Operands): unknown {
  return calculate(a, b, at, subtractDoubles, subtractWholes)
}

export function multiply(a: unknown, b: unknown, at: Operands): unknown {
  return calculate(a, b, at, multiplyDoubles, multiplyWholes, 'sum')
}

/** The sign follows the dividend, as in CEL. */
export function remainder(a: unknown, b: unknown, at: Operands): unknown {
  checkDivisor(a, b, at)
  return calculate(a, b, at, remainderDoubles, remainderWholes)
}

/** An integer when it divides evenly, else a double: the quotient of two decimals may never end. */
export function divide(a: unknown, b: unknown, at: Operands): unknown {
  if (isMissing(a)) return a
  if (isMissing(b)) return b
  checkNumbers(a, b, at)
  checkDivisor(a, b, at)
  const [dividend, divisor] = [plainNumber(a), plainNumber(b as JsonNumber)]
  if (
    (typeof dividend === 'bigint' || typeof divisor === 'bigint') &&
    isWhole(dividend) &&
    isWhole(divisor)
  ) {
    if (BigInt(dividend) % BigInt(divisor) === 0n) return normalise(BigInt(dividend) / BigInt(divisor))
  }
  return finite(Number(dividend) / Number(divisor))
}

function checkDivisor(a: unknown, b: unknown, at: Operands): void {
  if (isNumber(b) && isNumber(a) && compareNumbers(b, 0) === 0) {
    throw new ExpressionError('zero', `\`${at.operator}\` by zero`, at.right, 'number')
  }
}

export function negate(value: unknown, path: Operand): unknown {
  if (typeof value === 'number') return 0 - value
  if (isMissing(value)) return value
  if (!isNumber(value)) throw typeError('`-` needs a number', value, path)
  const plain = plainNumber(value)
  if (typeof plain === 'number') return 0 - plain
  if (typeof plain === 'bigint') return normalise(-plain)
  const { coefficient, scale } = toScaled(plain)
  return exact({ coefficient: -coefficient, scale })
}
