// Copies a value without its sensitive parts.
//
// Invariants: the input is never changed; parts that do not lead to a sensitive path are shared, not copied; own members only,
// and none is ever set on a prototype. Where a value's shape differs from the path, the whole value there is hidden: a sender
// that changes its format must not reveal what was meant to be hidden.

import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import { compileSensitive, type HidingTree } from './sensitive-paths.ts'

export const HIDDEN = '[hidden]'

/** `paths` are relative to the payload; those of headers are ignored. */
export function redact(value: JsonValue, paths: readonly string[]): JsonValue {
  return redactBy(value, compileSensitive(paths).payload)
}

/** Headers stay a map: where all of them are sensitive, it shows their names. */
export function redactHeader(value: JsonValue, paths: readonly string[]): JsonValue {
  const { header } = compileSensitive(paths)
  if (header?.isWhole !== true || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return redactBy(value, header)
  }
  return Object.fromEntries(Object.keys(value).map((name) => [name, HIDDEN]))
}

/** Whether the value at this path of the payload, or anything below it, is sensitive. */
export function isHiddenAt(place: readonly (string | number)[], paths: readonly string[]): boolean {
  let trees = [compileSensitive(paths).payload]
  for (const step of place) {
    const below: (HidingTree | null)[] = []
    for (const tree of trees) {
      if (tree === null) continue
      if (tree.isWhole) return true
      // A value whose shape differs from the path is hidden completely, as `redact` does.
      if (typeof step === 'string' ? tree.each !== null || tree.positions.size > 0 : tree.fields.size > 0)
        return true
      if (typeof step === 'string') below.push(tree.fields.get(step) ?? null)
      else below.push(tree.positions.get(step) ?? null, tree.each)
    }
    trees = below
  }
  return trees.some((tree) => tree !== null)
}

/** The prefix of a path that may be named: it ends where everything below is sensitive. */
export function namedPart<Step extends string | number>(
  place: readonly Step[],
  paths: readonly string[],
): readonly Step[] {
  const length = place.findIndex((_, index) => !isNameable(place.slice(0, index + 1), paths))
  return length < 0 ? place : place.slice(0, length)
}

/** Whether a sensitive path names the step itself, or nothing there is sensitive. */
function isNameable(place: readonly (string | number)[], paths: readonly string[]): boolean {
  if (!isHiddenAt(place, paths)) return true
  const parent = place.slice(0, -1)
  // Any sibling step is hidden too: the parent is sensitive as a whole.
  return !isHiddenAt([...parent, typeof place.at(-1) === 'number' ? 2 ** 31 : '\u0000'], paths)
}

function redactBy(value: JsonValue, tree: HidingTree | null): JsonValue {
  if (tree === null) return value
  if (tree.isWhole) return HIDDEN
  // Absent, so there is nothing to hide.
  if (value === null) return value
  if (typeof value !== 'object' || isNumeral(value)) return HIDDEN
  return Array.isArray(value) ? redactList(value, tree) : redactMap(value as JsonMap, tree)
}

type JsonMap = Readonly<Record<string, JsonValue>>

function redactList(list: readonly JsonValue[], tree: HidingTree): JsonValue {
  if (tree.fields.size > 0) return HIDDEN
  const copy = tree.each === null ? [...list] : list.map((item) => redactBy(item, tree.each))
  for (const [at, below] of tree.positions) {
    if (at < copy.length) copy[at] = redactBy(copy[at] as JsonValue, below)
  }
  return copy
}

function redactMap(map: JsonMap, tree: HidingTree): JsonValue {
  if (tree.each !== null || tree.positions.size > 0) return HIDDEN
  // Spreading defines members, even one named `__proto__`.
  const copy: Record<string, JsonValue> = { ...map }
  for (const [name, below] of tree.fields) {
    if (!Object.hasOwn(copy, name)) continue
    const value = redactBy(copy[name] as JsonValue, below)
    Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return copy
}
