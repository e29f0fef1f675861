// Lists the differences between two JSON values, path by path.

import { compareNumbers, isNumber } from './numeral.ts'
import type { JsonValue } from './value.ts'

export type JsonPlace = string | number

export interface JsonChange {
  /** From the root; a member's name, or a position in a list. */
  readonly place: readonly JsonPlace[]
  /** undefined: it was absent. */
  readonly before: JsonValue | undefined
  /** undefined: it was removed. */
  readonly after: JsonValue | undefined
}

/** The first `max` of them, in document order. */
export function diffJson(before: JsonValue, after: JsonValue, max: number): readonly JsonChange[] {
  const changes: JsonChange[] = []
  walk(before, after, [], changes, max)
  return changes
}

function walk(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  place: readonly JsonPlace[],
  changes: JsonChange[],
  max: number,
): void {
  if (changes.length >= max || before === after) return
  if (isList(before) && isList(after)) {
    for (let at = 0; at < Math.max(before.length, after.length) && changes.length < max; at += 1)
      walk(before[at], after[at], [...place, at], changes, max)
    return
  }
  if (isMap(before) && isMap(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (changes.length >= max) return
      walk(member(before, name), member(after, name), [...place, name], changes, max)
    }
    return
  }
  // 0 and −0 are one number in JSON, and so are 1 and 1.0.
  if (isNumber(before) && isNumber(after) && compareNumbers(before, after) === 0) return
  if (before !== after) changes.push({ place, before, after })
}

type JsonMap = Readonly<Record<string, JsonValue>>

function member(map: JsonMap, name: string): JsonValue | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

function isList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value)
}

function isMap(value: JsonValue | undefined): value is JsonMap & JsonValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value)
}

/** `lines[0].sku`, `headers['x-user']`; the root itself is the empty text. */
export function placeText(place: readonly JsonPlace[]): string {
  let text = ''
  for (const step of place) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `['${step.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}']`
  }
  return text
}
