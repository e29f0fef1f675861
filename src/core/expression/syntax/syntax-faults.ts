// Turns "something else was expected" into a suggestion of what to write instead.

import { Fault } from './expression-errors.ts'
import type { Token } from './lexer.ts'

const WORDS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['AND', '&&'],
  ['or', '||'],
  ['OR', '||'],
  ['is', '=='],
])
const QUOTED_MAX = 60

export function unexpected(text: string, tokens: readonly Token[], index: number, expected: string): Fault {
  const token = tokens[index] as Token
  if (token.type === 'end') return new Fault(`the expression ends too early: ${expected}`, text.length, 0)
  return new Fault(`${expected}, found ${shown(token)}`, token.at, token.end - token.at)
}

/** A value is complete and more follows: an operator is missing, or the author wrote plain text. */
export function textNeedsQuotes(text: string, tokens: readonly Token[], index: number): Fault {
  const token = tokens[index] as Token
  const length = token.end - token.at
  const operator = token.type === 'name' ? WORDS.get(token.text) : undefined
  if (operator !== undefined) return new Fault(`write \`${operator}\``, token.at, length, operator)
  if (token.type === 'operator')
    return new Fault(`${shown(token)} has nothing to close or join here`, token.at, length)
  const plain = tokens.every((one) => one.type === 'name' || one.type === 'number' || one.type === 'end')
  if (plain && text.length <= QUOTED_MAX) {
    const trimmed = text.trim()
    return new Fault('text needs quotes', text.indexOf(trimmed), trimmed.length, quoted(trimmed))
  }
  return new Fault(`an operator is missing before ${shown(token)}; text needs quotes`, token.at, length)
}

export function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
}

function shown(token: Token): string {
  return token.type === 'string' ? 'a text' : token.type === 'number' ? 'a number' : `\`${token.text}\``
}
