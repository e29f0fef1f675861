// Definitions from TypeScript and JavaScript: after their files were bundled and loaded they are values like those of
// any other file, and go the same way. Only the position of a finding is special: a value does not remember where it
// was written, so its position is searched for in the text.

import { type CodeExport, type CodeFolder, findJsonFault, isOpening } from '../core/effects/function/index.ts'
import { parsePattern } from '../core/events/subject/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { isNumber, type JsonValue } from '../core/foundation/json/index.ts'
import { MINUTE } from '../core/foundation/time/index.ts'
import { findInCode } from './code-positions.ts'
import { writeYaml } from './document-as-yaml.ts'
import { documentNameFault } from './fields.ts'
import { type Finding, type Remark, RULES, type RuleName } from './finding.ts'
import { KIND_NAMES, OTHER_KINDS } from './kinds/index.ts'
import type { ReadDocument } from './read.ts'
import { DEPTH_MAX, makeFinding, makeSourceText, type SourceText } from './source-text.ts'

export interface KnownFunction {
  readonly codeHash: string
  /** null: it declares none. */
  readonly timeoutMs: number | null
  /** Subjects that it declares to emit. */
  readonly emits: readonly string[]
}

export interface ReadCode {
  readonly documents: readonly ReadDocument[]
  readonly functions: ReadonlyMap<string, KnownFunction>
  readonly findings: readonly Finding[]
}

const KINDS: readonly string[] = ['Function', ...KIND_NAMES, ...OTHER_KINDS]
const PROBLEMS = { build: 'codeBuild', load: 'codeLoad', size: 'codeSize' } as const
const TIMEOUT_MS_MAX = 10 * MINUTE

export function readCode(code: CodeFolder): ReadCode {
  const sources = new Map(code.files.map((file) => [file.path, makeSourceText(file)]))
  const findings: Finding[] = code.problems.map(({ kind, ...problem }) => ({
    severity: 'error',
    rule: RULES[PROBLEMS[kind]],
    ...problem,
  }))
  const documents: ReadDocument[] = []
  const functions = new Map<string, KnownFunction>()
  const first = new Map<string, Finding>()
  for (const one of code.exports) {
    const source = sources.get(one.file)
    if (source === undefined || !KINDS.includes(String(one.value.kind))) continue
    if (one.value.kind !== 'Function') {
      const document = documentOf(source, one)
      if ('rule' in document) findings.push(document)
      else documents.push(document)
      continue
    }
    const faults = faultsOf(source, one)
    findings.push(...faults)
    if (faults.length > 0) continue
    const name = String(one.value.name)
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, placed(source, one, { rule: 'functionTwice', message: '', path: ['name'] }))
      functions.set(name, {
        codeHash: one.codeHash,
        timeoutMs: timeoutOf(one.value.timeout),
        emits: (one.value.emits ?? []) as readonly string[],
      })
    } else {
      const message = `there is a function \`${name}\` already, at ${earlier.file}:${earlier.line}:${earlier.column}: rename one`
      findings.push(placed(source, one, { rule: 'functionTwice', message, path: ['name'] }))
    }
  }
  return { documents, functions, findings }
}

function placed(source: SourceText, one: CodeExport, remark: Remark): Finding {
  const { message, rule, severity, suggestedText, suggestion = suggestedText } = remark
  return makeFinding(source, rule, message, findInCode(source.text, one, remark), suggestion, severity)
}

function documentOf(source: SourceText, one: CodeExport): ReadDocument | Finding {
  const fault = findJsonFault(one.value, `the ${String(one.value.kind)}`, DEPTH_MAX)
  if (fault !== null) {
    const message = `a definition is data: ${fault}`
    return placed(source, one, { rule: 'notData', message, path: [] })
  }
  const value = plain(one.value) as { readonly [key: string]: JsonValue }
  return {
    file: one.file,
    // The document is what is shown and can be copied; the code stays in its file.
    text: writeYaml(value),
    value,
    isWhole: true,
    locate: (remark) => placed(source, one, remark),
  }
}

/** A copy without undefined members: in YAML they would not be written. */
function plain(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || isNumber(value)) return value as JsonValue
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]))
}

function faultsOf(source: SourceText, one: CodeExport): readonly Finding[] {
  const { name, run, timeout, input, tenants, emits } = one.value
  const report = (rule: RuleName, field: string, message: string) =>
    placed(source, one, { rule, message, path: [field] })
  const findings: Finding[] = []
  const nameFault = typeof name === 'string' ? documentNameFault(name) : '`name` is a text'
  if (nameFault !== null) findings.push(report('name', 'name', nameFault))
  if (typeof run !== 'function')
    findings.push(report('functionShape', 'run', '`run` is the code of the function'))
  if (timeout !== undefined && timeoutOf(timeout) === null) {
    findings.push(report('functionShape', 'timeout', '`timeout` is a duration from 1ms to 10m, such as 30s'))
  }
  if (input !== undefined && !isSchema(input)) {
    const message = '`input` is a Standard Schema, such as one of zod, valibot or arktype'
    findings.push(report('functionShape', 'input', message))
  }
  if (tenants !== undefined && !isOpening(tenants)) {
    const message = "`tenants` is a list of names of tenants, or 'all'"
    findings.push(report('functionShape', 'tenants', message))
  }
  if (emits !== undefined && !isPatterns(emits)) {
    const message = '`emits` is a list of subjects, such as `billing.events.checked`'
    findings.push(report('functionShape', 'emits', message))
  }
  return findings
}

function isPatterns(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && parsePattern(one).ok)
}

function timeoutOf(timeout: unknown): number | null {
  const timeoutMs = typeof timeout === 'string' ? parseDuration(timeout) : null
  return timeoutMs !== null && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MS_MAX ? timeoutMs : null
}

function isSchema(value: unknown): boolean {
  // Schemas may be functions with members, as arktype's are.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as { '~standard'?: unknown })['~standard']
  return typeof (standard as { validate?: unknown } | undefined)?.validate === 'function'
}
