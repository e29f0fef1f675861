// Triggers in the spelling of older documents: a type and its configuration, paths of keys, filters, limits and retries.
// Each becomes a trigger of this language. A field of no table stays as it is, and is reported as unknown.

import { isNumeral, type JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath } from './finding.ts'
import { lost, moved, type Rewriting } from './import-origins.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const ACTIONS: Readonly<Record<string, string>> = {
  CreateNewInstance: 'create',
  CreateNew: 'create',
  UpdateExistingInstance: 'update',
  UpdateExisting: 'update',
  CreateOrUpdate: 'createOrUpdate',
}

const TYPES = /^(?:(?:EXTERNAL_)?NATS_\w+|INTERNAL_EVENT|SCHEDULE|MANUAL)$/
/** A configuration in a map of one, named as its type. */
const VARIANTS = ['NatsMessage', 'InternalEvent', 'Schedule', 'Manual']

/** What an event brings is the payload. */
export function payloadOf(text: string): string {
  return text.replace(/^event_data\b/, 'payload')
}

interface Part {
  readonly from: Fields
  readonly at: FieldPath
}

/** One trigger, with the permissions that it names. */
export function rewriteTrigger(
  trigger: Fields,
  was: FieldPath,
  now: FieldPath,
  work: Rewriting,
  permissions: string[],
): Fields {
  const { type, trigger_type, config, ...outer } = trigger
  const said = trigger_type ?? type
  const isKnown = typeof said === 'string' && (TYPES.test(said) || VARIANTS.includes(said))
  const result: Record<string, JsonValue> = isKnown || said === undefined ? {} : { type: said }
  const inner = variantOf(config, [...was, 'config'])
  const parts: readonly Part[] = [{ from: outer, at: was }, inner]
  for (const { from, at } of parts) {
    for (const [name, value] of Object.entries(from)) {
      if (READ_TOGETHER.has(name)) continue
      const [field, written] = triggerField(name, value)
      if (value === null && field !== name) continue
      result[field] = written
      moved(work, [...now, field], [...at, name], field === name ? undefined : `read as \`${field}\``)
    }
  }
  addKey(result, parts, now, work)
  addFilters(result, parts, now, work)
  addLimit(result, parts, now, work)
  addRetry(result, parts, now, work)
  addRest(result, parts, now, work)
  addSchedule(result, parts, now, work)
  const isManual = inner.variant === 'Manual' || /^manual$/i.test(String(said))
  addManual(result, parts, now, { work, permissions, isManual })
  return result
}

function variantOf(config: JsonValue | undefined, at: FieldPath): Part & { readonly variant: string | null } {
  const from = fieldsOf(config)
  const [only, ...others] = Object.keys(from)
  if (only === undefined || others.length > 0 || !VARIANTS.includes(only)) return { from, at, variant: null }
  return { from: fieldsOf(from[only]), at: [...at, only], variant: only }
}

const READ_TOGETHER = new Set([
  'correlation_id_path',
  'correlation_id_path_in_payload',
  'correlation_id_path_in_event',
  'correlation_id_field_in_token',
  'filters',
  'rate_limiting',
  'retry_config',
  'dead_letter_queue',
  'max_processing_time',
  'cron_expression',
  'timezone',
  'max_instances',
  'required_permissions',
  'input_schema',
])

function triggerField(name: string, value: JsonValue): readonly [string, JsonValue] {
  if (name === 'subject' || name === 'event_name') return ['on', value]
  if (name === 'action_type') return ['action', ACTIONS[String(value)] ?? value]
  return [name, value]
}

interface Found {
  readonly value: JsonValue
  readonly at: FieldPath
}

/** Every part that has the field; null is as good as none. */
function found(parts: readonly Part[], ...names: readonly string[]): readonly Found[] {
  return parts.flatMap(({ from, at }) =>
    names.flatMap((name) => {
      const value = from[name]
      return value === undefined || value === null ? [] : [{ value, at: [...at, name] }]
    }),
  )
}

/** A path in the event, and the name of the key in the token: its last part, as names of keys have no dots. */
function addKey(result: Record<string, JsonValue>, parts: readonly Part[], now: FieldPath, work: Rewriting) {
  const [path] = found(
    parts,
    'correlation_id_path',
    'correlation_id_path_in_payload',
    'correlation_id_path_in_event',
  )
  const [field] = found(parts, 'correlation_id_field_in_token')
  if (path === undefined) {
    if (field !== undefined)
      lost(work, field.at, 'it names a key, and no field says which value of the event it is')
    return
  }
  const text = typeof path.value === 'string' ? payloadOf(path.value) : path.value
  const at = [...now, 'correlate']
  if (typeof field?.value !== 'string') {
    result.correlate = text
    moved(work, at, path.at, 'read as `correlate`')
    return
  }
  const name = field.value.replace(/^.*\./, '')
  result.correlate = { [name]: text }
  moved(work, at, field.at, `read as the key \`${name}\` of \`correlate\``)
  moved(work, [...at, name], path.at, `read as the value of the key \`${name}\``)
}

const OPERATORS: Readonly<Record<string, string>> = {
  Equals: 'equals',
  NotEquals: 'notEquals',
  Contains: 'contains',
  NotContains: 'notContains',
  GreaterThan: 'greaterThan',
  LessThan: 'lessThan',
  Exists: 'exists',
  NotExists: 'notExists',
}

/** All of them must hold, and what `where` says. */
function addFilters(
  result: Record<string, JsonValue>,
  parts: readonly Part[],
  now: FieldPath,
  work: Rewriting,
) {
  const lists = found(parts, 'filters')
  const filters = lists.flatMap(({ value, at }) =>
    (Array.isArray(value) ? value : [value]).map((one: JsonValue, index) => ({ one, at: [...at, index] })),
  )
  if (filters.length === 0) return
  const { where } = result
  const isSingle = filters.length === 1 && where === undefined
  const written = filters.map(({ one, at }, index): JsonValue => {
    const place = isSingle ? [...now, 'where'] : [...now, 'where', 'all', index]
    moved(work, place, at)
    const { field_path, operator, value, ...rest } = fieldsOf(one)
    const name = OPERATORS[String(operator)]
    if (name === undefined) return one
    moved(work, [...place, 'path'], [...at, 'field_path'])
    moved(work, [...place, name], [...at, 'value'])
    const isAbout = name === 'exists' || name === 'notExists'
    return {
      path: typeof field_path === 'string' ? payloadOf(field_path) : (field_path ?? null),
      [name]: isAbout ? true : (value ?? null),
      ...rest,
    }
  })
  result.where = isSingle
    ? (written[0] as JsonValue)
    : { all: where === undefined ? written : [...written, where] }
  for (const { at } of lists) moved(work, [...now, 'where'], at, 'read as `where`: all of them')
}

function addLimit(
  result: Record<string, JsonValue>,
  parts: readonly Part[],
  now: FieldPath,
  work: Rewriting,
) {
  const [limit] = found(parts, 'rate_limiting')
  if (limit === undefined) return
  const { max_events_per_minute, burst_allowance, backoff_on_limit, ...rest } = fieldsOf(limit.value)
  result.rateLimit = {
    ...(max_events_per_minute === undefined ? {} : { perMinute: max_events_per_minute }),
    ...(burst_allowance === undefined ? {} : { burst: burst_allowance }),
    ...rest,
  }
  moved(work, [...now, 'rateLimit'], limit.at, 'read as `rateLimit`')
  moved(work, [...now, 'rateLimit', 'perMinute'], [...limit.at, 'max_events_per_minute'])
  moved(work, [...now, 'rateLimit', 'burst'], [...limit.at, 'burst_allowance'])
  if (backoff_on_limit === undefined) return
  result.onLimit = backoff_on_limit === false ? 'reject' : 'wait'
  moved(
    work,
    [...now, 'onLimit'],
    [...limit.at, 'backoff_on_limit'],
    `read as \`onLimit: ${result.onLimit}\``,
  )
}

const DELAY_S_MAX = 7 * 24 * 3_600

/** The pauses of its formula, written out. */
function addRetry(
  result: Record<string, JsonValue>,
  parts: readonly Part[],
  now: FieldPath,
  work: Rewriting,
) {
  const [retry] = found(parts, 'retry_config')
  if (retry === undefined) return
  const { max_attempts, backoff_strategy, retry_delay_seconds, retry_on_errors, ...rest } = fieldsOf(
    retry.value,
  )
  const attempts = numberOf(max_attempts)
  const first = numberOf(retry_delay_seconds) ?? 1
  const { Exponential } = fieldsOf(backoff_strategy)
  const factor = numberOf(fieldsOf(Exponential).multiplier) ?? 2
  const isExponential = Exponential !== undefined || backoff_strategy === 'Exponential'
  const timesOf = (index: number) =>
    isExponential ? factor ** index : backoff_strategy === 'Linear' ? index + 1 : 1
  const count = attempts === null ? 0 : Math.min(Math.max(0, attempts - 1), 99)
  const delays = Array.from({ length: count }, (_, index) =>
    durationOf(Math.min(first * timesOf(index), DELAY_S_MAX)),
  )
  result.retry = { attempts: max_attempts ?? null, ...(count === 0 ? {} : { delays }), ...rest }
  moved(work, [...now, 'retry'], retry.at, 'read as `retry`, with its pauses written out')
  moved(work, [...now, 'retry', 'attempts'], [...retry.at, 'max_attempts'])
  moved(work, [...now, 'retry', 'delays'], [...retry.at, 'backoff_strategy'])
  const isAnyBackoff =
    backoff_strategy === undefined || isExponential || ['Fixed', 'Linear'].includes(String(backoff_strategy))
  if (!isAnyBackoff)
    lost(
      work,
      [...retry.at, 'backoff_strategy'],
      'it is `Fixed`, `Linear` or `Exponential`; all pauses are equal',
    )
  if (Array.isArray(retry_on_errors) && retry_on_errors.length > 0) {
    const why = 'a trigger tries again whatever its instance refuses, and nothing else'
    lost(work, [...retry.at, 'retry_on_errors'], why)
  }
}

function numberOf(value: JsonValue | undefined): number | null {
  const number = typeof value === 'bigint' ? Number(value) : isNumeral(value) ? Number(value.text) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** In whole seconds, if it is. */
function durationOf(seconds: number): string {
  const ms = Math.max(1, Math.round(seconds * 1_000))
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}

function addRest(result: Record<string, JsonValue>, parts: readonly Part[], now: FieldPath, work: Rewriting) {
  const [queue] = found(parts, 'dead_letter_queue')
  if (queue !== undefined) {
    result.deadLetter = { subject: queue.value }
    moved(work, [...now, 'deadLetter'], queue.at, 'read as `deadLetter: { subject }`')
    moved(work, [...now, 'deadLetter', 'subject'], queue.at)
  }
  const [time] = found(parts, 'max_processing_time')
  if (time === undefined) return
  const { secs, nanos } = fieldsOf(time.value)
  const seconds = isMap(time.value) ? numberOf(secs) : numberOf(time.value)
  result.maxProcessingTime =
    seconds === null ? time.value : durationOf(seconds + (numberOf(nanos) ?? 0) / 1_000_000_000)
  moved(work, [...now, 'maxProcessingTime'], time.at, 'read as `maxProcessingTime`')
}

function addSchedule(
  result: Record<string, JsonValue>,
  parts: readonly Part[],
  now: FieldPath,
  work: Rewriting,
) {
  const fields = [
    ['cron_expression', 'cron'],
    ['timezone', 'zone'],
    ['max_instances', 'maxInstances'],
  ] as const
  const schedule: Record<string, JsonValue> = {}
  for (const [name, field] of fields) {
    const [one] = found(parts, name)
    if (one === undefined) continue
    schedule[field] = one.value
    moved(work, [...now, 'schedule'], one.at.slice(0, -1))
    moved(work, [...now, 'schedule', field], one.at, `read as \`schedule.${field}\``)
  }
  if (Object.keys(schedule).length > 0) result.schedule = schedule
}

function addManual(
  result: Record<string, JsonValue>,
  parts: readonly Part[],
  now: FieldPath,
  how: { readonly work: Rewriting; readonly permissions: string[]; readonly isManual: boolean },
) {
  const { work, permissions, isManual } = how
  const [needed] = found(parts, 'required_permissions')
  const [input] = found(parts, 'input_schema')
  if (!isManual && needed === undefined && input === undefined) return
  const manual: Record<string, JsonValue> = {}
  if (needed !== undefined) {
    const names = Array.isArray(needed.value) ? needed.value : [needed.value]
    const [first, ...others] = names
    if (first !== undefined) manual.permission = first
    permissions.push(...names.filter((name): name is string => typeof name === 'string'))
    moved(work, [...now, 'manual'], needed.at.slice(0, -1))
    moved(work, [...now, 'manual', 'permission'], [...needed.at, 0], 'read as `manual.permission`')
    if (others.length > 0)
      lost(work, [...needed.at, 1], 'a start needs one permission: grant it to whoever has the others, too')
  }
  if (input !== undefined) {
    manual.input = input.value
    moved(work, [...now, 'manual', 'input'], input.at, 'read as `manual.input`')
  }
  result.manual = manual
}
