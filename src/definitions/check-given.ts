// Checks one document that comes through the API: the same language, as fields of a request instead of a file. A
// finding names its field; a null field counts as omitted.

import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { copyPlain, type JsonValue } from '../core/foundation/json/index.ts'
import { compileDefinitions } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'
import { type FieldPath, type Finding, RULES, type RuleId } from './finding.ts'
import { type GivenFields, patchFields } from './given-fields.ts'
import { importSubscription } from './import-subscriptions.ts'
import { type Kind, neededFields } from './kinds/index.ts'
import type { ReadDocument } from './read.ts'
import { DEPTH_MAX } from './source-text.ts'
import { listed } from './suggest.ts'

export interface FieldFinding {
  readonly severity: Finding['severity']
  readonly rule: RuleId
  readonly message: string
  /** `order.by`, `on[1]`; empty: the whole. */
  readonly field: string
  /** What to write there. */
  readonly suggestion?: string
}

export type CheckedGiven =
  | {
      readonly ok: true
      readonly document: DefinitionDocument
      /** In the spelling of the language, without null fields. */
      readonly written: GivenFields
      readonly warnings: readonly FieldFinding[]
    }
  /** Errors first, followed by warnings. */
  | { readonly ok: false; readonly findings: readonly FieldFinding[] }

/** Without `outbound`, the caller judges addresses. */
export function checkGiven(kind: Kind, written: unknown, surroundings: Partial<CompileDeps>): CheckedGiven {
  const refused = refuseWhole(kind, written)
  if (refused !== null) return { ok: false, findings: [refused] }
  // As in YAML a number is its value: `5.0` is 5.
  const fields = patchFields({}, copyPlain(written as JsonValue) as GivenFields)
  const places = new Map<Finding, string>()
  const read: ReadDocument = {
    file: '',
    text: '',
    value: { ...fields, kind },
    isWhole: true,
    locate({ severity, rule, message, path, suggestion, suggestedText }) {
      const proposed = suggestedText ?? suggestion
      const finding: Finding = {
        severity: severity ?? 'error',
        rule: RULES[rule],
        message,
        file: '',
        line: 1,
        column: 1,
        ...(proposed === undefined ? {} : { suggestion: proposed }),
      }
      places.set(finding, fieldOf(path))
      return finding
    },
  }
  // Rewritten before it is stored: a later change uses the fields of the language.
  const imported = importSubscription(read)?.document ?? read
  const compiled = compileDefinitions(
    [],
    { functions: () => null, outbound: null, fillsVars: false, ...surroundings },
    [imported],
  )
  const findings = compiled.findings.map(
    ({ file: _file, line: _line, column: _column, ...finding }, index): FieldFinding => ({
      ...finding,
      field: places.get(compiled.findings[index] as Finding) ?? '',
    }),
  )
  const [document] = compiled.documents
  if (document?.kind === kind && !findings.some(({ severity }) => severity === 'error')) {
    return { ok: true, document, written: patchFields({}, imported.value), warnings: findings }
  }
  const [errors, others] = [true, false].map((isError) =>
    findings.filter(({ severity }) => (severity === 'error') === isError),
  )
  return { ok: false, findings: [...(errors ?? []), ...(others ?? [])] }
}

/** A value that is no such document at all, or too deep to be checked. */
function refuseWhole(kind: Kind, written: unknown): FieldFinding | null {
  const error = (rule: keyof typeof RULES, message: string, field = ''): FieldFinding => ({
    severity: 'error',
    rule: RULES[rule],
    message,
    field,
  })
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    const needed = neededFields(kind)
    const names = `${listed(needed.slice(0, -1))} and ${listed(needed.slice(-1))}`
    return error('notADocument', `a ${kind.toLowerCase()} is a map with ${names}`)
  }
  const { kind: given } = written as { readonly kind?: unknown }
  if (given !== undefined && given !== null && given !== kind) {
    return error('kind', `this is a \`${kind}\`: leave \`kind\` out`, 'kind')
  }
  return isDeep(written, DEPTH_MAX) ? error('tooLarge', `nested deeper than ${DEPTH_MAX} levels`) : null
}

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some((one) => isDeep(one, left - 1))
}

function fieldOf(path: FieldPath): string {
  return path.map((step, index) => nameOf(step, index)).join('')
}

function nameOf(step: string | number, index: number): string {
  if (typeof step === 'number') return `[${step}]`
  return index === 0 ? step : `.${step}`
}
