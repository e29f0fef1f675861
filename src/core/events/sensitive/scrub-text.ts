// Redacts the sensitive values of an event in foreign texts about it: a function's error, a vendor's refusal, a log line.
//
// Texts are searched for the values themselves. A value of a few characters would blank half of every sentence and is ignored;
// if there are too many values to search for, the whole text is blanked.

import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import { HIDDEN } from './redact-sensitive.ts'
import { compileSensitive, type HidingTree } from './sensitive-paths.ts'

export type Scrub = (text: string) => string

const LENGTH_MIN = 4
const VALUES_MAX = 2_000
/** Of all values together: each is searched for in the text. */
const LENGTH_SUM_MAX = 262_144
const PLAIN_WORDS = new Set(['true', 'false', 'null'])

export const scrubNothing: Scrub = (text) => text

export function makeScrub(paths: readonly string[], payload: JsonValue, header: JsonValue): Scrub {
  if (paths.length === 0) return scrubNothing
  const { payload: inPayload, header: inHeader } = compileSensitive(paths)
  const found: Found = { values: new Set(), length: 0, isTooMuch: false }
  gather(payload, inPayload, found)
  gather(header, inHeader, found)
  return scrubOf(found)
}

/** Without these texts, as far as they are long enough to be distinguished from other words. */
export function makeScrubOfTexts(texts: readonly string[]): Scrub {
  let whole: Scrub | null = null
  return (text) => {
    // Responses rarely contain any of these: then their spellings need not be computed.
    if (texts.length <= FEW && texts.every((one) => isFarFrom(one, text))) return text
    whole ??= scrubOf(gatherTexts(texts))
    return whole(text)
  }
}

function gatherTexts(texts: readonly string[]): Found {
  const found: Found = { values: new Set(), length: 0, isTooMuch: false }
  for (const text of texts) gatherAll(text, found)
  return found
}

const FEW = 4
/** Spelled the same in JSON and in one line. */
const PLAIN = /^[\w+/=.,:~-]+$/

/**
 * Whether no spelling of a plain value, nor a prefix of one, can be in the text: it contains nothing that a value begins with.
 */
function isFarFrom(value: string, text: string): boolean {
  if (!PLAIN.test(value)) return false
  const begin = value.slice(0, LENGTH_MIN)
  return (
    !text.includes(begin) &&
    !text.includes(begin.toLowerCase()) &&
    !text.includes(encodeText(begin).slice(0, LENGTH_MIN))
  )
}

function scrubOf(found: Found): Scrub {
  if (found.isTooMuch) return () => HIDDEN
  if (found.values.size === 0) return scrubNothing
  // Longest first: replacing a shorter one inside it must not leave the rest of it.
  const values = [...found.values].sort((one, other) => other.length - one.length)
  return (text) => hideCut(values.reduce(hideEach, text), values)
}

/** Where a text was truncated, before or while it was reported, a value may have lost its end. */
const CUT = '…'

function hideCut(text: string, values: readonly string[]): string {
  return text
    .split(CUT)
    .map((part) => hideBegun(part, values))
    .join(CUT)
}

/** Removes a prefix of a value at the end of a text. */
function hideBegun(text: string, values: readonly string[]): string {
  let end = text.length
  for (const value of values) {
    const begin = value.slice(0, LENGTH_MIN)
    let at = text.indexOf(begin, Math.max(0, text.length - value.length))
    while (at !== -1 && !value.startsWith(text.slice(at))) at = text.indexOf(begin, at + 1)
    if (at !== -1) end = Math.min(end, at)
  }
  return end === text.length ? text : text.slice(0, end) + HIDDEN
}

function hideEach(text: string, value: string): string {
  return text.includes(value) ? text.replaceAll(value, HIDDEN) : text
}

interface Found {
  readonly values: Set<string>
  length: number
  isTooMuch: boolean
}

function gather(value: JsonValue, tree: HidingTree | null, found: Found): void {
  if (tree === null || value === null || found.isTooMuch) return
  if (isHiddenWhole(value, tree)) {
    gatherAll(value, found)
  } else if (Array.isArray(value)) {
    for (const item of value) gather(item, tree.each, found)
    for (const [at, below] of tree.positions) gather(value[at] ?? null, below, found)
  } else {
    const map = value as Readonly<Record<string, JsonValue>>
    for (const [name, below] of tree.fields) {
      if (Object.hasOwn(map, name)) gather(map[name] as JsonValue, below, found)
    }
  }
}

/** As `redact` does: including values whose shape differs from the paths. */
function isHiddenWhole(value: JsonValue, tree: HidingTree): boolean {
  if (tree.isWhole || typeof value !== 'object' || isNumeral(value)) return true
  return Array.isArray(value) ? tree.fields.size > 0 : tree.each !== null || tree.positions.size > 0
}

/** Every text and number in it; member names are the sender's vocabulary, not its data. */
function gatherAll(value: JsonValue, found: Found): void {
  if (value === null || found.isTooMuch) return
  // It may be quoted as written, or by its value.
  if (isNumeral(value)) keep(value.text, found)
  else if (typeof value === 'object') {
    const parts = Array.isArray(value) ? value : Object.values(value)
    for (const part of parts) gatherAll(part as JsonValue, found)
    return
  }
  const text = String(value)
  keep(text, found)
  // Its spelling in quoted JSON, in an address, in one line, and as vendors write account names.
  keep(JSON.stringify(text).slice(1, -1), found)
  keep(encodeText(text), found)
  keep(text.replace(/\s+/g, ' ').trim(), found)
  keep(text.toLowerCase(), found)
}

function encodeText(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

function keep(text: string, found: Found): void {
  if (text.length < LENGTH_MIN || PLAIN_WORDS.has(text) || found.values.has(text)) return
  found.values.add(text)
  found.length += text.length
  found.isTooMuch = found.values.size > VALUES_MAX || found.length > LENGTH_SUM_MAX
}
