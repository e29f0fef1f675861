// core/expression/arithmetic.ts — exact whole numbers, doubles, and `+` of texts and lists.
// Invariant: a result is a finite number, or a bigint that no number could hold exactly.

import { ExpressionError } from './errors.ts'
import { chargeList, chargeText, type Frame } from './frame.ts'
import { isMissing, isNumber, type Operand, typeError } from './values.ts'

const WHOLE_MAX = 10n ** 1000n

export function normalise(value: bigint): number | bigint {
  if (value >= -9007199254740991n && value <= 9007199254740991n) return Number(value)
  if (value > WHOLE_MAX || value < -WHOLE_MAX)
    throw new ExpressionError('bounds', 'a whole number of more than 1000 digits')
  return value
}

export function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ExpressionError('bounds', 'a number out of range')
  return value + 0
}

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
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
    return isWhole(a) && isWhole(b) ? normalise(BigInt(a) + BigInt(b)) : finite(Number(a) + Number(b))
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
  if (typeof a === 'object') throw typeError('`+` joins texts, numbers and true or false', a, at.left)
  if (typeof b === 'object') throw typeError('`+` joins texts, numbers and true or false', b, at.right)
  const left = typeof a === 'string' ? a : String(a)
  const right = typeof b === 'string' ? b : String(b)
  chargeText(frame, left.length + right.length)
  return left + right
}

type Doubles = (a: number, b: number) => number
type Wholes = (a: bigint, b: bigint) => bigint

function calculate(a: unknown, b: unknown, at: Operands, doubles: Doubles, wholes: Wholes): unknown {
  if (typeof a === 'number' && typeof b === 'number') {
    const result = doubles(a, b)
    if (Number.isSafeInteger(result)) return result + 0
  }
  if (isMissing(a)) return a
  if (isMissing(b)) return b
  checkNumbers(a, b, at)
  return isWhole(a) && isWhole(b as number)
    ? normalise(wholes(BigInt(a), BigInt(b as number)))
    : finite(doubles(Number(a), Number(b)))
}

function checkNumbers(a: unknown, b: unknown, at: Operands): asserts a is number | bigint {
  if (!isNumber(a)) throw typeError(`\`${at.operator}\` needs numbers`, a, at.left)
  if (!isNumber(b)) throw typeError(`\`${at.operator}\` needs numbers`, b, at.right)
}

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
  return calculate(a, b, at, multiplyDoubles, multiplyWholes)
}

/** The sign follows the dividend, as in CEL. */
export function remainder(a: unknown, b: unknown, at: Operands): unknown {
  checkDivisor(a, b, at)
  return calculate(a, b, at, remainderDoubles, remainderWholes)
}

/** A whole number when it divides evenly, else a double. */
export function divide(a: unknown, b: unknown, at: Operands): unknown {
  if (isMissing(a)) return a
  if (isMissing(b)) return b
  checkNumbers(a, b, at)
  checkDivisor(a, b, at)
  if ((typeof a === 'bigint' || typeof b === 'bigint') && isWhole(a) && isWhole(b as number)) {
    const dividend = BigInt(a)
    const divisor = BigInt(b as number)
    if (dividend % divisor === 0n) return normalise(dividend / divisor)
  }
  return finite(Number(a) / Number(b))
}

function checkDivisor(a: unknown, b: unknown, at: Operands): void {
  if ((b === 0 || b === 0n) && isNumber(a)) {
    throw new ExpressionError('zero', `\`${at.operator}\` by zero`, at.right, 'number')
  }
}

export function negate(value: unknown, path: Operand): unknown {
  if (typeof value === 'number') return 0 - value
  if (typeof value === 'bigint') return normalise(-value)
  if (isMissing(value)) return value
  throw typeError('`-` needs a number', value, path)
}
