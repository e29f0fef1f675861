// Fills `{{ vars.x }}` into numbers, durations, sizes and booleans of definitions, before anything else is checked: the
// document that is deployed has the value of its environment. Texts stay templates, which are filled in at each call.

import * as z from 'zod'
import {
  applyVarSettings,
  type DefinitionDocument,
  ENVIRONMENTS,
  type EnvironmentName,
  filledVarsOf,
  OWN_VARS,
  type VarValues,
} from '../core/definitions/documents/index.ts'
import { canonicalJson, type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import type { CompileDeps } from './compile-deps.ts'
import { UNITS } from './fields.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkShape } from './issues.ts'
import { type Kind, schemaFor } from './kinds/index.ts'
import type { ReadDocument } from './read.ts'
import { type Fields, fieldsOf } from './written.ts'

const WHOLE = /^\{\{\s*vars\.([A-Za-z_]\w*)\s*\}\}$/
/** What decides what is the same effect, which must not differ by environment. */
const SAME_EFFECT = ['key', 'by', 'version', 'correlate', 'dedup', 'order', 'lock', 'keyMigration']

/** A value of a document that was written as `{{ vars.x }}`. */
export interface Fill {
  readonly path: FieldPath
  readonly name: string
}

/** The values of an environment, for the node's own first. */
export type VarsByEnvironment = ReadonlyMap<EnvironmentName, VarValues>

/** Of the files, valid or not, and of deployed documents besides them. */
export function varsByEnvironment(
  values: readonly Fields[],
  {
    environment,
    varSettings = {},
    varsBeside,
    deployedDocuments = [],
  }: Pick<CompileDeps, 'varSettings' | 'varsBeside' | 'deployedDocuments'> & {
    readonly environment: EnvironmentName
  },
): VarsByEnvironment {
  const written = values.filter(({ kind }) => kind === 'Vars')
  const names = new Set(written.map(({ name }) => name))
  const beside = (varsBeside ?? deployedDocuments).filter(
    ({ kind, name }) => kind === 'Vars' && !names.has(name),
  )
  const all = [...(beside as unknown as readonly Fields[]), ...written]
  const others = ENVIRONMENTS.filter(
    (one) => one !== environment && all.some(({ environments }) => fieldsOf(environments)[one] !== undefined),
  )
  const valuesOf = (one: EnvironmentName): VarValues =>
    Object.fromEntries(all.flatMap((fields) => Object.entries(valuesWritten(fields, one))))
  const own = applyVarSettings(valuesOf(environment), varSettings).values
  return new Map([[environment, own], ...others.map((one) => [one, valuesOf(one)] as const)])
}

/** What a document of `kind: Vars`, valid or not, says in the environment. */
export function valuesWritten({ values, environments }: Fields, environment: EnvironmentName): VarValues {
  return { ...fieldsOf(values), ...fieldsOf(fieldsOf(environments)[environment]) }
}

/** Deployed documents that other values were filled into than those of the first environment. */
export function needRefill(
  documents: readonly DefinitionDocument[],
  vars: VarsByEnvironment,
): readonly DefinitionDocument[] {
  const [values = {}] = vars.values()
  return documents.filter((one) =>
    Object.entries(filledVarsOf(one)).some(
      ([name, value]) =>
        Object.hasOwn(values, name) && canonicalJson(values[name] as JsonValue) !== canonicalJson(value),
    ),
  )
}

/** The same document if it has none. */
export function fillVars(document: ReadDocument, kind: Kind, vars: VarsByEnvironment): ReadDocument {
  const fills = kind === 'Vars' ? [] : findFills(document.value, kind)
  if (fills.length === 0) return document
  const [[environment, values] = ['DEV', {} as VarValues] as const] = vars
  const value = filled(document.value, fills, values)
  const remarks = [
    ...fills.flatMap(({ path, name }) => whyNot(path, name, values)),
    ...[...vars].slice(1).flatMap(([other, theirs]) => {
      const used = fills.filter(({ name }) => Object.hasOwn(theirs, name) && theirs[name] !== values[name])
      if (used.length === 0) return []
      const shape = checkShape(kind, filled(document.value, used, { ...values, ...theirs }))
      return explained(shape, used, theirs, other).filter(({ path }) => isAt(path, used))
    }),
  ]
  const used = fills.filter(({ name }) => Object.hasOwn(values, name))
  const given = Object.fromEntries(used.map(({ name }) => [name, values[name] as JsonValue]))
  const explain = (shape: readonly Remark[]) => explained(shape, fills, values, environment)
  return { ...document, value, filled: { values: given, remarks, explain } }
}

function isOwn(name: string): boolean {
  return (OWN_VARS as readonly string[]).includes(name)
}

function isAt(path: FieldPath, fills: readonly Fill[]): boolean {
  return fills.some((one) => one.path.join('/') === path.join('/'))
}

function whyNot(path: FieldPath, name: string, values: VarValues): readonly Remark[] {
  const same = path.find((step) => SAME_EFFECT.includes(String(step)))
  if (same === undefined || !Object.hasOwn(values, name)) return []
  const message = `\`vars\` is not available in \`${same}\`: it differs by environment, and this decides what is the same effect; write the value`
  return [{ rule: 'notAvailable', message, path }]
}

/** Says of a finding about a filled value whose value it is. */
function explained(
  shape: readonly Remark[],
  fills: readonly Fill[],
  values: VarValues,
  environment: EnvironmentName,
): readonly Remark[] {
  return shape.flatMap((remark) => {
    const fill = fills.find(({ path }) => path.join('/') === remark.path.slice(0, path.length).join('/'))
    if (fill === undefined) return [remark]
    // An unknown name is reported as one.
    if (!Object.hasOwn(values, fill.name)) return isOwn(fill.name) ? [remark] : []
    const shown = stringifyJson(values[fill.name] as JsonValue)
    const message = `\`vars.${fill.name}\` is \`${shown}\` in ${environment}, and ${remark.message}`
    return [{ rule: remark.rule, message, path: fill.path }]
  })
}

function filled(value: Fields, fills: readonly Fill[], values: VarValues): Fields {
  let result: JsonValue = value
  for (const { path, name } of fills)
    if (Object.hasOwn(values, name)) result = withValue(result, path, values[name] as JsonValue)
  return result as Fields
}

function withValue(target: JsonValue, [step, ...rest]: FieldPath, value: JsonValue): JsonValue {
  if (step === undefined) return value
  if (Array.isArray(target))
    return target.map((one, index) => (index === step ? withValue(one as JsonValue, rest, value) : one))
  const fields = target as Fields
  return { ...fields, [step]: withValue(fields[step] as JsonValue, rest, value) }
}

function findFills(value: Fields, kind: Kind): readonly Fill[] {
  const found: Fill[] = []
  const visit = (inner: JsonValue, path: FieldPath): void => {
    if (typeof inner === 'string') {
      const name = inner.startsWith('{{') ? WHOLE.exec(inner.trim())?.[1] : undefined
      if (name !== undefined && isMeasured(path, kind, value)) found.push({ path, name })
    } else if (Array.isArray(inner)) {
      for (const [index, one] of inner.entries()) visit(one as JsonValue, [...path, index])
    } else if (typeof inner === 'object' && inner !== null) {
      for (const [name, one] of Object.entries(inner as Fields)) visit(one, [...path, name])
    }
  }
  visit(value, [])
  return found
}

/** Whether what stands there is a number, a boolean or a text with a unit, whichever form of the field is meant. */
function isMeasured(path: FieldPath, kind: Kind, value: Fields): boolean {
  let schemas = formsOf(schemaFor(kind, value))
  for (const step of path) {
    schemas = schemas.flatMap((schema) => {
      const next =
        schema instanceof z.ZodObject
          ? (schema.shape[String(step)] as z.ZodType | undefined)
          : schema instanceof z.ZodArray
            ? (schema.element as z.ZodType)
            : schema instanceof z.ZodRecord
              ? (schema.valueType as z.ZodType)
              : undefined
      return next === undefined ? [] : formsOf(next)
    })
  }
  const isText = (schema: z.ZodType) =>
    schema instanceof z.ZodUnknown || (schema instanceof z.ZodString && !UNITS.has(schema))
  const isValue = (schema: z.ZodType) =>
    schema instanceof z.ZodNumber ||
    schema instanceof z.ZodBoolean ||
    (schema instanceof z.ZodString && UNITS.has(schema))
  return schemas.some(isValue) && !schemas.some(isText)
}

/** The alternatives of a schema. */
function formsOf(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional) return formsOf(schema.unwrap() as z.ZodType)
  if (!(schema instanceof z.ZodUnion)) return [schema]
  return (schema.options as readonly z.ZodType[]).flatMap((option) => formsOf(option))
}
