// Formats findings for a terminal: position, message, the line with a caret under it, and what to write.

import { showTrace } from '../core/workflows/analysis/index.ts'
import type { Finding } from './finding.ts'
import type { DefinitionFile } from './source-text.ts'

const LINE_MAX = 160

/** `files` are those that were checked; a finding of another file is printed without its line. */
export function formatFindings(findings: readonly Finding[], files: readonly DefinitionFile[]): string {
  const lines = new Map(files.map((file) => [file.path, file.text.replace(/^\ufeff/, '').split(/\r?\n/)]))
  const blocks = findings.map((finding) =>
    formatFinding(finding, lines.get(finding.file)?.[finding.line - 1]),
  )
  return [...blocks, summary(findings)].join('\n')
}

function formatFinding(finding: Finding, line: string | undefined): string {
  const place = `${finding.file}:${finding.line}:${finding.column}`
  const rows = [`${place} ${finding.severity} ${finding.rule}: ${finding.message}`]
  if (line !== undefined) rows.push(...excerpt(line, finding))
  if (finding.suggestion !== undefined) rows.push(`  write: ${finding.suggestion}`)
  const { trace = [], repeatsAfter } = finding
  if (trace.length > 0) rows.push('  how it comes to it:')
  rows.push(...showTrace(trace, repeatsAfter).map((row) => `    ${printable(row)}`))
  return `${rows.join('\n')}\n`
}

function excerpt(line: string, { line: number, column }: Finding): readonly string[] {
  const gutter = String(number)
  const from = column > LINE_MAX ? column - LINE_MAX / 2 : 0
  const shown = printable(line.slice(from, from + LINE_MAX))
  // Tabs stay tabs, so that the caret is where the terminal puts the character.
  const indent = shown.slice(0, column - 1 - from).replaceAll(/[^\t]/g, ' ')
  return [`  ${gutter} | ${shown}`, `  ${' '.repeat(gutter.length)} | ${indent}^`]
}

/** A file must not be able to control the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
  return text.replaceAll(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, '\ufffd')
}

function summary(findings: readonly Finding[]): string {
  const errors = findings.filter((finding) => finding.severity === 'error').length
  const warnings = findings.filter((finding) => finding.severity === 'warning').length
  const notes = findings.length - errors - warnings
  return `${count(errors, 'error')}, ${count(warnings, 'warning')}${notes === 0 ? '' : `, ${count(notes, 'note')}`}\n`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
