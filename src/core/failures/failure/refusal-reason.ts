// Extracts a vendor's explanation of its refusal from the usual fields: one line, bounded.

import { isNumeral, JsonError, type JsonValue, parseJson } from '../../foundation/json/index.ts'

const WORDS_LENGTH_MAX = 300
const READ_LENGTH_MAX = 65_536
/** Most informative first. */
const MEMBERS = ['detail', 'message', 'error_description', 'error', 'errors', 'title', 'reason'] as const
const DEPTH_MAX = 4

/** null: it contains nothing readable. */
export function refusalWords(body: string): string | null {
  if (body === '' || body.length > READ_LENGTH_MAX) return null
  const said = body.trimStart().startsWith('<') ? null : readWords(body)
  const line = said?.replace(/\s+/g, ' ').trim()
  if (line === undefined || line === '') return null
  return line.length > WORDS_LENGTH_MAX ? `${line.slice(0, WORDS_LENGTH_MAX - 1)}…` : line
}

function readWords(body: string): string | null {
  try {
    return wordsOf(parseJson(body), 0)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return body
  }
}

function wordsOf(value: JsonValue, depth: number): string | null {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || isNumeral(value) || depth >= DEPTH_MAX) return null
  if (Array.isArray(value)) return value.length === 0 ? null : wordsOf(value[0] as JsonValue, depth + 1)
  const members = value as Readonly<Record<string, JsonValue>>
  for (const name of MEMBERS) {
    const words = Object.hasOwn(members, name) ? wordsOf(members[name] as JsonValue, depth + 1) : null
    if (words !== null && words !== '') return words
  }
  return null
}
