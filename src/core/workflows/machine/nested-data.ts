// Values inside maps and lists: read, written and removed without changing the original. Own members only, so that no name
// reaches a prototype.

import { compilePath, ExpressionError, typeOf } from '../../expression/index.ts'
import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import type { Data } from '../instance/index.ts'

export interface Target {
  readonly root: 'data' | 'metadata' | 'correlation'
  readonly steps: readonly (string | number)[]
}

const PLAIN = /^(?:data|metadata|correlation)(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/
const ROOTS = ['data', 'metadata', 'correlation']

/** Throws ExpressionError. */
export function parseTarget(path: string): Target {
  if (PLAIN.test(path)) {
    const [root, ...steps] = path.split('.')
    return { root: root as Target['root'], steps }
  }
  const compiled = compilePath(path)
  const steps = compiled.ok ? compiled.path.steps : []
  const isPlain = steps.every((step) => typeof step !== 'object')
  if (!compiled.ok || !ROOTS.includes(compiled.path.root) || !isPlain) {
    const message = 'a target is `data.`, `metadata.` or `correlation.` and a name'
    throw new ExpressionError('type', message, path)
  }
  return { root: compiled.path.root as Target['root'], steps: steps as readonly (string | number)[] }
}

type Steps = Target['steps']

/** Undefined: absent. */
export function readAt(value: JsonValue | undefined, steps: Steps): JsonValue | undefined {
  let found = value
  for (const step of steps) {
    if (typeof found !== 'object' || found === null || isNumeral(found)) return undefined
    if (Array.isArray(found)) found = typeof step === 'number' ? found[step] : undefined
    else found = memberOf(found as Data, String(step))
  }
  return found
}

function memberOf(map: Data, name: string): JsonValue | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

/** Missing maps on the path are created. Throws ExpressionError if another kind of value is in the way. */
export function writeAt(
  before: JsonValue | undefined,
  steps: Steps,
  value: JsonValue,
  path: string,
  at = 0,
): JsonValue {
  if (at === steps.length) return value
  const step = steps[at] as string | number
  if (Array.isArray(before)) {
    if (typeof step !== 'number' || step > before.length) throw inTheWay(before, path)
    const list = [...before]
    list[step] = writeAt(before[step], steps, value, path, at + 1)
    return list
  }
  const isTree = typeof before === 'object' && !isNumeral(before)
  if (before !== undefined && !isTree) throw inTheWay(before, path)
  const map = (before ?? {}) as Data
  const name = String(step)
  return withMember(map, name, writeAt(memberOf(map, name), steps, value, path, at + 1))
}

/** Unchanged where there is nothing to remove. */
export function removeAt(before: JsonValue, steps: Steps, at = 0): JsonValue {
  const step = steps[at]
  if (step === undefined || typeof before !== 'object' || before === null || isNumeral(before)) return before
  const isLast = at === steps.length - 1
  if (Array.isArray(before)) {
    if (typeof step !== 'number' || step >= before.length) return before
    if (isLast) return before.filter((_, index) => index !== step)
    return before.map((item, index) => (index === step ? removeAt(item, steps, at + 1) : item))
  }
  const map = before as Data
  const name = String(step)
  const member = memberOf(map, name)
  if (member === undefined) return before
  if (!isLast) return withMember(map, name, removeAt(member, steps, at + 1))
  return Object.fromEntries(Object.entries(map).filter(([key]) => key !== name))
}

function withMember(map: Data, name: string, value: JsonValue): Data {
  // A plain `{ __proto__: … }` would set the prototype; a computed name defines a member.
  return { ...map, [name]: value }
}

function inTheWay(value: JsonValue, path: string): ExpressionError {
  return new ExpressionError('type', `on the way to \`${path}\` is a ${typeOf(value)}`, path, typeOf(value))
}

/** Characters of its JSON; stops as soon as there are more than `most`. */
export function encodedSize(value: JsonValue, most: number): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2
    case 'number':
    case 'bigint':
      return String(value).length
    case 'boolean':
      return 5
    default:
  }
  if (value === null) return 4
  if (isNumeral(value)) return value.text.length
  let size = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      size += 1 + encodedSize(item, most - size)
      if (size > most) return size
    }
    return size
  }
  const map = value as Data
  for (const name of Object.keys(map)) {
    size += name.length + 4 + encodedSize(map[name] as JsonValue, most - size)
    if (size > most) return size
  }
  return size
}
