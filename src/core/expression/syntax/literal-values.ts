// Numbers and quoted texts of the expression language, as in CEL.

import { type JsonNumber, plainNumber, readNumeral } from '../../foundation/json/index.ts'
import { Fault } from './expression-errors.ts'

const STRING_OPEN = /([rR]?)("""|'''|"|')/y
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
}
const CODE_POINT = /x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y

export interface Literal<T> {
  readonly value: T
  readonly end: number
}

/** The text literal that begins at `at`, or null if there is none. */
export function readString(text: string, at: number): Literal<string> | null {
  STRING_OPEN.lastIndex = at
  const open = STRING_OPEN.exec(text)
  if (open === null) return null
  const quote = open[2] ?? ''
  const raw = open[1] !== ''
  const start = at + open[0].length
  let value = ''
  let from = start
  let position = start
  while (!text.startsWith(quote, position)) {
    const found = text[position]
    if (found === undefined || (quote.length === 1 && (found === '\n' || found === '\r'))) {
      throw new Fault(`this text is not closed: add \`${quote}\` at its end`, at, Math.max(1, position - at))
    }
    if (found === '\\' && !raw) {
      const escaped = readEscape(text, position)
      value += text.slice(from, position) + escaped.value
      position = escaped.end
      from = position
    } else {
      // A raw text keeps its backslashes, but a backslash still escapes a quote, as in CEL.
      position += found === '\\' && position + 1 < text.length ? 2 : 1
    }
  }
  return { value: value + text.slice(from, position), end: position + quote.length }
}

function readEscape(text: string, at: number): Literal<string> {
  const simple = SIMPLE[text[at + 1] ?? '']
  if (simple !== undefined) return { value: simple, end: at + 2 }
  CODE_POINT.lastIndex = at + 1
  const match = CODE_POINT.exec(text)
  if (match === null) {
    throw new Fault(
      "unknown escape: write `\\\\` for a backslash, or a raw text as r'…'",
      at,
      Math.min(2, text.length - at),
      '\\\\',
    )
  }
  const hex = match[1] ?? match[2] ?? match[3] ?? match[4]
  const code = hex === undefined ? Number.parseInt(match[5] ?? '', 8) : Number.parseInt(hex, 16)
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new Fault('this escape is not a character', at, match[0].length + 1)
  }
  return { value: String.fromCodePoint(code), end: at + 1 + match[0].length }
}

const NUMBER = /0[xX]([0-9a-fA-F]+)|(\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(\d+)/y
const DIGITS_MAX = 1000

export function readNumber(text: string, at: number): Literal<JsonNumber> | null {
  NUMBER.lastIndex = at
  const match = NUMBER.exec(text)
  if (match === null) return null
  const end = at + match[0].length
  if (/[A-Za-z0-9_]/.test(text[end] ?? '')) {
    throw new Fault('a number ends here: put a text in quotes, or a space before the name', at, end + 1 - at)
  }
  if (match[0].length > DIGITS_MAX) throw new Fault('this number is too long', at, end - at)
  if (match[2] === undefined) {
    const value = Number(match[0])
    return { value: Number.isSafeInteger(value) ? value : BigInt(match[0]), end }
  }
  // JSON has no `.5`.
  const value = readNumeral(match[0].startsWith('.') ? `0${match[0]}` : match[0], false)
  if (value === null) throw new Fault('this number is out of range', at, end - at)
  return { value: plainNumber(value), end }
}
