// Maps the path of a field to its position in the file.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import type { FieldPath, Finding, Remark } from './finding.ts'
import { fileOffset } from './scalar-offset.ts'
import { makeFinding, quotedAt, type SourceText } from './source-text.ts'
import { quoteYaml } from './suggest.ts'

/** null is an empty value; undefined does not exist. */
export type Node = ParsedNode | null | undefined

export function locate(source: SourceText, document: Document.Parsed, remark: Remark): Finding {
  const offset = offsetOf(source, document, remark)
  return makeFinding(
    source,
    remark.rule,
    remark.message,
    offset,
    suggestionFor(source, document, remark),
    remark.severity,
  )
}

function offsetOf(source: SourceText, document: Document.Parsed, remark: Remark): number {
  const { node, key } = find(document, remark.path)
  if (node === undefined || remark.onKey === true || (isScalar(node) && isEmptyScalar(node))) {
    if (key !== null) return startOf(key)
    return node === undefined || node === null ? placeOfParent(document, remark.path) : startOf(node)
  }
  if (isScalar(node) && remark.offset !== undefined) return fileOffset(node, source.text, remark.offset)
  return node === null ? 0 : startOf(node)
}

function isEmptyScalar(node: Scalar): boolean {
  return node.value === null && (node.range?.[0] ?? 0) === (node.range?.[1] ?? 0)
}

/** A missing field is reported where it should be added: at the name of its parent. */
function placeOfParent(document: Document.Parsed, path: FieldPath): number {
  for (let length = path.length - 1; length > 0; length--) {
    const { node, key } = find(document, path.slice(0, length))
    if (key !== null) return startOf(key)
    if (node !== undefined && node !== null) return startOf(node)
  }
  const root = document.contents
  if (root === null) return 0
  return startOf(isMap<ParsedNode, Node>(root) ? (root.items[0]?.key ?? root) : root)
}

/** `node` is undefined if nothing is written. */
function find(document: Document.Parsed, path: FieldPath): { node: Node; key: ParsedNode | null } {
  let node: Node = document.contents
  let key: ParsedNode | null = null
  for (const [index, step] of path.entries()) {
    const container: Node = isAlias(node) ? (node.resolve(document) as Node) : node
    if (isMap(container)) {
      const pair = pairOf(container as YAMLMap.Parsed, String(step), path.slice(0, index))
      if (pair === undefined) return { node: undefined, key: null }
      key = pair.key
      node = pair.value ?? null
    } else if (isSeq<ParsedNode>(container)) {
      key = null
      node = container.items[Number(step)]
    } else return { node: undefined, key: null }
  }
  return { node, key }
}

function pairOf(map: YAMLMap.Parsed, name: string, path: FieldPath): Pair<ParsedNode, Node> | undefined {
  return (map.items as Pair<ParsedNode, Node>[]).find((pair) => keyText(pair.key, path) === name)
}

export function startOf(node: { range?: readonly number[] | null | undefined }): number {
  return node.range?.[0] ?? 0
}

function suggestionFor(source: SourceText, document: Document.Parsed, remark: Remark): string | undefined {
  const { node } = find(document, remark.path)
  if (remark.isCut === true && isScalar(node) && node.type === 'PLAIN' && hasCommentBehind(source, node)) {
    return quotedAt(source, startOf(node))
  }
  if (remark.suggestedText === undefined) return remark.suggestion
  // Lines of a block cannot be shown as one value; the message says what to change.
  if (remark.suggestedText.includes('\n')) return undefined
  return source.isJson ? JSON.stringify(remark.suggestedText) : quoteYaml(remark.suggestedText)
}

function hasCommentBehind(source: SourceText, node: Scalar): boolean {
  return /^[ \t]+#/.test(source.text.slice(node.range?.[1] ?? 0, (node.range?.[1] ?? 0) + 16))
}

/** null: not a text. HTTP statuses may be written as numbers, since that is what they are. */
export function keyText(key: Node, path: FieldPath): string | null {
  if (!isScalar(key)) return null
  if (key.value === '__proto__') return null
  if (typeof key.value === 'string') return key.value
  return typeof key.value === 'bigint' && path.at(-1) === 'classify' ? String(key.value) : null
}
