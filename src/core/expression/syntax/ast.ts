// The syntax tree between parser and compiler. `at` and `end` are offsets into the text.

import type { JsonNumber } from '../../foundation/json/index.ts'

export type BinaryOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | '+' | '-' | '*' | '/' | '%'
export type MacroName = 'map' | 'filter' | 'all' | 'exists' | 'exists_one'

export interface Span {
  readonly at: number
  readonly end: number
}

export interface MapEntry {
  readonly key: Node
  readonly value: Node
}

export type Node = Span &
  (
    | { readonly kind: 'literal'; readonly value: null | boolean | JsonNumber | string }
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'member'; readonly target: Node; readonly name: string }
    | { readonly kind: 'index'; readonly target: Node; readonly index: Node }
    /** `target[*]`; `body` is the rest of the chain, starting at an `element`. */
    | { readonly kind: 'each'; readonly target: Node; readonly body: Node }
    | { readonly kind: 'element' }
    | {
        readonly kind: 'call'
        readonly name: string
        readonly nameAt: number
        readonly receiver: Node | null
        readonly args: readonly Node[]
      }
    | { readonly kind: 'has'; readonly target: Node }
    | {
        readonly kind: 'macro'
        readonly name: MacroName
        readonly target: Node
        readonly variable: string
        readonly body: readonly Node[]
      }
    | { readonly kind: 'list'; readonly items: readonly Node[] }
    | { readonly kind: 'object'; readonly entries: readonly MapEntry[] }
    | { readonly kind: 'not'; readonly operand: Node }
    | { readonly kind: 'negate'; readonly operand: Node }
    | { readonly kind: 'and' | 'or'; readonly left: Node; readonly right: Node }
    | {
        readonly kind: 'binary'
        readonly operator: BinaryOperator
        readonly left: Node
        readonly right: Node
      }
    | { readonly kind: 'choice'; readonly test: Node; readonly yes: Node; readonly no: Node }
  )

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'name':
    case 'element':
      return []
    case 'member':
    case 'has':
      return [node.target]
    case 'index':
      return [node.target, node.index]
    case 'each':
      return [node.target, node.body]
    case 'call':
      return node.receiver === null ? node.args : [node.receiver, ...node.args]
    case 'macro':
      return [node.target, ...node.body]
    case 'list':
      return node.items
    case 'object':
      return node.entries.flatMap((entry) => [entry.key, entry.value])
    case 'not':
    case 'negate':
      return [node.operand]
    case 'and':
    case 'or':
    case 'binary':
      return [node.left, node.right]
    case 'choice':
      return [node.test, node.yes, node.no]
  }
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** `payload.items[0].id` for a chain with fixed names, else undefined. */
export function staticPath(node: Node): string | undefined {
  switch (node.kind) {
    case 'name':
      return node.name
    case 'element':
      return ''
    case 'member': {
      const target = stepTarget(node.target)
      return target === undefined ? undefined : `${target}.${node.name}`
    }
    case 'index': {
      const target = stepTarget(node.target)
      if (target === undefined || node.index.kind !== 'literal') return undefined
      const key = node.index.value
      if (typeof key === 'number') return `${target}[${key}]`
      if (typeof key !== 'string') return undefined
      return PLAIN_NAME.test(key) ? `${target}.${key}` : `${target}['${key.replaceAll(/['\\]/g, '\\$&')}']`
    }
    case 'each': {
      const target = staticPath(node.target)
      const body = staticPath(node.body)
      return target === undefined || body === undefined ? undefined : `${target}[*]${body}`
    }
    default:
      return undefined
  }
}

/** In `(a[*].b).c` the last step applies to the list, so it is not a path of the elements. */
function stepTarget(target: Node): string | undefined {
  return target.kind === 'each' ? undefined : staticPath(target)
}
