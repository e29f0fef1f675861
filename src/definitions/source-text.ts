// One file while it is read: its text, the start of each line, and its findings.

import { LineCounter, type YAMLError } from 'yaml'
import { type Finding, RULES, type RuleName } from './finding.ts'
import { quoteLine } from './suggest.ts'

export interface DefinitionFile {
  readonly path: string
  readonly text: string
}

export interface SourceText {
  readonly path: string
  readonly text: string
  readonly isJson: boolean
  readonly lines: LineCounter
  readonly findings: Finding[]
}

export const DEPTH_MAX = 64
/** Per file while it is read, and per document while it is checked: each costs a search for its position. */
export const FINDINGS_MAX = 200
const QUOTED_LENGTH_MAX = 500

export function makeSourceText(file: DefinitionFile): SourceText {
  // The byte order mark would shift the columns of the first line.
  const text = file.text.startsWith('\ufeff') ? file.text.slice(1) : file.text
  const lines = new LineCounter()
  for (let at = 0; at >= 0; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at)
  return { path: file.path, text, isJson: file.path.toLowerCase().endsWith('.json'), lines, findings: [] }
}

export function makeFinding(
  source: SourceText,
  rule: RuleName,
  message: string,
  offset: number,
  suggestion?: string,
  severity: Finding['severity'] = 'error',
): Finding {
  const { line, col } = source.lines.linePos(Math.min(offset, source.text.length))
  const place = { file: source.path, line: Math.max(1, line), column: Math.max(1, col) }
  return {
    severity,
    rule: RULES[rule],
    message,
    ...place,
    ...(suggestion === undefined ? {} : { suggestion }),
  }
}

export function report(
  source: SourceText,
  rule: RuleName,
  message: string,
  offset: number,
  suggestion?: string,
): void {
  // The parser's depth limit depends on the stack, so one excess may be met twice: reported once.
  if (rule === 'tooLarge' && source.findings.some((finding) => finding.rule === RULES.tooLarge)) return
  // This many mistakes are one mistake repeated.
  if (source.findings.length >= FINDINGS_MAX) return
  source.findings.push(makeFinding(source, rule, message, offset, suggestion))
}

export function quotedAt(source: SourceText, offset: number): string | undefined {
  // A line longer than anyone reads is not worth a search either.
  const from = Math.max(0, offset - QUOTED_LENGTH_MAX)
  const near = source.text.slice(from, offset + QUOTED_LENGTH_MAX)
  const start = near.slice(0, offset - from).lastIndexOf('\n') + 1
  const end = near.indexOf('\n', offset - from)
  if ((start === 0 && from > 0) || (end < 0 && from + near.length < source.text.length)) return undefined
  return quoteLine(near.slice(start, end < 0 ? near.length : end))
}

const ADVICE: Readonly<Record<string, string>> = {
  BAD_SCALAR_START: 'a text cannot begin with this character: it needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a text with `: ` in it needs quotes',
  TAB_AS_INDENT: 'indent with spaces, not with tabs',
  MISSING_CHAR: 'something is not closed or lacks a space',
}

export function reportSyntax(source: SourceText, error: YAMLError): void {
  if (error.message.includes('call stack')) {
    report(source, 'tooLarge', `nested deeper than ${DEPTH_MAX} levels`, error.pos[0])
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
  report(source, 'syntax', message, error.pos[0], quotable ? quotedAt(source, error.pos[0]) : undefined)
}

export function reportWarning(source: SourceText, warning: YAMLError): void {
  if (warning.code !== 'TAG_RESOLVE_FAILED') {
    report(source, 'syntax', `YAML cannot read this: ${warning.message}`, warning.pos[0])
    return
  }
  reportTag(source, warning.pos[0])
}

export function reportTag(source: SourceText, offset: number): void {
  report(source, 'tag', 'YAML reads `!` as a tag: text needs quotes', offset, quotedAt(source, offset))
}
