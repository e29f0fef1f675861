// Rewrites definitions to the shorter forms, for `millrace fmt`. The text is edited in place, so that comments, order and layout
// stay, and only where the documents keep their hashes. Documents that become another one (`steps`) are written anew.

import {
  isMap as isMapNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  stringify,
  type YAMLMap,
} from 'yaml'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { MAPPING_NAMES } from '../core/ingest/source/index.ts'
import { compileDefinitions } from './compile.ts'
import { condense, expand } from './condense-steps.ts'
import { writeYaml } from './document-as-yaml.ts'
import type { Finding } from './finding.ts'
import { readDocuments } from './read.ts'
import { shortKeyOf } from './short-forms.ts'
import type { DefinitionFile } from './source-text.ts'
import type { Fields } from './written.ts'

export interface Shortened {
  /** The files whose text changed. */
  readonly changed: readonly DefinitionFile[]
  /** Errors: files that have one stay as they are. */
  readonly errors: readonly Finding[]
}

/** All files of a folder together: documents refer to each other. JSON files stay as they are. */
export function shortenFiles(files: readonly DefinitionFile[]): Shortened {
  return rewriteFiles(files, (text) => shorten(replaceDocuments(text, condense)))
}

/** The other direction: every short form is written out. */
export function lengthenFiles(files: readonly DefinitionFile[]): Shortened {
  return rewriteFiles(files, (text) =>
    replaceDocuments(text, (value) => {
      const long = expand(value)
      return long === value ? null : long
    }),
  )
}

function rewriteFiles(files: readonly DefinitionFile[], rewrite: (text: string) => string): Shortened {
  const before = compile(files)
  const errors = before.findings.filter(({ severity }) => severity === 'error')
  const faulty = new Set(errors.map(({ file }) => file))
  const written = files.map((file) =>
    /\.ya?ml$/i.test(file.path) && !faulty.has(file.path) ? { ...file, text: rewrite(file.text) } : file,
  )
  const wanted = hashesOf(before)
  const found = hashesOf(compile(written))
  // A document that refers to a faulty one has neither an error nor a hash.
  const isKept = ({ path, text }: DefinitionFile) => {
    const hashes = wanted.get(path)
    return hashes?.length === countDocuments(text) && hashes.join() === found.get(path)?.join()
  }
  const changed = written.filter((file, index) => file.text !== files[index]?.text && isKept(file))
  return { changed, errors }
}

function compile(files: readonly DefinitionFile[]) {
  // The code of functions is not read: any hash does, as long as it is the same before and after.
  return compileDefinitions(files, { functions: () => 'sha256:0' })
}

function hashesOf({ definitions }: ReturnType<typeof compile>): ReadonlyMap<string, readonly string[]> {
  const hashes = new Map<string, string[]>()
  for (const { document, authored } of definitions) {
    const path = authored.path ?? ''
    hashes.set(path, [
      ...(hashes.get(path) ?? []),
      `${document.kind}/${document.name} ${hashDocument(document)}`,
    ])
  }
  return hashes
}

function countDocuments(text: string): number {
  const documents = parseAllDocuments(text)
  return 'empty' in documents ? 0 : documents.filter(({ contents }) => contents !== null).length
}

// --- One file

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Documents that have another form are written anew, where no comment would be lost. */
function replaceDocuments(text: string, formOf: (value: Fields) => Fields | null): string {
  const documents = parseAllDocuments(text)
  const edits = ('empty' in documents ? [] : documents).flatMap((document): readonly Edit[] => {
    const range = document.contents?.range
    if (range == null || document.errors.length > 0) return []
    const [from, to] = [range[0], range[1]]
    const written = text.slice(from, to)
    const [read] = readDocuments([{ path: 'a.yaml', text: written }]).documents
    if (read === undefined || /(?:^|\s)#/.test(written)) return []
    const value = formOf(read.value)
    if (value === null) return []
    const ending = written.length - written.trimEnd().length
    const now = writeYaml(value).trimEnd() + written.slice(written.length - ending)
    return [{ from, to, text: text.includes('\r\n') ? now.replaceAll(/\r?\n/g, '\r\n') : now }]
  })
  return applied(edits, text)
}

function applied(edits: readonly Edit[], text: string): string {
  return edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((result, { from, to, text: now }) => result.slice(0, from) + now + result.slice(to), text)
}

/** The file in the shorter forms; as it is if it cannot be read. */
function shorten(text: string): string {
  const documents = parseAllDocuments(text)
  const edits: Edit[] = []
  for (const document of 'empty' in documents ? [] : documents) {
    const root = document.contents
    if (document.errors.length > 0 || !isMapNode(root)) continue
    const kind = scalarOf(root, 'kind')
    if (kind === 'Source') edits.push(...shortenVendor(root, text))
    if (kind === 'Route' || kind === 'Subscription') edits.push(...shortenOn(root, text))
    if (kind === 'Route') edits.push(...shortenKey(root), ...shortenMigration(root))
    if (kind === 'Workflow') edits.push(...shortenWorkflow(root, text))
  }
  return applied(edits, text)
}

function shortenWorkflow(root: YAMLMap, text: string): readonly Edit[] {
  const triggers = nodeOf(root, 'triggers')
  const transitions = nodeOf(root, 'transitions')
  const waiting = isSeq(triggers) ? triggers.items.filter(isMapNode) : []
  const steps = isMapNode(transitions) ? transitions.items.map(({ value }) => value).filter(isMapNode) : []
  return [...waiting.flatMap((one) => shortenOn(one, text)), ...steps.flatMap(shortenKey)]
}

/** `verify: { scheme: x, secret }` with `subjects: x`, or with a subject of its own. */
function shortenVendor(root: YAMLMap, text: string): readonly Edit[] {
  const pair = pairOf(root, 'verify')
  const verify = nodeOf(root, 'verify')
  if (pair === null || root.flow === true || !isMapNode(verify) || verify.items.length !== 2) return []
  const vendor = scalarOf(verify, 'scheme')
  const secret = nodeOf(verify, 'secret')
  const span = spanOf(pair, text)
  if (typeof vendor !== 'string' || secret === null || span === null || isCommented(span, text)) return []
  const indent = ' '.repeat(span.from - (text.lastIndexOf('\n', span.from - 1) + 1))
  const written = stringify(secret.toJSON(), { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const now = { ...span, text: `vendor: ${vendor}${newline}${indent}secret: ${written}` }
  const subjects = pairOf(root, 'subjects')
  if (subjects === null) return scalarOf(root, 'subject') === undefined ? [] : [now]
  const line = scalarOf(root, 'subjects') === vendor && isMapped(vendor) ? lineOf(subjects, text) : null
  return line === null ? [] : [now, line]
}

function isMapped(vendor: string): boolean {
  return (MAPPING_NAMES as readonly string[]).includes(vendor)
}

/** A list of one. */
function shortenOn(map: YAMLMap, text: string): readonly Edit[] {
  const pair = pairOf(map, 'on')
  const list = nodeOf(map, 'on')
  const only = isSeq(list) && list.items.length === 1 ? list.items[0] : null
  if (pair === null || !isScalar(only) || typeof only.value !== 'string') return []
  const span = spanOf(pair, text)
  if (span === null || isCommented(span, text) || only.range == null) return []
  return [{ ...span, text: `on: ${text.slice(only.range[0], only.range[1])}` }]
}

function shortenKey(map: YAMLMap): readonly Edit[] {
  return shortenFormula(nodeOf(map, 'key'))
}

function shortenMigration(root: YAMLMap): readonly Edit[] {
  const migration = nodeOf(root, 'keyMigration')
  return isMapNode(migration) ? shortenFormula(nodeOf(migration, 'from')) : []
}

function shortenFormula(node: Node | null): readonly Edit[] {
  if (!isScalar(node) || typeof node.value !== 'string' || node.range == null) return []
  const short = shortKeyOf(node.value)
  // A block scalar ends with its line.
  if (short === null || node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL') return []
  return [{ from: node.range[0], to: node.range[1], text: JSON.stringify(short) }]
}

// --- Places

function pairOf(map: YAMLMap, name: string): Pair | null {
  return map.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === name) ?? null
}

function nodeOf(map: YAMLMap, name: string): Node | null {
  return (pairOf(map, name)?.value as Node | null | undefined) ?? null
}

function scalarOf(map: YAMLMap, name: string): unknown {
  const node = nodeOf(map, name)
  return isScalar(node) ? node.value : undefined
}

interface Span {
  readonly from: number
  readonly to: number
}

/** From the name of a field to the end of its value, without what follows. */
function spanOf({ key, value }: Pair, text: string): Span | null {
  const from = (key as Node).range?.[0]
  const end = (value as Node | null)?.range?.[1]
  if (from === undefined || end === undefined) return null
  return { from, to: from + text.slice(from, end).trimEnd().length }
}

/** The lines of a field that has them to itself; null: something else stands there. */
function lineOf(pair: Pair, text: string): Edit | null {
  const span = spanOf(pair, text)
  if (span === null) return null
  const from = text.lastIndexOf('\n', span.from - 1) + 1
  const end = text.indexOf('\n', span.to)
  const rest = text.slice(span.to, end < 0 ? undefined : end)
  if (text.slice(from, span.from).trim() !== '' || rest.trim() !== '') return null
  // The last line of a file without its newline takes the one before.
  return end < 0
    ? { from: Math.max(0, from - 1), to: text.length, text: '' }
    : { from, to: end + 1, text: '' }
}

/** A comment inside would be lost. */
function isCommented({ from, to }: Span, text: string): boolean {
  return /\s#/.test(text.slice(from, to))
}
