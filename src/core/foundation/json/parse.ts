// Parses JSON text to a value, exactly.
// The built-in parser rounds a number to the nearest double: 1.000000000000000001 becomes 1, 0.10 becomes 0.1, 1e400 Infinity.
// It handles every text without such a number; the others go through the parser below, which takes about twice as long.
// Invariants: no prototype is ever set; depth is bounded before anything recurses over the value.

import { NUMERAL_BOUNDS, readNumeral } from './numeral.ts'
import { JsonError, type JsonValue } from './value.ts'

export interface JsonLimits {
  readonly depth?: number
  /** JSON leaves duplicate keys undefined; 'last' keeps the last one, as the built-in parser does. */
  readonly duplicateKeys?: 'last' | 'refuse'
}

const DEPTH_DEFAULT = 256
/** Parsers and writers recurse: beyond this the stack is the limit, whatever the caller requests. */
const DEPTH_MAX = 2000
/**
 * A number that a double may change, in value or in form: of 16 digits or more, with an exponent, with a trailing zero in its
 * fraction, below a millionth, or -0. It may appear inside a text by chance; the parser below then decides. A colon counts only
 * after a quote or a blank, as after a key: every second bundle has a hash such as `sha256:4e…`.
 */
const NEEDS_EXACT =
  /(?:[[,\s]|["\s]:)(?:-0(?:[\s,\]}]|$)|-?\d(?:[\d.]{15}|\d*(?:[eE]|\.(?:0{6}|\d*(?:[eE]|0(?:[\s,\]}]|$))))))/
/** A number alone is always parsed exactly. */
const IS_NUMBER = /^[-\d]/
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON refuses exactly these inside a string
const PLAIN = /[^"\\\u0000-\u001f]*/y
const HEX4 = /[0-9a-fA-F]{4}/y

export function parseJson(text: string, limits: JsonLimits = {}): JsonValue {
  const depthMax = Math.min(limits.depth ?? DEPTH_DEFAULT, DEPTH_MAX)
  const refusesDuplicates = limits.duplicateKeys === 'refuse'
  if (!NEEDS_EXACT.test(text) && !IS_NUMBER.test(text)) {
    try {
      const value = JSON.parse(text) as JsonValue
      const keys = countKeys(value, depthMax)
      if (keys >= 0 && (!refusesDuplicates || keys === keysAtMost(text))) return value
    } catch {
      // The built-in message quotes the text and has no offset on every version.
    }
    // Parsed again, for the offset, or because a key may be duplicated.
  }
  return new Reader(text, depthMax, refusesDuplicates).read()
}

/**
 * The number of keys of all objects, or less than zero if the value is nested too deeply. Walking the value is far cheaper than
 * walking the text, and the built-in parser does not recurse.
 */
function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth <= 0) return Number.NEGATIVE_INFINITY
  let keys = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const member = value[i]
      if (typeof member === 'object' && member !== null) keys += countKeys(member, depth - 1)
    }
    return keys
  }
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    keys += 1
    if (typeof member === 'object' && member !== null) keys += countKeys(member, depth - 1)
  }
  return keys
}

const QUOTE = 0x22
const BLANK_MAX = 0x20

/**
 * An upper bound of the keys in a JSON text: every colon after a quote or a blank. Each key has one, so a value with as many
 * keys lost none to a duplicate. Colons inside texts can only increase it, and are rare.
 */
function keysAtMost(text: string): number {
  let keys = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1)
    if (before === QUOTE || before <= BLANK_MAX) keys += 1
  }
  return keys
}

/** Owns its position in one text; used for one parse. */
class Reader {
  readonly #text: string
  readonly #depthMax: number
  readonly #refuseDuplicates: boolean
  #at = 0

  constructor(text: string, depthMax: number, refuseDuplicates: boolean) {
    this.#text = text
    this.#depthMax = depthMax
    this.#refuseDuplicates = refuseDuplicates
  }

  read(): JsonValue {
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.#text.length) throw new JsonError('unexpected text after the value', this.#at)
    return value
  }

  #value(depth: number): JsonValue {
    this.#space()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth + 1)
      case '[':
        return this.#array(depth + 1)
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #object(depth: number): JsonValue {
    this.#enter(depth)
    const object: { [key: string]: JsonValue } = {}
    if (this.#closes('}')) return object
    do {
      this.#space()
      const keyAt = this.#at
      if (this.#text[this.#at] !== '"') throw this.#unexpected('a key in double quotes')
      const key = this.#string()
      if (this.#refuseDuplicates && Object.hasOwn(object, key))
        throw new JsonError('duplicate key', keyAt, 'duplicate', key)
      this.#space()
      if (this.#text[this.#at] !== ':') throw this.#unexpected('`:`')
      this.#at++
      const value = this.#value(depth)
      if (key === '__proto__') define(object, key, value)
      else object[key] = value
    } while (this.#continues('}'))
    return object
  }

  #array(depth: number): JsonValue {
    this.#enter(depth)
    const array: JsonValue[] = []
    if (this.#closes(']')) return array
    do array.push(this.#value(depth))
    while (this.#continues(']'))
    return array
  }

  #enter(depth: number): void {
    if (depth > this.#depthMax) {
      throw new JsonError(`nested deeper than ${this.#depthMax} levels`, this.#at, 'depth')
    }
    this.#at++
  }

  #closes(end: string): boolean {
    this.#space()
    if (this.#text[this.#at] !== end) return false
    this.#at++
    return true
  }

  #continues(end: string): boolean {
    this.#space()
    const found = this.#text[this.#at]
    if (found !== ',' && found !== end) throw this.#unexpected(`\`,\` or \`${end}\``)
    this.#at++
    return found === ','
  }

  #string(): string {
    const start = this.#at
    let escaped = false
    this.#at++
    for (;;) {
      this.#skip(PLAIN)
      const found = this.#text[this.#at]
      if (found === '"') break
      if (found !== '\\') throw this.#unexpected('a closing quote, or an escape for a control character')
      escaped = true
      this.#escape()
    }
    this.#at++
    const raw = this.#text.slice(start, this.#at)
    return escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  }

  #escape(): void {
    const found = this.#text[this.#at + 1]
    if (found === 'u') {
      HEX4.lastIndex = this.#at + 2
      if (!HEX4.test(this.#text)) throw this.#unexpected('four hex digits after `\\u`')
      this.#at += 6
      return
    }
    if (found === undefined || !'"\\/bfnrt'.includes(found))
      throw this.#unexpected('a known escape after `\\`')
    this.#at += 2
  }

  #number(): JsonValue {
    NUMBER.lastIndex = this.#at
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#unexpected('a value')
    const literal = match[0]
    const start = this.#at
    this.#at += literal.length
    const value = readNumeral(literal, match[1] === undefined && match[2] === undefined)
    if (value === null) throw new JsonError(`number out of range: ${NUMERAL_BOUNDS}`, start, 'number')
    return value
  }

  #word<T extends JsonValue>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value')
    this.#at += word.length
    return value
  }

  #space(): void {
    this.#skip(SPACE)
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at
    pattern.test(this.#text)
    this.#at = pattern.lastIndex
  }

  #unexpected(expected: string): JsonError {
    const found = this.#at >= this.#text.length ? 'the text ends' : 'unexpected character'
    return new JsonError(`${found}: expected ${expected}`, this.#at)
  }
}

function define(object: object, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}
