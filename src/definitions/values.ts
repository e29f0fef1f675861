// Turns the nodes of a YAML document into plain values.
// Invariants: values contain only JSON; every key is a text; depth, size and aliases are bounded.

import {
  type Alias,
  type Document,
  isAlias,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
} from 'yaml'
import { type JsonValue, NUMERAL_BOUNDS, plainNumber, readNumeral } from '../core/foundation/json/index.ts'
import { keyText, type Node, startOf } from './field-positions.ts'
import type { FieldPath } from './finding.ts'
import { DEPTH_MAX, quotedAt, report, reportTag, type SourceText } from './source-text.ts'

const NODES_MAX = 50_000
/** YAML's limit for keys before a colon. */
const KEY_LENGTH_MAX = 1_024
/** Looking up an anchor walks the document. */
const ALIASES_MAX = 200

export interface PlainValue {
  readonly value: JsonValue
  /** False if a bound was exceeded: the value is not checked further. */
  readonly isBounded: boolean
  /** Whether the path leads into something that could not be read. */
  isSpoiled(path: FieldPath): boolean
}

export function plainValue(source: SourceText, document: Document.Parsed): PlainValue {
  const work: Work = { source, document, nodes: 0, aliases: 0, isOver: false, open: new Set(), spoiled: [] }
  const value = convert(document.contents, [], work)
  return { value, isBounded: !work.isOver, isSpoiled: (path) => isWithin(path, work.spoiled) }
}

interface Work {
  readonly source: SourceText
  readonly document: Document.Parsed
  readonly open: Set<unknown>
  /** Where a value could not be read. */
  readonly spoiled: FieldPath[]
  nodes: number
  aliases: number
  isOver: boolean
}

function isWithin(path: FieldPath, places: readonly FieldPath[]): boolean {
  return places.some((place) => place.every((step, index) => path[index] === step))
}

function spoil(path: FieldPath, work: Work): null {
  work.spoiled.push(path)
  return null
}

function convert(node: Node, path: FieldPath, work: Work): JsonValue {
  if (node === null || node === undefined || work.isOver) return null
  if (node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:')) {
    // The parser warns of every other tag by itself.
    if (node.tag === '!') reportTag(work.source, startOf(node))
    return spoil(path, work)
  }
  if (isAlias(node)) work.aliases++
  const isOver = ++work.nodes > NODES_MAX || work.aliases > ALIASES_MAX || path.length > DEPTH_MAX
  if (isOver) return giveUp(node, path, work)
  if (isAlias(node)) return convertAlias(node, path, work)
  if (isScalar(node)) return convertScalar(node, path, work)
  if (isSeq<ParsedNode>(node)) return node.items.map((item, index) => convert(item, [...path, index], work))
  const object: Record<string, JsonValue> = {}
  for (const pair of node.items) convertPair(pair, object, path, work)
  return object
}

function giveUp(node: ParsedNode, path: FieldPath, work: Work): null {
  work.isOver = true
  if (path.length > DEPTH_MAX) {
    report(work.source, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, startOf(node))
  } else if (work.aliases > 0) {
    report(work.source, 'alias', 'aliases repeat too much: write less of it', startOf(node))
  } else {
    report(work.source, 'tooLarge', `a document has at most ${NODES_MAX} values: split it`, startOf(node))
  }
  return null
}

function convertAlias(node: Alias.Parsed, path: FieldPath, work: Work): JsonValue {
  const target = node.resolve(work.document) as Node
  if (target === undefined || target === null) {
    const suggestion = quotedAt(work.source, startOf(node))
    report(
      work.source,
      'alias',
      '`*` begins the name of an anchor, which is not there: text needs quotes',
      startOf(node),
      suggestion,
    )
    return spoil(path, work)
  }
  if (work.open.has(target)) {
    report(work.source, 'alias', 'this alias contains itself', startOf(node))
    return spoil(path, work)
  }
  work.open.add(target)
  const value = convert(target, path, work)
  work.open.delete(target)
  return value
}

function convertScalar(node: Scalar.Parsed, path: FieldPath, work: Work): JsonValue {
  const { value } = node as Scalar
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  const exact = typeof value === 'number' ? exactNumber(String(node.source)) : undefined
  if (exact !== undefined && exact !== null) return exact
  if (exact === null) {
    report(work.source, 'bounds', `this number is out of range: ${NUMERAL_BOUNDS}`, startOf(node))
    return spoil(path, work)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const text = String(node.source)
    report(
      work.source,
      'type',
      `\`${text}\` is no number in JSON: text needs quotes`,
      startOf(node),
      `"${text}"`,
    )
    return spoil(path, work)
  }
  return value as JsonValue
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Its value, also in digits that no double represents; null: it is out of range; undefined: JSON does not write numbers
 * so.
 */
function exactNumber(text: string): JsonValue | null | undefined {
  if (!JSON_NUMBER.test(text)) return undefined
  const value = readNumeral(text, !/[.eE]/.test(text))
  return value === null ? null : plainNumber(value)
}

function convertPair(
  pair: Pair<ParsedNode, Node>,
  object: Record<string, JsonValue>,
  path: FieldPath,
  work: Work,
): void {
  const key = keyText(pair.key, path)
  if (key === null) {
    reportKey(pair.key, work)
    // A map that was meant to be a template has no other finding.
    if (!isScalar(pair.key) && path.length > 0) spoil(path, work)
    return
  }
  if (key.length > KEY_LENGTH_MAX) {
    const message = `the name of a field has at most ${KEY_LENGTH_MAX} characters`
    report(work.source, 'tooLarge', message, startOf(pair.key))
    return
  }
  if (Object.hasOwn(object, key)) {
    report(work.source, 'duplicateKey', `\`${key}\` stands here twice: keep one`, startOf(pair.key))
    return
  }
  object[key] = convert(pair.value, [...path, key], work)
}

function reportKey(key: Node, work: Work): void {
  const { source } = work
  const start = key === null || key === undefined ? 0 : startOf(key)
  const isTemplate = source.text.startsWith('{{', start - 1)
  if (isTemplate) {
    const end = source.text.indexOf('}}', start)
    const text = end < 0 ? undefined : source.text.slice(start - 1, end + 2)
    const suggestion = quotedAt(source, start) ?? (text === undefined ? undefined : `"${text}"`)
    report(
      source,
      'keyNotText',
      'YAML reads `{` as the start of a map: a template needs quotes',
      start - 1,
      suggestion,
    )
    return
  }
  const written = isScalar(key) ? source.text.slice(start, key.range?.[1]) : ''
  const suggestion = written === '' || written === '__proto__' ? undefined : `"${written}"`
  report(source, 'keyNotText', 'the name of a field is a text: it needs quotes', start, suggestion)
}
