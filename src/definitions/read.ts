// From files to plain values that remember their places. One way for YAML and JSON.
// Not its job: what the values mean.
// Invariants: values hold only JSON; every key is a text; size, depth and aliases are bounded.

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { JsonError, type JsonValue, parseJson } from '../core/json/index.ts'
import { type FieldPath, type Finding, type Remark, RULES, type RuleName } from './finding.ts'
import { fileOffset } from './scalar-offset.ts'
import { quoteLine, quoteYaml } from './suggest.ts'

export interface DefinitionFile {
  readonly path: string
  readonly text: string
}

/** One document of a file. */
export interface ReadDocument {
  readonly file: string
  readonly value: { readonly [key: string]: JsonValue }
  /** False when a part of it could not be read; findings say which. */
  readonly isWhole: boolean
  /** Gives a remark its place; null for what could not be read anyway, so that one mistake is told once. */
  locate(remark: Remark): Finding | null
}

export const FILE_BYTES_MAX = 1024 * 1024
const DOCUMENTS_MAX = 1_000
const NODES_MAX = 50_000
const DEPTH_MAX = 64
/** Looking up an anchor walks the document. */
const ALIASES_MAX = 200

export function readDocuments(files: readonly DefinitionFile[]): {
  readonly documents: readonly ReadDocument[]
  readonly findings: readonly Finding[]
} {
  const documents: ReadDocument[] = []
  const findings: Finding[] = []
  for (const file of files) {
    const reader = makeReader(file)
    readFile(reader, documents)
    findings.push(...reader.findings)
  }
  return { documents, findings }
}

interface Reader {
  readonly path: string
  readonly text: string
  readonly isJson: boolean
  readonly lines: LineCounter
  readonly findings: Finding[]
}

type Node = ParsedNode | null | undefined

function makeReader(file: DefinitionFile): Reader {
  // The mark would shift the columns of the first line.
  const text = file.text.startsWith('\ufeff') ? file.text.slice(1) : file.text
  const isJson = file.path.toLowerCase().endsWith('.json')
  return { path: file.path, text, isJson, lines: new LineCounter(), findings: [] }
}

function readFile(reader: Reader, documents: ReadDocument[]): void {
  const { text, lines } = reader
  for (let at = 0; at >= 0; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at)
  if (text.length > FILE_BYTES_MAX) {
    report(reader, 'tooLarge', `a file has at most ${FILE_BYTES_MAX} bytes: split it`, 0)
    return
  }
  if (reader.isJson && !isReadableJson(reader)) return
  const parsed = parse(reader)
  if (parsed === null) return
  for (const [index, document] of parsed.entries()) {
    if (index >= DOCUMENTS_MAX) {
      report(reader, 'tooLarge', `a file has at most ${DOCUMENTS_MAX} documents: split it`, document.range[0])
      return
    }
    const read = readDocument(reader, document)
    if (read !== null) documents.push(read)
  }
}

function isReadableJson(reader: Reader): boolean {
  try {
    parseJson(reader.text, { depth: DEPTH_MAX })
    return true
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    report(reader, 'syntax', `this is not JSON: ${error.message}`, error.offset)
    return false
  }
}

function parse(reader: Reader): readonly Document.Parsed[] | null {
  try {
    const documents = parseAllDocuments(reader.text, {
      intAsBigInt: true,
      prettyErrors: false,
      resolveKnownTags: false,
      uniqueKeys: false,
      version: '1.2',
    })
    return Array.isArray(documents) ? documents : []
  } catch {
    // The parser recurses: only nesting that nobody writes by hand gets here.
    report(reader, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, 0)
    return null
  }
}

function readDocument(reader: Reader, document: Document.Parsed): ReadDocument | null {
  const errors = document.errors.length
  for (const error of document.errors) reportSyntax(reader, error)
  for (const warning of document.warnings) reportWarning(reader, warning)
  if (errors > 0) return null
  const { yaml } = document.directives
  if (yaml.explicit === true && yaml.version !== '1.2') {
    report(
      reader,
      'syntax',
      'definitions are YAML 1.2: leave the `%YAML` line out',
      Math.max(0, reader.text.indexOf('%YAML')),
    )
    return null
  }
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null && !reader.isJson)) return null
  const before = reader.findings.length - document.warnings.length
  const work: Work = { reader, document, nodes: 0, aliases: 0, isOver: false, open: new Set(), spoiled: [] }
  const value = convert(root, [], work)
  if (work.isOver) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(reader, 'notADocument', 'a document is a map with `kind` and `name`', startOf(root))
    return null
  }
  const fields = value as { readonly [key: string]: JsonValue }
  return {
    file: reader.path,
    value: fields,
    isWhole: reader.findings.length === before,
    locate: (remark) => (isWithin(remark.path, work.spoiled) ? null : locate(reader, document, remark)),
  }
}

// --- Values

interface Work {
  readonly reader: Reader
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
  // Reported as a warning of the parser.
  if (node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:')) return spoil(path, work)
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
    report(work.reader, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, startOf(node))
  } else if (work.aliases > 0) {
    report(work.reader, 'alias', 'aliases repeat too much: write less of it', startOf(node))
  } else {
    report(work.reader, 'tooLarge', `a document has at most ${NODES_MAX} values: split it`, startOf(node))
  }
  return null
}

function convertAlias(node: Alias.Parsed, path: FieldPath, work: Work): JsonValue {
  const target = node.resolve(work.document) as Node
  if (target === undefined || target === null) {
    const suggestion = quotedAt(work.reader, startOf(node))
    report(
      work.reader,
      'alias',
      '`*` begins the name of an anchor, which is not there: text needs quotes',
      startOf(node),
      suggestion,
    )
    return spoil(path, work)
  }
  if (work.open.has(target)) {
    report(work.reader, 'alias', 'this alias contains itself', startOf(node))
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
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const text = String(node.source)
    report(
      work.reader,
      'type',
      `\`${text}\` is no number in JSON: text needs quotes`,
      startOf(node),
      `"${text}"`,
    )
    return spoil(path, work)
  }
  return value as JsonValue
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
    spoil(path, work)
    return
  }
  if (Object.hasOwn(object, key)) {
    report(work.reader, 'duplicateKey', `\`${key}\` stands here twice: keep one`, startOf(pair.key))
    return
  }
  object[key] = convert(pair.value, [...path, key], work)
}

/** null: not a text. HTTP statuses may be written as numbers, since that is what they are. */
function keyText(key: Node, path: FieldPath): string | null {
  if (!isScalar(key)) return null
  if (key.value === '__proto__') return null
  if (typeof key.value === 'string') return key.value
  return typeof key.value === 'bigint' && path.at(-1) === 'classify' ? String(key.value) : null
}

function reportKey(key: Node, work: Work): void {
  const { reader } = work
  const start = key === null || key === undefined ? 0 : startOf(key)
  const isTemplate = reader.text.startsWith('{{', start - 1)
  if (isTemplate) {
    const end = reader.text.indexOf('}}', start)
    const text = end < 0 ? undefined : reader.text.slice(start - 1, end + 2)
    const suggestion = quotedAt(reader, start) ?? (text === undefined ? undefined : `"${text}"`)
    report(
      reader,
      'keyNotText',
      'YAML reads `{` as the start of a map: a template needs quotes',
      start - 1,
      suggestion,
    )
    return
  }
  const source = isScalar(key) ? reader.text.slice(start, key.range?.[1]) : ''
  const suggestion = source === '' || source === '__proto__' ? undefined : `"${source}"`
  report(reader, 'keyNotText', 'the name of a field is a text: it needs quotes', start, suggestion)
}

// --- Places

function locate(reader: Reader, document: Document.Parsed, remark: Remark): Finding {
  const offset = offsetOf(reader, document, remark)
  return makeFinding(
    reader,
    remark.rule,
    remark.message,
    offset,
    suggestionFor(reader, document, remark),
    remark.severity,
  )
}

function offsetOf(reader: Reader, document: Document.Parsed, remark: Remark): number {
  const { node, key } = find(document, remark.path)
  if (node === undefined || remark.onKey === true || (isScalar(node) && isEmptyScalar(node))) {
    if (key !== null) return startOf(key)
    return node === undefined || node === null ? placeOfParent(document, remark.path) : startOf(node)
  }
  if (isScalar(node) && remark.offset !== undefined) return fileOffset(node, reader.text, remark.offset)
  return node === null ? 0 : startOf(node)
}

function isEmptyScalar(node: Scalar): boolean {
  return node.value === null && (node.range?.[0] ?? 0) === (node.range?.[1] ?? 0)
}

/** A missing field is reported where it should be added: at the name of what it belongs to. */
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

/** `node` is undefined where nothing is written. */
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

function startOf(node: { range?: readonly number[] | null | undefined }): number {
  return node.range?.[0] ?? 0
}

function suggestionFor(reader: Reader, document: Document.Parsed, remark: Remark): string | undefined {
  const { node } = find(document, remark.path)
  if (remark.isCut === true && isScalar(node) && node.type === 'PLAIN' && hasCommentBehind(reader, node)) {
    return quotedAt(reader, startOf(node))
  }
  if (remark.suggestedText === undefined) return remark.suggestion
  // Lines of a block cannot be shown as one value; the message says what to change.
  if (remark.suggestedText.includes('\n')) return undefined
  return reader.isJson ? JSON.stringify(remark.suggestedText) : quoteYaml(remark.suggestedText)
}

function hasCommentBehind(reader: Reader, node: Scalar): boolean {
  return /^[ \t]+#/.test(reader.text.slice(node.range?.[1] ?? 0, (node.range?.[1] ?? 0) + 16))
}

// --- Findings

function makeFinding(
  reader: Reader,
  rule: RuleName,
  message: string,
  offset: number,
  suggestion?: string,
  severity: Finding['severity'] = 'error',
): Finding {
  const { line, col } = reader.lines.linePos(Math.min(offset, reader.text.length))
  const place = { file: reader.path, line: Math.max(1, line), column: Math.max(1, col) }
  return {
    severity,
    rule: RULES[rule],
    message,
    ...place,
    ...(suggestion === undefined ? {} : { suggestion }),
  }
}

function report(reader: Reader, rule: RuleName, message: string, offset: number, suggestion?: string): void {
  reader.findings.push(makeFinding(reader, rule, message, offset, suggestion))
}

function quotedAt(reader: Reader, offset: number): string | undefined {
  const start = reader.text.lastIndexOf('\n', offset - 1) + 1
  const end = reader.text.indexOf('\n', offset)
  return quoteLine(reader.text.slice(start, end < 0 ? reader.text.length : end))
}

const ADVICE: Readonly<Record<string, string>> = {
  BAD_SCALAR_START: 'a text cannot begin with this character: it needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a text with `: ` in it needs quotes',
  TAB_AS_INDENT: 'indent with spaces, not with tabs',
  MISSING_CHAR: 'something is not closed or lacks a space',
}

function reportSyntax(reader: Reader, error: YAMLError): void {
  if (error.message.includes('call stack')) {
    report(reader, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, error.pos[0])
    return
  }
  const advice = ADVICE[error.code]
  const isCut = error.code === 'UNEXPECTED_TOKEN' && /at node end/.test(error.message)
  const message = isCut
    ? 'the text ends at its closing quote, and more follows: put quotes around the whole'
    : advice === undefined
      ? `YAML cannot read this: ${error.message}`
      : `${advice} (${error.message})`
  const quotable = isCut || error.code === 'BAD_SCALAR_START' || error.code === 'BLOCK_AS_IMPLICIT_KEY'
  report(reader, 'syntax', message, error.pos[0], quotable ? quotedAt(reader, error.pos[0]) : undefined)
}

function reportWarning(reader: Reader, warning: YAMLError): void {
  if (warning.code !== 'TAG_RESOLVE_FAILED') {
    report(reader, 'syntax', `YAML cannot read this: ${warning.message}`, warning.pos[0])
    return
  }
  const suggestion = quotedAt(reader, warning.pos[0])
  report(reader, 'tag', 'YAML reads `!` as a tag: text needs quotes', warning.pos[0], suggestion)
}
