// core/expression/env.ts — what the compiler knows while it walks: names in scope, slots, and the paths seen.

import { type Node, staticPath } from './ast.ts'
import type { Evaluate } from './frame.ts'

export interface Env {
  readonly text: string
  /** Undefined: any root is accepted. */
  readonly roots: ReadonlySet<string> | undefined
  readonly usedRoots: Set<string>
  readonly paths: Set<string>
  readonly build: (node: Node, env: Env) => Evaluate
  locals: ReadonlyMap<string, number>
  slotCount: number
  elementSlot: number
  elementPath: string | undefined
  /** Inside a path that is already noted. */
  quiet: boolean
  depth: number
  /** A loop may repeat a value many times over: measure the result. */
  multiplies: boolean
}

/** The static path of an operand, for findings and errors; undefined for computed values and macro variables. */
export function pathOf(node: Node, env: Env): string | undefined {
  const start = startOf(node)
  if (start.kind === 'name') return env.locals.has(start.name) ? undefined : staticPath(node)
  if (start.kind !== 'element' || env.elementPath === undefined) return undefined
  const rest = staticPath(node)
  return rest === undefined ? undefined : env.elementPath + rest
}

function startOf(node: Node): Node {
  let start = node
  while (start.kind === 'member' || start.kind === 'index' || start.kind === 'each') start = start.target
  return start
}

/** Notes the longest static path once, not each of its prefixes. */
export function notePath(node: Node, env: Env, build: () => Evaluate): Evaluate {
  const path = env.quiet ? undefined : pathOf(node, env)
  if (path === undefined) return build()
  env.paths.add(path)
  env.quiet = true
  const evaluate = build()
  env.quiet = false
  return evaluate
}
