// Migrations, compatibility and security of a workflow in the spelling of older documents.

import type { JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath } from './finding.ts'
import { lost, moved, type Rewriting } from './import-origins.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const STRATEGIES: Readonly<Record<string, string>> = {
  InPlace: 'inPlace',
  NewInstance: 'newInstance',
  Manual: 'manual',
}

export function rewriteMigrations(value: JsonValue, work: Rewriting): JsonValue {
  moved(work, ['migrations'], ['migration_rules'], 'read as `migrations`')
  if (!Array.isArray(value)) return value
  return value.map((one: JsonValue, index) => {
    if (!isMap(one)) return one
    const was: FieldPath = ['migration_rules', index]
    const now: FieldPath = ['migrations', index]
    const { from_version, to_version, migration_strategy, token_transformations, ...rest } = fieldsOf(one)
    const result: Record<string, JsonValue> = { ...rest }
    const take = (field: string, name: string, written: JsonValue | undefined) => {
      if (written === undefined || written === null) return
      result[field] = written
      moved(work, [...now, field], [...was, name], `read as \`${field}\``)
    }
    moved(work, now, was)
    take('from', 'from_version', from_version)
    take('to', 'to_version', to_version)
    take(
      'strategy',
      'migration_strategy',
      migration_strategy === undefined
        ? undefined
        : (STRATEGIES[String(migration_strategy)] ?? migration_strategy),
    )
    if (Array.isArray(token_transformations)) {
      take('data', 'token_transformations', rewriteTransformations(token_transformations, [was, now], work))
    } else take('data', 'token_transformations', token_transformations)
    return result
  })
}

function rewriteTransformations(
  list: readonly JsonValue[],
  [was, now]: readonly [FieldPath, FieldPath],
  work: Rewriting,
): JsonValue {
  const rules: JsonValue[] = []
  for (const [index, one] of list.entries()) {
    const at = [...was, 'token_transformations', index]
    const rule = transformationOf(fieldsOf(one), at, work)
    if (rule === null) continue
    moved(work, [...now, 'data', rules.length], at)
    rules.push(rule)
  }
  return rules
}

/** null: it says something that cannot be done. */
function transformationOf(
  { field_path, transformation_type, parameters }: Fields,
  at: FieldPath,
  work: Rewriting,
): JsonValue | null {
  const given = fieldsOf(parameters)
  const first = (...names: readonly string[]) =>
    names.map((name) => given[name]).find((one) => one !== undefined)
  const path = field_path ?? null
  switch (transformation_type) {
    case 'Rename':
      return { rename: path, to: first('to', 'new_path', 'new_name', 'new_field') ?? null }
    case 'Delete':
      return { delete: path }
    case 'AddDefault':
      return { default: path, value: first('value', 'default', 'default_value') ?? null }
    case 'Transform': {
      const expression = first('expression', 'value')
      if (expression !== undefined) return { set: path, value: expression }
      const name = first('function', 'function_name')
      if (name !== undefined) return { transform: name }
      lost(
        work,
        [...at, 'parameters'],
        'a transformation is an expression over the data, or a function: write it as `expression` or `function`',
      )
      return null
    }
    default:
      lost(work, [...at, 'transformation_type'], 'it is `Rename`, `Delete`, `AddDefault` or `Transform`')
      return null
  }
}

const COMPATIBILITY: Readonly<Record<string, string>> = {
  supported_versions: 'supported',
  deprecation_warnings: 'deprecationWarnings',
  strict_mode: 'strict',
}

export function rewriteCompatibility(value: JsonValue, work: Rewriting): JsonValue {
  moved(work, ['compatibility'], ['backward_compatibility'], 'read as `compatibility`')
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).map(([name, one]) => {
      const field = COMPATIBILITY[name] ?? name
      moved(work, ['compatibility', field], ['backward_compatibility', name])
      return [field, one]
    }),
  )
}

/** `permissions`: those that its triggers name; every one is declared. */
export function rewriteSecurity(
  value: JsonValue | undefined,
  permissions: readonly string[],
  work: Rewriting,
): JsonValue {
  const was: FieldPath = ['security_config']
  const { required_permissions, data_classification, encryption_required, audit_level, ...rest } =
    fieldsOf(value)
  const needed = Array.isArray(required_permissions) ? required_permissions : []
  const result: Record<string, JsonValue> = { ...rest }
  const declared = [...new Set([...needed, ...permissions])]
  if (declared.length > 0) result.permissions = declared
  if (needed.length > 0) result.required = needed
  if (value !== undefined) moved(work, ['security'], was, 'read as `security`')
  const take = (field: string, name: string, written: JsonValue | undefined) => {
    if (written === undefined) return
    result[field] = written
    moved(work, ['security', field], [...was, name], `read as \`${field}\``)
  }
  moved(work, ['security', 'permissions'], [...was, 'required_permissions'])
  moved(work, ['security', 'required'], [...was, 'required_permissions'])
  take('classification', 'data_classification', lower(data_classification))
  take('audit', 'audit_level', lower(audit_level))
  take('encrypt', 'encryption_required', encryption_required === true ? 'all' : undefined)
  return result
}

function lower(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'string' ? value.toLowerCase() : value
}
