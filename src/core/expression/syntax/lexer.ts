// Splits text into tokens. Positions are exact: findings point at a column.

import type { JsonNumber } from '../../foundation/json/index.ts'
import { Fault } from './expression-errors.ts'
import { readNumber, readString } from './literal-values.ts'

export interface Token {
  readonly type: 'name' | 'number' | 'string' | 'operator' | 'end'
  /** The name or operator; empty for literals. */
  readonly text: string
  readonly value: string | JsonNumber
  readonly at: number
  readonly end: number
}

const TEXT_MAX = 16_384

const SPACE = /(?:\s|\/\/[^\n]*)*/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
/** Header names contain dashes; one ends at a space, so `header.a - 1` still subtracts. */
const HEADER_NAME = /[A-Za-z_][A-Za-z0-9_]*(?:-+[A-Za-z0-9_]+)*/y
const OPERATOR = /\|\||&&|[=!<>]=|[-+*/%!<>?:.,()[\]{}]/y
const DIGIT = /[0-9]/
const MISTAKES: readonly (readonly [string, string, string?])[] = [
  ['{{', 'an expression is written without `{{ }}` here'],
  ['=', 'write `==` to compare', '=='],
  ['&', 'write `&&`', '&&'],
  ['|', 'write `||`', '||'],
  ['“', 'use straight quotes', "'"],
  ['”', 'use straight quotes', "'"],
  ['‘', 'use straight quotes', "'"],
  ['’', 'use straight quotes', "'"],
  ['`', "use straight quotes, and ['…'] for an unusual field name", "'"],
]

export function tokenize(text: string): readonly Token[] {
  if (text.length > TEXT_MAX) {
    throw new Fault(`an expression has at most ${TEXT_MAX} characters`, TEXT_MAX, text.length - TEXT_MAX)
  }
  const tokens: Token[] = []
  let at = skip(SPACE, text, 0)
  while (at < text.length) {
    const token = readToken(text, at, tokens)
    tokens.push(token)
    at = skip(SPACE, text, token.end)
  }
  tokens.push({ type: 'end', text: '', value: '', at: text.length, end: text.length })
  return tokens
}

function readToken(text: string, at: number, before: readonly Token[]): Token {
  const afterDot = before.at(-1)?.text === '.'
  if (!afterDot || text[at] === "'" || text[at] === '"') {
    const string = readString(text, at)
    if (string !== null) return { type: 'string', text: '', at, ...string }
    if (/[bB]r?["']/y.test(text.slice(at, at + 3))) {
      throw new Fault('there are no byte texts: write the text without `b`', at, 1, '')
    }
  }
  const pattern = afterDot && isHeaderRoot(before) ? HEADER_NAME : NAME
  const nameEnd = skip(pattern, text, at)
  if (nameEnd > at) return { type: 'name', text: text.slice(at, nameEnd), value: '', at, end: nameEnd }
  const first = text[at] ?? ''
  if (DIGIT.test(first) || (first === '.' && DIGIT.test(text[at + 1] ?? '') && !endsValue(before))) {
    const number = readNumber(text, at)
    if (number !== null) return { type: 'number', text: '', at, ...number }
  }
  if (text.startsWith('{{', at) && before.length === 0) throw mistake(text, at)
  const end = skip(OPERATOR, text, at)
  if (end === at || text.startsWith('===', at) || text.startsWith('!==', at)) throw mistake(text, at)
  return { type: 'operator', text: text.slice(at, end), value: '', at, end }
}

function isHeaderRoot(before: readonly Token[]): boolean {
  return before.at(-2)?.text === 'header' && before.at(-2)?.type === 'name' && before.at(-3)?.text !== '.'
}

/** `payload.5` must fail on the dot, not parse as `.5`. */
function endsValue(before: readonly Token[]): boolean {
  const last = before.at(-1)
  return (
    last !== undefined &&
    (last.type !== 'operator' || last.text === ')' || last.text === ']' || last.text === '}')
  )
}

function mistake(text: string, at: number): Fault {
  if (text.startsWith('===', at)) return new Fault('write `==` to compare', at, 3, '==')
  if (text.startsWith('!==', at)) return new Fault('write `!=` to compare', at, 3, '!=')
  for (const [found, advice, instead] of MISTAKES) {
    if (text.startsWith(found, at)) return new Fault(advice, at, found.length, instead)
  }
  const length = (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return new Fault('this character has no meaning here: a text needs quotes', at, length)
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
