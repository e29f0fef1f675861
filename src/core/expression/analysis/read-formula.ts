// What a formula's text alone reveals: the prefix of its values, what it reads and through which functions, and whether two
// texts are the same formula. Nothing is evaluated here.

import { isNumber, isNumeral, type JsonValue, stringifyByValue } from '../../foundation/json/index.ts'
import { compileProgram } from '../compile/index.ts'
import { toText } from '../evaluation/index.ts'
import { splitTemplate } from '../forms/index.ts'
import { childrenOf, Fault, type Node, staticPath } from '../syntax/index.ts'

export interface FormulaRead {
  /** `payload.items[*].id`, or the root alone where the rest is computed. */
  readonly path: string
  /** Functions that it goes through, outermost first. */
  readonly through: readonly string[]
  readonly offset: number
}

export interface FormulaStart {
  readonly text: string
  /** Nothing follows: it is the whole value. */
  readonly isWhole: boolean
}

export interface Formula {
  readonly reads: readonly FormulaRead[]
  /** The prefixes of its values: several where it chooses; empty where it is computed from the start. */
  readonly starts: readonly FormulaStart[]
  /** The most arguments that `extRef` is called with; 0 when it is not. */
  readonly extRefParts: number
}

/** null for a text that does not compile. */
export function readFormula(text: string, as: 'expression' | 'template' = 'expression'): Formula | null {
  const nodes = nodesOf(text, as)
  if (nodes === null) return null
  const reads: FormulaRead[] = []
  let extRefParts = 0
  const walk = (node: Node, through: readonly string[], locals: readonly string[]) => {
    const path = staticPath(node)
    if (path !== undefined) {
      const root = /^[A-Za-z_]\w*/.exec(path)?.[0]
      if (root !== undefined && !locals.includes(root)) reads.push({ path, through, offset: node.at })
      // The list of `[*]` and the steps after it are one path; its index may read others.
      return
    }
    if (node.kind === 'call' && node.name === 'extRef') extRefParts = Math.max(extRefParts, node.args.length)
    const inside = node.kind === 'call' ? [...through, node.name] : through
    const names = node.kind === 'macro' ? [...locals, node.variable] : locals
    for (const child of childrenOf(node)) walk(child, inside, names)
  }
  for (const node of nodes) if (typeof node !== 'string') walk(node, [], [])
  return { reads, starts: startsOf(nodes), extRefParts }
}

function nodesOf(text: string, as: 'expression' | 'template'): readonly (string | Node)[] | null {
  try {
    if (as === 'expression') return [compileProgram(text).node]
    return splitTemplate(text, { secrets: true }).map((part) => (typeof part === 'string' ? part : part.node))
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

const STARTS_MAX = 16
const COMPUTED: readonly FormulaStart[] = [{ text: '', isWhole: false }]

/** Of concatenated parts. */
function startsOf(parts: readonly (string | Node)[]): readonly FormulaStart[] {
  let starts: readonly FormulaStart[] = [{ text: '', isWhole: true }]
  for (const part of parts) {
    const next = typeof part === 'string' ? [{ text: part, isWhole: true }] : startsOfNode(part)
    starts = starts.flatMap((start) =>
      start.isWhole ? next.map(({ text, isWhole }) => ({ text: start.text + text, isWhole })) : [start],
    )
    if (starts.length > STARTS_MAX) return COMPUTED
    if (starts.every(({ isWhole }) => !isWhole)) break
  }
  return starts
}

function startsOfNode(node: Node): readonly FormulaStart[] {
  switch (node.kind) {
    case 'literal':
      return typeof node.value === 'string' || isNumber(node.value)
        ? [{ text: toText(node.value), isWhole: true }]
        : COMPUTED
    case 'binary':
      return node.operator === '+' ? startsOf([node.left, node.right]) : COMPUTED
    case 'choice':
      return [...startsOfNode(node.yes), ...startsOfNode(node.no)]
    case 'call':
      return startsOfCall(node)
    default:
      return COMPUTED
  }
}

/** `extRef` and `join` put separators between their parts. */
function startsOfCall(node: Node & { readonly kind: 'call' }): readonly FormulaStart[] {
  if (node.name === 'extRef') return startsOf(between(node.args, ':'))
  const [list, separator] = node.receiver === null ? node.args : [node.receiver, ...node.args]
  if (node.name !== 'join' || list?.kind !== 'list') return COMPUTED
  const sign = separator === undefined ? '' : separator.kind === 'literal' ? separator.value : null
  return typeof sign === 'string' ? startsOf(between(list.items, sign)) : COMPUTED
}

function between(parts: readonly Node[], sign: string): readonly (string | Node)[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [sign, part]))
}

/** Spaces, quotes and redundant parentheses make no difference. A text that does not compile equals only itself. */
export function isSameFormula(one: string, other: string): boolean {
  if (one.trim() === other.trim()) return true
  const [a, b] = [shapeOf(one), shapeOf(other)]
  return a !== null && a === b
}

function shapeOf(text: string): string | null {
  const nodes = nodesOf(text, 'expression')
  if (nodes === null) return null
  return stringifyByValue(withoutPlaces(nodes) as JsonValue)
}

const PLACES: readonly string[] = ['at', 'end', 'nameAt']

function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces)
  if (typeof value !== 'object' || value === null || isNumeral(value)) return value
  const members = Object.entries(value).filter(([name]) => !PLACES.includes(name))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutPlaces(member)]))
}
