// Reads files into plain values that remember their positions. One way for YAML and JSON. Not its job: what the values
// mean.

import { type Document, isScalar, parseAllDocuments } from 'yaml'
import type { VarValues } from '../core/definitions/documents/index.ts'
import { JsonError, type JsonValue, parseJson } from '../core/foundation/json/index.ts'
import { locate, startOf } from './field-positions.ts'
import type { Finding, Remark } from './finding.ts'
import { strictJson } from './json-comments.ts'
import {
  DEPTH_MAX,
  type DefinitionFile,
  makeSourceText,
  report,
  reportSyntax,
  reportWarning,
  type SourceText,
} from './source-text.ts'
import { plainValue } from './values.ts'

/** What filling in did to a document. */
export interface FilledVars {
  /** By name. */
  readonly values: VarValues
  readonly remarks: readonly Remark[]
  /** Says in remarks about filled values whose values they are. */
  explain(shape: readonly Remark[]): readonly Remark[]
}

/** One document of a file. */
export interface ReadDocument {
  readonly file: string
  /** As its author wrote it, comments and all. */
  readonly text: string
  readonly value: { readonly [key: string]: JsonValue }
  /** False if a part of it could not be read; findings say which. */
  readonly isWhole: boolean
  /** Values of `vars` that were filled into its numbers and durations. */
  readonly filled?: FilledVars
  /**
   * Gives a remark its position; null for a part that could not be read anyway, so that one mistake is reported once.
   */
  locate(remark: Remark): Finding | null
}

export const FILE_BYTES_MAX = 1024 * 1024
const DOCUMENTS_MAX = 1_000

export function readDocuments(files: readonly DefinitionFile[]): {
  readonly documents: readonly ReadDocument[]
  readonly findings: readonly Finding[]
} {
  const documents: ReadDocument[] = []
  const findings: Finding[] = []
  for (const file of files) {
    const source = makeSourceText(file)
    readFile(source, documents)
    findings.push(...source.findings)
  }
  return { documents, findings }
}

function readFile(source: SourceText, documents: ReadDocument[]): void {
  if (source.text.length > FILE_BYTES_MAX) {
    report(source, 'tooLarge', `a file has at most ${FILE_BYTES_MAX} bytes: split it`, 0)
    return
  }
  const text = source.isJson ? strictJson(source.text) : source.text
  if (source.isJson && !isReadableJson(source, text)) return
  const parsed = parse(source, text)
  if (parsed === null) return
  for (const [index, document] of parsed.entries()) {
    if (index >= DOCUMENTS_MAX) {
      report(source, 'tooLarge', `a file has at most ${DOCUMENTS_MAX} documents: split it`, document.range[0])
      return
    }
    const read = readDocument(source, document)
    if (read !== null) documents.push(read)
  }
}

function isReadableJson(source: SourceText, text: string): boolean {
  try {
    parseJson(text, { depth: DEPTH_MAX })
    return true
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const rule = error.message.includes('deep') ? 'tooLarge' : 'syntax'
    report(source, rule, `this is not JSON that can be read: ${error.message}`, error.offset)
    return false
  }
}

function parse(source: SourceText, text: string): readonly Document.Parsed[] | null {
  try {
    const documents = parseAllDocuments(text, {
      intAsBigInt: true,
      prettyErrors: false,
      resolveKnownTags: false,
      uniqueKeys: false,
      version: '1.2',
    })
    return Array.isArray(documents) ? documents : []
  } catch {
    // The parser recurses: only nesting that no author writes by hand gets here.
    report(source, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, 0)
    return null
  }
}

function readDocument(source: SourceText, document: Document.Parsed): ReadDocument | null {
  const errors = document.errors.length
  for (const error of document.errors) reportSyntax(source, error)
  for (const warning of document.warnings) reportWarning(source, warning)
  if (errors > 0) return null
  const { yaml } = document.directives
  if (yaml.explicit === true && yaml.version !== '1.2') {
    report(
      source,
      'syntax',
      'definitions are YAML 1.2: leave the `%YAML` line out',
      Math.max(0, source.text.indexOf('%YAML')),
    )
    return null
  }
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null && !source.isJson)) return null
  const before = source.findings.length - document.warnings.length
  const { value, isBounded, isSpoiled } = plainValue(source, document)
  if (!isBounded) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(source, 'notADocument', 'a document is a map with `kind` and `name`', startOf(root))
    return null
  }
  const fields = value as { readonly [key: string]: JsonValue }
  return {
    file: source.path,
    text: textOf(source, document),
    value: fields,
    isWhole: source.findings.length === before,
    locate: (remark) => (isSpoiled(remark.path) ? null : locate(source, document, remark)),
  }
}

/** The part of the file that is this document, without the lines that separate it from others. */
function textOf(source: SourceText, document: Document.Parsed): string {
  const text = source.text.slice(document.range[0], document.range[2])
  return `${text
    .replace(/^(?:---[^\S\n]*\r?\n)/, '')
    .replace(/\n(?:---|\.\.\.)\s*$/, '')
    .trim()}\n`
}
