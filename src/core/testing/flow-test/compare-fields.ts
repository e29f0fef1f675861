// Compares what is expected with what is there. Of a map only the expected fields count; a list is compared element by element.

import { compareNumbers, isNumber, type JsonValue, placeText } from '../../foundation/json/index.ts'
import type { FieldDifference } from './flow-test.ts'

const DIFFERENCES_MAX = 50

export function compareFields(expected: JsonValue, got: JsonValue | undefined): readonly FieldDifference[] {
  const found: FieldDifference[] = []
  walk(expected, got, [], found)
  return found
}

function walk(
  expected: JsonValue,
  got: JsonValue | undefined,
  place: readonly (string | number)[],
  found: FieldDifference[],
): void {
  if (found.length >= DIFFERENCES_MAX) return
  if (Array.isArray(expected) && Array.isArray(got)) {
    for (let at = 0; at < Math.max(expected.length, got.length); at += 1) {
      const here = [...place, at]
      if (at < expected.length) walk(expected[at] as JsonValue, got[at], here, found)
      else found.push({ at: placeText(here), got: got[at] as JsonValue })
    }
    return
  }
  if (isMap(expected) && isMap(got)) {
    for (const [name, value] of Object.entries(expected))
      walk(value, Object.hasOwn(got, name) ? got[name] : undefined, [...place, name], found)
    return
  }
  if (isEqual(expected, got)) return
  found.push({ at: placeText(place), expected, ...(got === undefined ? {} : { got }) })
}

/** A field that is expected to be null may also be absent, as in expressions. */
function isEqual(expected: JsonValue, got: JsonValue | undefined): boolean {
  if (expected === null) return got === null || got === undefined
  if (isNumber(expected) && got !== undefined && isNumber(got)) return compareNumbers(expected, got) === 0
  return expected === got
}

function isMap(value: JsonValue | undefined): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value)
}
