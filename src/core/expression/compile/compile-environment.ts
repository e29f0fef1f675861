// The compiler's environment: names in scope, slots, and the paths seen.

import type { Evaluate } from '../evaluation/index.ts'
import type { Hmac } from '../functions/index.ts'
import { type Node, staticPath } from '../syntax/index.ts'

export interface Env {
  readonly text: string
  /** Undefined: any root is accepted. */
  readonly roots: ReadonlySet<string> | undefined
  readonly usedRoots: Set<string>
  readonly paths: Set<string>
  readonly build: (node: Node, env: Env) => Evaluate
  locals: ReadonlyMap<string, number>
  /** The static paths that variables of macros stand for, if any. */
  localPaths: ReadonlyMap<string, string>
  slotCount: number
  elementSlot: number
  elementPath: string | undefined
  /** Inside a path that is already noted. */
  quiet: boolean
  depth: number
  /** A loop may repeat a value many times: measure the result. */
  multiplies: boolean
  /** Part of a request, where a secret is allowed. */
  readonly isRequest: boolean
  /** Undefined: the text is compiled without a key. */
  readonly hmac: Hmac | undefined
}

/** The static path of an operand, for errors; undefined for computed values. */
export function pathOf(node: Node, env: Env): string | undefined {
  const start = startOf(node)
  if (start.kind === 'name') {
    if (!env.locals.has(start.name)) return staticPath(node)
    const path = env.localPaths.get(start.name)
    const rest = path === undefined ? undefined : staticPath(node)?.slice(start.name.length)
    return rest === undefined ? undefined : `${path}${rest}`
  }
  if (start.kind !== 'element' || env.elementPath === undefined) return undefined
  const rest = staticPath(node)
  return rest === undefined ? undefined : env.elementPath + rest
}

function startOf(node: Node): Node {
  let start = node
  while (start.kind === 'member' || start.kind === 'index' || start.kind === 'each') start = start.target
  return start
}

/**
 * Notes the longest static path once, not each of its prefixes. The list of a macro is already noted; its variable is not a
 * path.
 */
export function notePath(node: Node, env: Env, build: () => Evaluate): Evaluate {
  const start = startOf(node)
  const isLocal = start.kind === 'name' && env.locals.has(start.name)
  const path = env.quiet || isLocal ? undefined : pathOf(node, env)
  if (path === undefined) return build()
  env.paths.add(path)
  env.quiet = true
  const evaluate = build()
  env.quiet = false
  return evaluate
}
