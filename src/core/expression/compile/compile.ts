// Compiles the tree to closures: everything that the text alone determines is decided once, here. Only Fault is thrown while
// compiling, only ExpressionError while running.

import { isNumeral } from '../../foundation/json/index.ts'
import {
  add,
  charge,
  define,
  divide,
  type Evaluate,
  equal,
  type Frame,
  hasMember,
  isMissing,
  isObject,
  multiply,
  negate,
  type Operands,
  order,
  readIndex,
  readMember,
  remainder,
  subtract,
  typeError,
} from '../evaluation/index.ts'
import { Fault, type Node } from '../syntax/index.ts'
import { buildCall } from './compile-call.ts'
import { type Env, notePath, pathOf } from './compile-environment.ts'
import { buildEach, buildMacro } from './compile-loop.ts'
import { buildHeader, buildName, isHeader } from './compile-path.ts'

const DEPTH_MAX = 400

export function build(node: Node, env: Env): Evaluate {
  if (env.depth >= DEPTH_MAX)
    throw new Fault('this expression nests too deep: split it', node.at, node.end - node.at)
  env.depth++
  const evaluate = buildNode(node, env)
  env.depth--
  return evaluate
}

function buildNode(node: Node, env: Env): Evaluate {
  switch (node.kind) {
    case 'literal': {
      const { value } = node
      return () => value
    }
    case 'name':
    case 'element':
    case 'member':
    case 'index':
    case 'each':
      return notePath(node, env, () => buildAccess(node, env))
    case 'has':
      return buildHas(node.target, env)
    case 'call':
      return buildCall(node, env)
    case 'macro':
      return buildMacro(node, env)
    case 'list':
      return buildList(node.items, env)
    case 'object':
      return buildObject(node, env)
    case 'not': {
      const operand = build(node.operand, env)
      return (frame) => operand(frame) !== true
    }
    case 'negate': {
      const operand = build(node.operand, env)
      const path = pathOf(node.operand, env)
      return (frame) => negate(operand(frame), path)
    }
    case 'and': {
      const left = build(node.left, env)
      const right = build(node.right, env)
      return (frame) => left(frame) === true && right(frame) === true
    }
    case 'or': {
      const left = build(node.left, env)
      const right = build(node.right, env)
      return (frame) => left(frame) === true || right(frame) === true
    }
    case 'choice': {
      const test = build(node.test, env)
      const yes = build(node.yes, env)
      const no = build(node.no, env)
      return (frame) => (test(frame) === true ? yes(frame) : no(frame))
    }
    case 'binary':
      return buildBinary(node, env)
  }
}

function buildAccess(
  node: Node & { kind: 'name' | 'element' | 'member' | 'index' | 'each' },
  env: Env,
): Evaluate {
  switch (node.kind) {
    case 'name':
      return buildName(node, env)
    case 'element': {
      const slot = env.elementSlot
      return (frame) => frame.locals[slot]
    }
    case 'member': {
      const { name } = node
      const target = build(node.target, env)
      return isHeader(node.target, env)
        ? buildHeader(target, () => name)
        : (frame) => readMember(target(frame), name)
    }
    case 'index': {
      const target = build(node.target, env)
      const index = buildApart(node.index, env)
      return isHeader(node.target, env)
        ? buildHeader(target, index)
        : (frame) => readIndex(target(frame), index(frame))
    }
    case 'each':
      return buildEach(node, env)
  }
}

/** An index is an expression of its own: its paths count although it is inside one. */
function buildApart(node: Node, env: Env): Evaluate {
  const { quiet } = env
  env.quiet = false
  const evaluate = build(node, env)
  env.quiet = quiet
  return evaluate
}

function buildHas(field: Node, env: Env): Evaluate {
  if (field.kind !== 'member' && field.kind !== 'index') throw new Fault('`has` takes one field', field.at, 1)
  return notePath(field, env, () => {
    const target = build(field.target, env)
    if (isHeader(field.target, env)) {
      const read = buildAccess(field, env)
      return (frame) => !isMissing(read(frame))
    }
    if (field.kind === 'index') {
      const index = buildApart(field.index, env)
      return (frame) => hasMember(target(frame), index(frame))
    }
    const { name } = field
    return (frame) => hasMember(target(frame), name)
  })
}

function buildList(items: readonly Node[], env: Env): Evaluate {
  const evaluates = items.map((item) => build(item, env))
  return (frame) => {
    const list: unknown[] = []
    for (const evaluate of evaluates) list.push(evaluate(frame) ?? null)
    return list
  }
}

function buildObject(node: Node & { kind: 'object' }, env: Env): Evaluate {
  const entries = node.entries.map(({ key, value }) => ({
    path: pathOf(key, env),
    key: build(key, env),
    value: build(value, env),
  }))
  return (frame) => {
    const object: Record<string, unknown> = {}
    for (const entry of entries) {
      const key = entry.key(frame)
      if (typeof key !== 'string') throw typeError('a key of a map needs a text', key, entry.path)
      const value = entry.value(frame)
      // A missing field is omitted, as in the trees that are sent.
      if (value === undefined) continue
      if (key === '__proto__') define(object, key, value)
      else object[key] = value
    }
    return object
  }
}

function buildBinary(node: Node & { kind: 'binary' }, env: Env): Evaluate {
  const left = build(node.left, env)
  const right = build(node.right, env)
  const at: Operands = {
    operator: node.operator,
    left: pathOf(node.left, env),
    right: pathOf(node.right, env),
  }
  switch (node.operator) {
    case '==':
      return (frame) => equal(frame, left(frame), right(frame))
    case '!=':
      return (frame) => !equal(frame, left(frame), right(frame))
    case '<':
      return (frame) => compare(frame, left(frame), right(frame), at) < 0
    case '<=':
      return (frame) => compare(frame, left(frame), right(frame), at) <= 0
    case '>':
      return (frame) => compare(frame, left(frame), right(frame), at) > 0
    case '>=':
      return (frame) => compare(frame, left(frame), right(frame), at) >= 0
    case 'in':
      return (frame) => isIn(frame, left(frame), right(frame), at)
    case '+':
      return (frame) => add(frame, left(frame), right(frame), at)
    case '-':
      return (frame) => subtract(left(frame), right(frame), at)
    case '*':
      return (frame) => multiply(left(frame), right(frame), at)
    case '/':
      return (frame) => divide(left(frame), right(frame), at)
    case '%':
      return (frame) => remainder(left(frame), right(frame), at)
  }
}

/** NaN when a side is missing: every comparison with it is false. */
function compare(frame: Frame, a: unknown, b: unknown, at: Operands): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0
  const sense = order(frame, a, b)
  if (sense === null) return Number.NaN
  if (sense !== undefined) return sense
  const ordered = typeof a !== 'object' || isNumeral(a)
  throw typeError(
    `\`${at.operator}\` compares two numbers or two texts`,
    ordered ? b : a,
    ordered ? at.right : at.left,
  )
}

function isIn(frame: Frame, item: unknown, container: unknown, at: Operands): boolean {
  if (isMissing(container)) return false
  if (Array.isArray(container)) {
    charge(frame, container.length >> 4)
    return container.some((other) => equal(frame, other, item))
  }
  if (isObject(container)) return hasMember(container, item)
  throw typeError('`in` looks into a list or the keys of a map', container, at.right)
}
