// The paths whose values reach the result of a text unchanged. Values that are only compared, counted or tested for presence,
// and arguments of `hash` or `hmac`, do not.

import { compileProgram } from '../compile/index.ts'
import { splitTemplate } from '../forms/index.ts'
import { childrenOf, Fault, type Node, staticPath } from '../syntax/index.ts'

/** Functions whose result reveals nothing of their text arguments. */
const CONSUMING = new Set([
  'hash',
  'hmac',
  'size',
  'type',
  'contains',
  'startsWith',
  'endsWith',
  'matches',
  're',
])

/** Empty for a text that does not compile. */
export function clearPaths(text: string, as: 'expression' | 'template'): readonly string[] {
  try {
    const programs =
      as === 'expression'
        ? [compileProgram(text)]
        : splitTemplate(text, { secrets: true }).flatMap((part) => (typeof part === 'string' ? [] : [part]))
    const found = new Set<string>()
    for (const { node } of programs) walk(node, found)
    return [...found]
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

function walk(node: Node, found: Set<string>): void {
  const path = staticPath(node)
  if (path !== undefined) {
    // Without a root it is a part of an element, whose list was already noted.
    if (/^[A-Za-z_]/.test(path)) found.add(path)
    return
  }
  for (const part of flowing(node)) walk(part, found)
}

/** The parts whose values may be in the node's own value. */
function flowing(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'has':
    case 'not':
    case 'and':
    case 'or':
      return []
    case 'choice':
      return [node.yes, node.no]
    case 'binary':
      return ['==', '!=', '<', '<=', '>', '>=', 'in'].includes(node.operator) ? [] : [node.left, node.right]
    case 'call':
      return CONSUMING.has(node.name) ? [] : childrenOf(node)
    case 'macro':
      return node.name === 'map' || node.name === 'filter' ? childrenOf(node) : []
    default:
      return childrenOf(node)
  }
}
