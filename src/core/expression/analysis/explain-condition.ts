// Explains why a condition holds or not: its parts, each with its own result and the values it read. For users who may see the
// payload; unlike errors, it contains values, truncated.

import { type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import { compileProgram } from '../compile/index.ts'
import { isObject, type Scope } from '../evaluation/index.ts'
import { makePath, makeTest } from '../forms/index.ts'
import type { Keyed } from '../functions/index.ts'
import { ExpressionError, Fault, type Node } from '../syntax/index.ts'

export interface ConditionPart {
  /** The part as written. */
  readonly part: string
  readonly holds: boolean
  /** `payload.amount = 30`: the values that the part read, or why it cannot be decided. */
  readonly saw?: string
}

const TEXT_MAX = 200
const PARTS_MAX = 100
const SEEN_MAX = 5

/**
 * The condition must compile; parts that do not are left out. `scope` decides it. The values are shown where `shown`, which may
 * contain less, gives the same result.
 */
export function explainCondition(
  condition: JsonValue,
  scope: Scope,
  shown: Scope = scope,
  keyed: Keyed = {},
): readonly ConditionPart[] {
  const parts: ConditionPart[] = []
  walk(condition, '', { scope, shown, keyed }, parts)
  return parts
}

interface Sight {
  readonly scope: Scope
  readonly shown: Scope
  readonly keyed: Keyed
}

function walk(condition: JsonValue, before: string, sight: Sight, parts: ConditionPart[]): void {
  if (parts.length >= PARTS_MAX) return
  if (typeof condition === 'string') {
    for (const text of conjuncts(condition)) {
      if (parts.length < PARTS_MAX) parts.push(explainText(text, before, sight))
    }
    return
  }
  if (!isObject(condition)) return
  const fields = condition as { readonly [key: string]: JsonValue }
  const { all, any, not } = fields
  if (Array.isArray(all)) for (const one of all) walk(one, before, sight, parts)
  else if (Array.isArray(any)) for (const one of any) walk(one, `${before}any of: `, sight, parts)
  else if (not !== undefined) walk(not, `${before}not: `, sight, parts)
  else explainFilter(fields, before, sight, parts)
}

/** The texts between the outermost `&&`. */
function conjuncts(text: string): readonly string[] {
  const node = attempt(() => compileProgram(text).node)
  if (node === null) return []
  const parts: string[] = []
  const split = (one: Node) => {
    if (one.kind === 'and') {
      split(one.left)
      split(one.right)
    } else parts.push(text.slice(one.at, one.end))
  }
  split(node)
  return parts
}

function explainText(text: string, before: string, sight: Sight): ConditionPart {
  const part = cut(`${before}${text}`)
  const program = attempt(() => compileProgram(text, sight.keyed))
  if (program === null) return { part, holds: false }
  try {
    const holds = program.run(sight.scope) === true
    const saw = seen(operands(text, program.node) ?? program.paths, sight)
    return { part, holds, ...(saw === '' ? {} : { saw }) }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return { part, holds: false, saw: cut(`cannot be decided: ${error.message}`) }
  }
}

/** The two sides of a comparison, without literals. */
function operands(text: string, node: Node): readonly string[] | null {
  if (node.kind !== 'binary' || !['==', '!=', '<', '<=', '>', '>=', 'in'].includes(node.operator)) return null
  const sides = [node.left, node.right].filter(({ kind }) => kind !== 'literal' && kind !== 'list')
  return sides.map(({ at, end }) => text.slice(at, end))
}

function seen(texts: readonly string[], sight: Sight): string {
  const values = texts.slice(0, SEEN_MAX).flatMap((text) => {
    const program = attempt(() => compileProgram(text, sight.keyed))
    return program === null ? [] : [`${cut(text)} = ${show(program.run, sight)}`]
  })
  return values.join(', ')
}

function explainFilter(
  filter: { readonly [key: string]: JsonValue },
  before: string,
  sight: Sight,
  parts: ConditionPart[],
): void {
  const { path: text, ...operators } = filter
  if (typeof text !== 'string') return
  const path = attempt(() => makePath(text))
  if (path === null) return
  for (const [name, operand] of Object.entries(operators)) {
    const test = attempt(() => makeTest(name, operand as JsonValue))
    if (test === null || parts.length >= PARTS_MAX) continue
    parts.push({
      part: cut(`${before}${text} ${name} ${stringifyJson(operand as JsonValue)}`),
      holds: test(path.read(sight.scope)),
      saw: `${cut(text)} = ${show(path.read, sight)}`,
    })
  }
}

const UNSEEN = '[hidden]'

function show(read: (scope: Scope) => unknown, { scope, shown }: Sight): string {
  const text = showIn(read, scope)
  return shown === scope || showIn(read, shown) === text ? text : UNSEEN
}

function showIn(read: (scope: Scope) => unknown, scope: Scope): string {
  try {
    const value = read(scope)
    return value === undefined ? 'missing' : cut(stringifyJson(value as JsonValue))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return cut(error.message)
  }
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX - 1)}…`
}

function attempt<Value>(make: () => Value): Value | null {
  try {
    return make()
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}
