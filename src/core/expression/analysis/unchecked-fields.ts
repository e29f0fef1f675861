// The fields that a formula reads directly off a value without checking that they exist. Comparing a missing value is not an
// error, so a "false" may only mean that the value is not the expected one.

import { compileProgram } from '../compile/index.ts'
import { childrenOf, type Node, staticPath } from '../syntax/index.ts'

export interface AskedFields {
  /** Fields of the value that are read without `has`, `coalesce`, `type` or a comparison with null anywhere. */
  readonly fields: readonly string[]
  /** Some field of it is read, so it must be a map; some element, so it must be a list. */
  readonly isMap: boolean
  readonly isList: boolean
}

/** `path`: of the value, such as `result.body`. Throws as compiling does. */
export function askedFields(text: string, path: string): AskedFields {
  const plain = new Set<string>()
  const asked = new Set<string>()
  let isMap = false
  let isList = false
  const walk = (node: Node, isAsking: boolean) => {
    const name = fieldOf(node, path)
    if (typeof name === 'string') {
      isMap = true
      const into = isAsking ? asked : plain
      into.add(name)
    } else if (name !== null) {
      isList = true
      isMap ||= name === ANY
    }
    for (const child of childrenOf(node))
      walk(child, asksFor(node, child) || (isAsking && isStepOf(node, child)))
  }
  walk(compileProgram(text).node, false)
  return { fields: [...plain].filter((one) => !asked.has(one)), isMap, isList }
}

const ELEMENT = Symbol('element')
const ANY = Symbol('any')

/** Which part of the value the node is; null: none. */
function fieldOf(node: Node, path: string): string | typeof ELEMENT | typeof ANY | null {
  const isPart =
    node.kind === 'member' || node.kind === 'index' || node.kind === 'each' || node.kind === 'macro'
  if (!isPart || staticPath(node.target) !== path) return null
  if (node.kind === 'member') return node.name
  if (node.kind !== 'index') return ELEMENT
  if (node.index.kind !== 'literal') return ANY
  return typeof node.index.value === 'string' ? node.index.value : ELEMENT
}

/** A read of `a.b.c` includes a read of `a.b`. */
function isStepOf(node: Node, child: Node): boolean {
  return (node.kind === 'member' || node.kind === 'index') && node.target === child
}

const ASKING = new Set(['coalesce', 'type'])

/** Whether the node tests that its child exists. */
function asksFor(node: Node, child: Node): boolean {
  if (node.kind === 'has') return true
  if (node.kind === 'call') return ASKING.has(node.name)
  if (node.kind !== 'binary' || (node.operator !== '==' && node.operator !== '!=')) return false
  const other = node.left === child ? node.right : node.left
  return other.kind === 'literal' && other.value === null
}
