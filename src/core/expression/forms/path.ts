// Paths as filters, `sensitive` and `encrypt` write them: fixed names only.

import { attempt, type Compiled, type CompileOptions, compileProgram } from '../compile/index.ts'
import type { Scope } from '../evaluation/index.ts'
import { Fault, type Node } from '../syntax/index.ts'

/** A field name, a position, or every element. */
export type PathStep = string | number | { readonly each: true }

export interface Path {
  readonly text: string
  readonly root: string
  readonly steps: readonly PathStep[]
  /** Undefined when missing. */
  read(scope: Scope): unknown
}

export function compilePath(text: string, options?: CompileOptions): Compiled<{ readonly path: Path }> {
  return attempt(() => ({ path: makePath(text, options) }))
}

/** Throws Fault. */
export function makePath(text: string, options?: CompileOptions): Path {
  const { node, run } = compileProgram(text, options)
  const steps: PathStep[] = []
  const root = collect(node, steps, text)
  return { text, root, steps, read: run }
}

function collect(node: Node, steps: PathStep[], text: string): string {
  switch (node.kind) {
    case 'name':
      return node.name
    case 'element':
      return ''
    case 'member': {
      const root = collect(node.target, steps, text)
      steps.push(node.name)
      return root
    }
    case 'index': {
      const root = collect(node.target, steps, text)
      const key = node.index.kind === 'literal' ? node.index.value : null
      if (typeof key !== 'string' && typeof key !== 'number') throw notAPath(node.index)
      steps.push(key)
      return root
    }
    case 'each': {
      const root = collect(node.target, steps, text)
      steps.push({ each: true })
      collect(node.body, steps, text)
      return root
    }
    default:
      throw notAPath(node)
  }
}

function notAPath(node: Node): Fault {
  return new Fault(
    "a path has only fixed names: payload.user.email, items[0], labels[*].title, ['a-b']",
    node.at,
    node.end - node.at,
  )
}

/** True if a text to be sent begins like a path, and was probably meant as `{{ … }}`. */
export function looksLikePath(text: string, roots: readonly string[]): boolean {
  const root = /^\s*([A-Za-z_]\w*)\.[A-Za-z_]/.exec(text)?.[1]
  return root !== undefined && roots.includes(root)
}
