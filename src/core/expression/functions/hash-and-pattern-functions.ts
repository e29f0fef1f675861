// Functions that CEL lacks: stable hashes, external references, and linear-time patterns.

import { createHash } from 'node:crypto'
import { RE2JS } from 're2js'
import { canonicalJson, isNumber, type JsonValue } from '../../foundation/json/index.ts'
import { charge, chargeText, chargeValue, isMissing, toText, typeError } from '../evaluation/index.ts'
import { ExpressionError } from '../syntax/index.ts'
import type { FunctionEntry, FunctionTable } from './function-entry.ts'
import { hmacWith } from './hmac.ts'
import { needText } from './text-functions.ts'

const PATTERN_MAX = 1000
/** Counted repetitions are unrolled: a short pattern may need a program of any size. */
const PROGRAM_MAX = 20_000
const REPEAT = /\{(\d{1,6})(?:,(\d{0,6}))?\}/g
const EXT_REF_PARTS = ['source', 'route', 'objectType', 'id', 'operation', 'version'] as const
const EXT_REF_REQUIRED = 4

export type Pattern = (text: string) => boolean

/** Throws ExpressionError 'regex'; the message describes the pattern's form and never quotes it. */
export function compilePattern(pattern: string): Pattern {
  if (pattern.length > PATTERN_MAX)
    throw new ExpressionError('regex', `a pattern has at most ${PATTERN_MAX} characters`)
  const size = pattern.length * repeats(pattern)
  if (size > PROGRAM_MAX) {
    throw new ExpressionError('regex', 'this pattern repeats too much: lower its counts')
  }
  if (weighed !== null) weighed.size += size
  try {
    const compiled = RE2JS.compile(pattern)
    return (text) => compiled.matcher(text).find()
  } catch (error) {
    throw new ExpressionError('regex', `this pattern is not valid: ${reasonOf(error)}`)
  }
}

/** Set while `weighPatterns` runs. */
let weighed: { size: number } | null = null

/**
 * The cost of compiling the patterns that `compile` compiles: the length of each, times its counted repetitions. A cost of
 * 10,000 took 1.5 to 6 ms (2026-11, 2 shared cores).
 */
export function weighPatterns(compile: () => void): number {
  const [outer, own] = [weighed, { size: 0 }]
  weighed = own
  try {
    compile()
  } finally {
    weighed = outer
  }
  return own.size
}

function repeats(pattern: string): number {
  let total = 1
  for (const [, least, most] of pattern.matchAll(REPEAT)) total += Math.max(Number(least), Number(most ?? 0))
  return total
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : ''
  const reason = /error parsing regexp: ([a-z ,]+)/i.exec(text)?.[1]?.trim()
  return reason ?? 'look-around and back-references do not exist in linear time'
}

/** Matching cost grows with the text: a pattern engine is far slower than a text search. */
export function patternCost(text: string): number {
  return 1 + (text.length >> 4)
}

const re: FunctionEntry = {
  least: 2,
  most: 2,
  run(frame, site, args) {
    const text = needText(frame, site, args, 0)
    const pattern = needText(frame, site, args, 1)
    // Compiling is the expensive part, and may happen for every element.
    charge(frame, patternCost(text) + 100 + 4 * pattern.length)
    return compilePattern(pattern)(text)
  },
}

const hash: FunctionEntry = {
  least: 1,
  most: 16,
  onlyGlobal: true,
  run(frame, _site, args) {
    chargeValue(frame, args)
    return createHash('sha256')
      .update(canonicalJson(args as readonly JsonValue[]))
      .digest('hex')
  },
}

/** `source:route:objectType:id[:operation[:version]]`; every other character is percent-encoded, so parts cannot collide. */
const extRef: FunctionEntry = {
  least: EXT_REF_REQUIRED,
  most: EXT_REF_PARTS.length,
  seesMissing: true,
  onlyGlobal: true,
  run(frame, site, args) {
    const parts: string[] = []
    for (const [index, value] of args.entries()) {
      if (isMissing(value) && index < EXT_REF_REQUIRED) return value
      if (typeof value === 'object' && value !== null && !isNumber(value)) {
        throw typeError(
          `\`extRef\` needs a text or a number as ${EXT_REF_PARTS[index]}`,
          value,
          site.paths[index],
        )
      }
      parts.push(encodePart(toText(value)))
    }
    while (parts.length > EXT_REF_REQUIRED && parts.at(-1) === '') parts.pop()
    const reference = parts.join(':')
    chargeText(frame, reference.length)
    return reference
  },
}

function encodePart(text: string): string {
  return encodeText(text).replaceAll(
    /[!'()*~]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Percent-encodes; a lone surrogate, which has no encoding, becomes the replacement character. */
export function encodeText(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'))
}

/** Dots, wildcards, spaces, control characters and lone surrogates: not allowed in a token of a subject. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const NO_TOKEN = /[\s\u0000-\u001f\u007f-\u009f.*>\p{Surrogate}]+/gu
const TOKEN_LENGTH_MAX = 96
const WORD = /^[\w-]{1,96}$/
const TOKENS_MAX = 8

/** Makes a part of a subject from arbitrary input: one token, or several with a separator. */
const token: FunctionEntry = {
  least: 1,
  most: 2,
  run(frame, site, args) {
    const [value] = args
    if (typeof value === 'object' && !isNumber(value)) return null
    // Most inputs are valid tokens already, and every event has one or two.
    if (args.length === 1 && typeof value === 'string' && WORD.test(value)) return value
    charge(frame, 1)
    const text = toText(value).slice(0, TOKEN_LENGTH_MAX)
    const separator = args.length < 2 ? '' : needText(frame, site, args, 1)
    const parts = separator === '' ? [text] : text.split(separator).filter((part) => part !== '')
    const [first, rest] = [parts.slice(0, TOKENS_MAX - 1), parts.slice(TOKENS_MAX - 1)]
    const all = rest.length === 0 ? first : [...first, rest.join('_')]
    return all.map((part) => part.replace(NO_TOKEN, '_')).join('.') || null
  },
}

export const HELPERS: FunctionTable = { re, hash, hmac: hmacWith(undefined), extRef, token }
