// core/events/sensitive/scrub-text.ts — texts that others write (a function's error, a vendor's refusal, a line for the log) without the
// sensitive values of the event that they are about.
//
// Texts are looked through for the values themselves. A value of a few characters would blank half of every sentence and is
// left alone; so many values that looking would be dear blank the whole text.

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

/** Without these texts, as far as they are long enough to be told from other words. */
export function makeScrubOfTexts(texts: readonly string[]): Scrub {
  let whole: Scrub | null = null
  return (text) => {
    // What answers say has nothing to do with these, as a rule: then their spellings need not be made.
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
/** Written alike in JSON and in one line. */
const PLAIN = /^[\w+/=.,:~-]+$/

/** Whether no spelling of a plain value, nor the beginning of one, can be in the text: it holds nothing that one begins with. */
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
  // The longest first: a shorter one inside it must not leave the rest of it.
  const values = [...found.values].sort((one, other) => other.length - one.length)
  return (text) => hideCut(values.reduce(hideEach, text), values)
}

/** Where somebody shortened a text, before it came here or while it was told, a value may have lost its end. */
const CUT = '…'

function hideCut(text: string, values: readonly string[]): string {
  return text
    .split(CUT)
    .map((part) => hideBegun(part, values))
    .join(CUT)
}

/** Without what a value begins with, at the end of a text. */
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

/** As `redact` does: also what has another shape than the paths say. */
function isHiddenWhole(value: JsonValue, tree: HidingTree): boolean {
  if (tree.isWhole || typeof value !== 'object' || isNumeral(value)) return true
  return Array.isArray(value) ? tree.fields.size > 0 : tree.each !== null || tree.positions.size > 0
}

/** Every text and number in it; names of members are the sender's vocabulary, not its data. */
function gatherAll(value: JsonValue, found: Found): void {
  if (value === null || found.isTooMuch) return
  // It may be quoted as it was written, or by its value.
  if (isNumeral(value)) keep(value.text, found)
  else if (typeof value === 'object') {
    const parts = Array.isArray(value) ? value : Object.values(value)
    for (const part of parts) gatherAll(part as JsonValue, found)
    return
  }
  const text = String(value)
  keep(text, found)
  // As it stands in JSON that somebody quotes, in an address, in one line, and as vendors write names of people's accounts.
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
