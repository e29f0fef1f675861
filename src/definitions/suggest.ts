// "Did you mean …?" and the quotes that YAML needs.

import { closest, editDistance } from '../core/foundation/text/index.ts'

export { closest }

/** The subject that differs least from a pattern, token by token; none if all differ too much. */
export function closestSubject(pattern: string, subjects: readonly string[]): string | undefined {
  const wanted = pattern.split('.')
  const meant = meaningOf(pattern)
  const same = subjects.find((subject) => meaningOf(subject) === meant)
  if (same !== undefined) return same
  let best: string | undefined
  let bestDistance = Infinity
  for (const subject of subjects) {
    const tokens = subject.split('.')
    if (Math.abs(tokens.length - wanted.length) > 1) continue
    const distance = tokensDistance(wanted, tokens)
    if (distance >= bestDistance) continue
    best = subject
    bestDistance = distance
  }
  // More than a third of it is not a typing error.
  return bestDistance <= Math.max(2, pattern.length / 3) ? best : undefined
}

/** Words that vendors use for the same change. */
const CHANGES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['created', 'create', 'opened', 'open', 'new', 'added'],
    ['updated', 'update', 'changed', 'edited', 'modified'],
    ['closed', 'close'],
    ['reopened', 'reopen'],
    ['merged', 'merge'],
    ['deleted', 'delete', 'removed', 'destroyed'],
    ['approved', 'approve'],
  ].flatMap(([one = '', ...others]) => others.map((other) => [other, one])),
)

/** Equal for subjects that say the same in other spellings: `mergerequest.opened`, `merge_request.created`. */
function meaningOf(subject: string): string {
  const tokens = subject.toLowerCase().replaceAll(/[_-]/g, '').split('.')
  const last = tokens.at(-1) ?? ''
  return [...tokens.slice(0, -1), Object.hasOwn(CHANGES, last) ? CHANGES[last] : last].join('.')
}

const TOKEN_PRICE = 3

function tokensDistance(wanted: readonly string[], tokens: readonly string[]): number {
  // Most subjects of a catalog are of other vendors: the first token tells them apart, at no cost.
  if (wanted.length > 2 && wanted[0] !== tokens[0] && wanted[1] !== tokens[1]) return Infinity
  let distance = TOKEN_PRICE * Math.abs(wanted.length - tokens.length)
  for (let index = 0; index < Math.min(wanted.length, tokens.length); index += 1) {
    const [token, other] = [wanted[index] as string, tokens[index] as string]
    if (token === other || token === '*' || token === '>') continue
    distance += editDistance(token.toLowerCase(), other.toLowerCase()) + 1
  }
  return distance
}

export function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

/** A plain scalar that stays this text, wherever it is. */
const PLAIN = /^[A-Za-z_/.][A-Za-z0-9_./=<>()?;$+*-]*(?: [A-Za-z0-9_./=<>()?;$&|+*!-]+)*$/
const AMOUNT = /^\d+(?:ms|s|m|h|d|B|KiB|MiB|GiB)$/
const NOT_TEXT = /^(?:true|false|null|\.inf|\.nan|\.\d.*)$/i

/** The text as a YAML scalar, with quotes if it needs them. */
export function quoteYaml(text: string): string {
  return AMOUNT.test(text) || (PLAIN.test(text) && !NOT_TEXT.test(text)) ? text : alwaysQuoteYaml(text)
}

function alwaysQuoteYaml(text: string): string {
  if (/[\n\r\t]/.test(text)) return JSON.stringify(text)
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}

const BLOCK_ENTRY = /^\s*(?:- +)*(?:[\w.-]+:\s+|- +)(\S.*?)\s*$/

/** The value after the key of a line, in quotes; undefined for a list or map in braces. */
export function quoteLine(line: string): string | undefined {
  const value = BLOCK_ENTRY.exec(line)?.[1]
  if (value === undefined || /^(?:\{(?!\{)|\[)/.test(value)) return undefined
  return alwaysQuoteYaml(value)
}
