// Compiles names: variables of macros, roots of the scope, and headers.

import { charge, type Evaluate, type Frame, headerName, readMember } from '../evaluation/index.ts'
import { FUNCTIONS } from '../functions/index.ts'
import { closest, Fault, type Node, quoted } from '../syntax/index.ts'
import type { Env } from './compile-environment.ts'

export function buildName(node: Node & { kind: 'name' }, env: Env): Evaluate {
  const { name } = node
  const slot = env.locals.get(name)
  if (slot !== undefined) return (frame) => frame.locals[slot]
  if (env.roots !== undefined && !isInScope(name, env.roots)) throw unknownRoot(name, node.at, node.end, env)
  env.usedRoots.add(name)
  return name === ENVIRONMENT ? readEnvironment : (frame) => readMember(frame.scope, name)
}

/** The name of the environment: it is known wherever `vars` is, and comes with them. */
const ENVIRONMENT = 'env'

function isInScope(name: string, roots: ReadonlySet<string>): boolean {
  return roots.has(name) || (name === ENVIRONMENT && roots.has('vars'))
}

/** An element of `each` may have this name. */
function readEnvironment({ scope }: Frame): unknown {
  return Object.hasOwn(scope, ENVIRONMENT)
    ? readMember(scope, ENVIRONMENT)
    : readMember(scope.vars, ENVIRONMENT)
}

export function isHeader(target: Node, env: Env): boolean {
  return target.kind === 'name' && target.name === 'header' && !env.locals.has('header')
}

export function buildHeader(target: Evaluate, key: Evaluate): Evaluate {
  return (frame) => {
    const name = key(frame)
    if (typeof name !== 'string') return undefined
    charge(frame, name.length >> 10)
    const headers = target(frame)
    return readMember(headers, headerName(headers, name))
  }
}

function unknownRoot(name: string, at: number, end: number, env: Env): Fault {
  const length = end - at
  const dashed = /[\w\])]-$/.test(env.text.slice(0, at))
  if (dashed) {
    return new Fault(
      `\`${name}\` is not in scope: a field name with a dash is written ['…-${name}']`,
      at,
      length,
    )
  }
  const near = closest(name, [...(env.roots ?? []), ...env.locals.keys()])
  if (near !== undefined)
    return new Fault(`\`${name}\` is not in scope: did you mean \`${near}\`?`, at, length, near)
  if (FUNCTIONS.has(name))
    return new Fault(`\`${name}\` is a function: write ${name}(…)`, at, length, `${name}(…)`)
  const whole = env.text.trim()
  const isPlain = /^[\w .-]+$/.test(whole)
  const known = [...(env.roots ?? [])].map((root) => `\`${root}\``).join(', ')
  const message = `\`${name}\` is not in scope: text needs quotes${known === '' ? '' : ` (in scope: ${known})`}`
  return isPlain
    ? new Fault(message, env.text.indexOf(whole), whole.length, quoted(whole))
    : new Fault(message, at, length, quoted(name))
}
