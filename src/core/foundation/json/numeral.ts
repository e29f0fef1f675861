// Numbers that a double would change, in value or in form: their representation, their order, and the canonical text that all
// numerals of equal value share.
//
// A number here is a double (where its shortest text is the numeral as written), a bigint (an integer beyond 2^53) or a Numeral
// (all others: 1.0, 1E+2, -0, 1.000000000000000001).
// Invariants: canonicalNumber(a) === canonicalNumber(b) exactly where compareNumbers(a, b) === 0. Every function is linear in
// the characters of its numerals, of which there are at most NUMERAL_LENGTH_MAX.

/** Characters of a numeral, as it is written. */
const NUMERAL_LENGTH_MAX = 1000
/** How far its first digit other than 0 may be from the decimal point. */
const NUMERAL_PLACES_MAX = 1000

export const NUMERAL_BOUNDS = `a number has at most ${NUMERAL_LENGTH_MAX} characters, and its first digit at most ${NUMERAL_PLACES_MAX} places from the decimal point`

export type JsonNumber = number | bigint | Numeral

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const ZERO = 0x30

type WriteRaw = (text: string) => unknown
/** Node 20 lacks it. */
const writeRaw = (JSON as unknown as { readonly rawJSON?: WriteRaw }).rawJSON

/** A number as written in JSON. Create one by `readNumeral`, which checks its bounds. */
export class Numeral {
  /** Digit for digit as written. */
  readonly text: string
  #canonical: string | undefined
  #plain: JsonNumber | undefined

  constructor(text: string) {
    this.text = text
  }

  /** The text of its value: the same for every numeral of the same value. */
  toString(): string {
    this.#canonical ??= writeParts(splitNumeral(this.text))
    return this.#canonical
  }

  /** The nearest double. It may differ in value. */
  valueOf(): number {
    return Number(this.text)
  }

  /** Its digits where the built-in writer accepts them, otherwise an error, as for a bigint: never a different number. */
  toJSON(): unknown {
    if (writeRaw !== undefined) return writeRaw(this.text)
    throw new TypeError(`this number has digits that JSON.stringify would lose: write String(…) of it`)
  }

  /** The same value as double or bigint where one of them holds it, else a Numeral in its canonical text. */
  plain(): JsonNumber {
    this.#plain ??= plainOf(this, this.toString())
    return this.#plain
  }
}

function plainOf(numeral: Numeral, text: string): JsonNumber {
  const double = Number(text)
  if (!text.includes('.') && !text.includes('e')) return Number.isSafeInteger(double) ? double : BigInt(text)
  if (String(double) === text) return double
  return numeral.text === text ? numeral : new Numeral(text)
}

export function isNumeral(value: unknown): value is Numeral {
  return value instanceof Numeral
}

export function isNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Numeral
}

/** Its value as double or bigint where one of them holds it. */
export function plainNumber(value: JsonNumber): JsonNumber {
  return typeof value === 'object' ? value.plain() : value
}

/** A numeral of JSON, digit for digit; null: it exceeds the bounds. `isWhole`: it has neither fraction nor exponent. */
export function readNumeral(literal: string, isWhole: boolean): JsonNumber | null {
  const double = Number(literal)
  if (isWhole) {
    if (Number.isSafeInteger(double) && !Object.is(double, -0)) return double
    if (literal.length > NUMERAL_LENGTH_MAX) return null
    return double === 0 ? new Numeral(literal) : BigInt(literal)
  }
  if (literal.length > NUMERAL_LENGTH_MAX) return null
  // An integral double beyond 2^53 has more digits than its shortest text.
  if (!Number.isInteger(double) && String(double) === literal) return double
  const { digits, point } = splitNumeral(literal)
  return digits === '' || isWithin(point) ? new Numeral(literal) : null
}

/** The text of the value: only digits for an integer, otherwise as `String` writes a double. */
export function canonicalNumber(value: JsonNumber): string {
  if (typeof value !== 'number') return String(value)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return BigInt(value).toString()
  return String(value === 0 ? 0 : value)
}

/** Below 0, 0 or above 0, exactly. */
export function compareNumbers(a: JsonNumber, b: JsonNumber): number {
  if (typeof a !== 'object' && typeof b !== 'object') return a < b ? -1 : a > b ? 1 : 0
  return compareParts(splitNumeral(canonicalNumber(a)), splitNumeral(canonicalNumber(b)))
}

/** 0.`digits` × 10^`point`, without zeros at either end of the digits; none for zero. */
interface Parts {
  readonly isNegative: boolean
  readonly digits: string
  readonly point: number
}

function splitNumeral(text: string): Parts {
  const [, sign, whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? []
  const all = whole + fraction
  let from = 0
  while (from < all.length && all.charCodeAt(from) === ZERO) from += 1
  let to = all.length
  while (to > from && all.charCodeAt(to - 1) === ZERO) to -= 1
  if (from === to) return { isNegative: false, digits: '', point: 0 }
  return {
    isNegative: sign === '-',
    digits: all.slice(from, to),
    point: whole.length - from + Number(exponent),
  }
}

function isWithin(point: number): boolean {
  return point <= NUMERAL_PLACES_MAX && point >= -NUMERAL_PLACES_MAX
}

function compareParts(a: Parts, b: Parts): number {
  if (a.digits === '' || b.digits === '' || a.isNegative !== b.isNegative) return senseOf(a) - senseOf(b)
  const sense = a.point === b.point ? compareTexts(a.digits, b.digits) : a.point - b.point
  return a.isNegative ? 0 - sense : sense
}

function senseOf({ isNegative, digits }: Parts): number {
  return digits === '' ? 0 : isNegative ? -1 : 1
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** As `String` writes doubles, but an integer with all its digits. */
function writeParts({ isNegative, digits, point }: Parts): string {
  if (digits === '') return '0'
  const sign = isNegative ? '-' : ''
  if (digits.length <= point) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  if (point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  if (point > -6) return `${sign}0.${'0'.repeat(-point)}${digits}`
  const rest = digits.length > 1 ? `.${digits.slice(1)}` : ''
  return `${sign}${digits.slice(0, 1)}${rest}e${point - 1}`
}

/** `coefficient` / 10^`scale`, `scale` never below 0. */
export interface Scaled {
  readonly coefficient: bigint
  readonly scale: number
}

export function toScaled(value: JsonNumber): Scaled {
  if (typeof value === 'bigint') return { coefficient: value, scale: 0 }
  const { isNegative, digits, point } = splitNumeral(canonicalNumber(value))
  const scale = digits.length - point
  const size = BigInt(scale < 0 ? digits + '0'.repeat(-scale) : digits)
  return { coefficient: isNegative ? -size : size, scale: Math.max(0, scale) }
}

/** null: it exceeds the bounds. */
export function fromScaled({ coefficient, scale }: Scaled): JsonNumber | null {
  const text = coefficient.toString()
  // Trailing zeros: 10 / 10^2 is 0.1.
  const { isNegative, digits, point } = splitNumeral(text)
  const parts = { isNegative, digits, point: point - scale }
  if (digits.length > NUMERAL_LENGTH_MAX || (digits !== '' && !isWithin(parts.point))) return null
  return new Numeral(writeParts(parts)).plain()
}
