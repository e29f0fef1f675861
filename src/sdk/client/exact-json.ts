// JSON for receivers, with numbers that keep their value. A number that a double represents is a double; one that it
// would change is a bigint if it is whole, and an `ExactNumber` otherwise. Functions of a node get the same, except for
// whole numbers beyond 2^53, which are always bigints there.
//
// Like the rest of the client it runs in browsers and needs nothing else of the package.

/** A number that no double represents: `String(x)` is its digits as they were sent, `Number(x)` the nearest double. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
  valueOf(): number {
    return Number(this.text)
  }
  /**
   * Its digits if the runtime can write them (Node 22, browsers), else an error, as for a bigint: never another number.
   */
  toJSON(): unknown {
    const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => unknown }
    if (rawJSON !== undefined) return rawJSON(this.text)
    throw new TypeError('this number has digits that JSON.stringify would lose: write String(…) of it')
  }
}

/**
 * A text with numbers of few digits and no exponent loses none; most have no others. Inside strings they may occur by
 * chance.
 */
const MAY_LOSE = /\d[\d.]{14}|\d[eE]/
/** A string, which is skipped, or a number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(\.\d+)?([eE][+-]?\d+)?/gs

export function parseExactJson(text: string): unknown {
  if (!MAY_LOSE.test(text)) return JSON.parse(text)
  // What is not JSON fails here, before anything is replaced.
  const rounded: unknown = JSON.parse(text)
  // No string of the value starts with it, however it was written.
  const normal = JSON.stringify(rounded)
  let mark = '#'
  while (normal.includes(mark)) mark += '#'
  let isMarked = false
  const marked = text.replace(TOKENS, (token, fraction?: string, exponent?: string) => {
    if (token.startsWith('"') || isHeld(token)) return token
    isMarked = true
    const isWhole = fraction === undefined && exponent === undefined
    return `"${mark}${isWhole ? 'n' : 'd'}${token}"`
  })
  if (!isMarked) return rounded
  return JSON.parse(marked, (_, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value
    const digits = value.slice(mark.length + 1)
    return value[mark.length] === 'n' ? BigInt(digits) : exactOf(digits)
  })
}

/** Whether the double is the number that was written. */
function isHeld(literal: string): boolean {
  return decimalOf(literal) === decimalOf(String(Number(literal)))
}

/** A whole number that was written with a fraction or an exponent is a bigint too. */
function exactOf(literal: string): bigint | ExactNumber {
  const [digits = '', exponent = '0'] = (decimalOf(literal) ?? '').split('e')
  const zeros = Number(exponent)
  return digits === '' || zeros < 0 || zeros > PLACES_MAX
    ? new ExactNumber(literal)
    : BigInt(digits + '0'.repeat(zeros))
}

const PLACES_MAX = 1_000

/** The value as whole digits and a power of ten, without zeros at either end; null: it is not a number. */
function decimalOf(literal: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  if (whole === '') return null
  const all = `${whole}${fraction}`.replace(/^0+/, '')
  const digits = trimZeros(all)
  if (digits === '') return '0e0'
  return `${sign}${digits}e${Number(exponent) - fraction.length + (all.length - digits.length)}`
}

/** Not by a regular expression: on many zeros in the middle that would take quadratic time. */
function trimZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}
