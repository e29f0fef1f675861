// Compiles loops: `[*]` and the macros. Every element is charged.

import {
  charge,
  chargeList,
  type Evaluate,
  type Frame,
  isMissing,
  isObject,
  typeError,
} from '../evaluation/index.ts'
import { childrenOf, type Node } from '../syntax/index.ts'
import { type Env, pathOf } from './compile-environment.ts'

/** One step, and one more for each 16 nodes of the body. */
function costOf(nodes: readonly Node[]): number {
  let count = 0
  const open = [...nodes]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    count++
    open.push(...childrenOf(node))
  }
  return 1 + (count >> 4)
}

export function buildEach(node: Node & { kind: 'each' }, env: Env): Evaluate {
  const target = env.build(node.target, env)
  const outer = { elementSlot: env.elementSlot, elementPath: env.elementPath, quiet: env.quiet }
  const targetPath = pathOf(node.target, env)
  env.elementSlot = env.slotCount++
  env.elementPath = targetPath === undefined ? undefined : `${targetPath}[*]`
  const slot = env.elementSlot
  const body = env.build(node.body, env)
  Object.assign(env, outer)
  const cost = costOf([node.body])
  return (frame) => {
    const list = target(frame)
    // A value that is not a list has no elements, and neither has a missing one.
    if (!Array.isArray(list)) return undefined
    charge(frame, list.length * cost)
    chargeList(frame, list.length)
    const found: unknown[] = []
    for (const element of list) {
      frame.locals[slot] = element
      const value = body(frame)
      if (!isMissing(value)) found.push(value)
    }
    return found
  }
}

export function buildMacro(node: Node & { kind: 'macro' }, env: Env): Evaluate {
  const target = env.build(node.target, env)
  const path = pathOf(node.target, env)
  const { locals, localPaths } = env
  const slot = env.slotCount++
  env.locals = new Map([...locals, [node.variable, slot]])
  const inner = new Map(localPaths)
  // Shadows an outer variable of the same name.
  inner.delete(node.variable)
  if (path !== undefined) inner.set(node.variable, `${path}[*]`)
  env.localPaths = inner
  const bodies = node.body.map((body) => env.build(body, env))
  Object.assign(env, { locals, localPaths })
  if (node.name === 'map') env.multiplies = true
  const loop = LOOPS[node.name](bodies as [Evaluate, ...Evaluate[]], slot)
  const cost = costOf(node.body)
  return (frame) => {
    const value = target(frame)
    if (isMissing(value)) return value
    const list = Array.isArray(value) ? value : isObject(value) ? Object.keys(value) : null
    if (list === null) throw typeError(`\`${node.name}\` needs a list or a map`, value, path)
    charge(frame, list.length * cost)
    return loop(frame, list)
  }
}

type Loop = (frame: Frame, list: readonly unknown[]) => unknown
type MakeLoop = (bodies: readonly [Evaluate, ...Evaluate[]], slot: number) => Loop

const LOOPS: Readonly<Record<(Node & { kind: 'macro' })['name'], MakeLoop>> = {
  map([first, second], slot) {
    const test = second === undefined ? null : first
    const body = second ?? first
    return (frame, list) => {
      chargeList(frame, list.length)
      const found: unknown[] = []
      for (const element of list) {
        frame.locals[slot] = element
        if (test === null || test(frame) === true) found.push(body(frame) ?? null)
      }
      return found
    }
  },
  filter:
    ([test], slot) =>
    (frame, list) =>
      list.filter((element) => holds(frame, test, slot, element)),
  all:
    ([test], slot) =>
    (frame, list) =>
      list.every((element) => holds(frame, test, slot, element)),
  exists:
    ([test], slot) =>
    (frame, list) =>
      list.some((element) => holds(frame, test, slot, element)),
  exists_one:
    ([test], slot) =>
    (frame, list) => {
      let count = 0
      for (const element of list) if (holds(frame, test, slot, element)) count++
      return count === 1
    },
}

function holds(frame: Frame, test: Evaluate, slot: number, element: unknown): boolean {
  frame.locals[slot] = element
  return test(frame) === true
}
