// Triggers in the spelling of older documents: a type and its configuration, paths of keys, filters, limits and retries.
// Each becomes a trigger of this language. A field of no table stays as it is, and is reported as unknown.

import { RETRY_CAUSES, type RetryCause } from '../core/definitions/documents/index.ts'
import { isNumeral, type JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath } from './finding.ts'
import { lost, moved, type Rewriting } from './import-origins.ts'
import { listed } from './suggest.ts'
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
/** The longest pause of a formula that names none. */
const USUAL_MAX_S = 3_600
const FACTOR_MAX = 100
const SHAPES: Readonly<Record<string, string>> = {
  Fixed: 'fixed',
  Linear: 'linear',
  Exponential: 'exponential',
}

/** Its formula, or its pauses written out where no formula gives them. */
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
  const at: FieldPath = [...now, 'retry']
  moved(work, at, retry.at, 'read as `retry`')
  moved(work, [...at, 'attempts'], [...retry.at, 'max_attempts'], 'read as `retry.attempts`')
  const attempts = numberOf(max_attempts)
  const pauses = attempts === null ? 0 : Math.min(Math.max(0, attempts - 1), 99)
  const backoff = { strategy: backoff_strategy, first: numberOf(retry_delay_seconds) ?? 1, pauses }
  result.retry = {
    attempts: max_attempts ?? null,
    ...(pauses === 0 ? {} : backoffOf(backoff, retry.at, at, work)),
    ...retryOnOf(retry_on_errors, retry.at, at, work),
    ...rest,
  }
}

interface WrittenBackoff {
  readonly strategy: JsonValue | undefined
  readonly first: number
  readonly pauses: number
}

function backoffOf(
  { strategy, first, pauses }: WrittenBackoff,
  was: FieldPath,
  now: FieldPath,
  work: Rewriting,
): Fields {
  const { Exponential } = fieldsOf(strategy)
  const shape = Exponential === undefined ? SHAPES[String(strategy ?? 'Fixed')] : 'exponential'
  if (shape === undefined) {
    const why = 'it is `Fixed`, `Linear` or `Exponential`; all pauses are equal'
    lost(work, [...was, 'backoff_strategy'], why)
  }
  const factor = numberOf(fieldsOf(Exponential).multiplier) ?? 2
  const timesOf = (index: number) =>
    shape === 'exponential' ? factor ** index : shape === 'linear' ? index + 1 : 1
  const delays = Array.from({ length: pauses }, (_, index) => Math.min(first * timesOf(index), DELAY_S_MAX))
  if (shape === 'exponential' && (factor < 1 || factor > FACTOR_MAX)) {
    moved(
      work,
      [...now, 'delays'],
      [...was, 'backoff_strategy'],
      'read as `retry.delays`: its pauses written out',
    )
    return { delays: delays.map(durationOf) }
  }
  const longest = Math.max(...delays)
  const words = `read as \`retry.backoff: ${shape ?? 'fixed'}\``
  moved(work, [...now, 'backoff'], [...was, 'backoff_strategy'], shape === undefined ? undefined : words)
  moved(work, [...now, 'first'], [...was, 'retry_delay_seconds'], 'read as `retry.first`')
  moved(work, [...now, 'max'], [...was, 'backoff_strategy'])
  if (shape === 'exponential') {
    const named: FieldPath = [...was, 'backoff_strategy', 'Exponential', 'multiplier']
    moved(work, [...now, 'factor'], named, Exponential === undefined ? undefined : 'read as `retry.factor`')
  }
  return {
    backoff: shape ?? 'fixed',
    first: durationOf(Math.min(first, DELAY_S_MAX)),
    ...(shape === 'exponential' ? { factor } : {}),
    ...(shape !== 'fixed' && longest > USUAL_MAX_S ? { max: durationOf(longest) } : {}),
  }
}

/** What the errors of other documents are called here. */
const CAUSES: Readonly<Record<string, RetryCause>> = {
  connection: 'transient',
  network: 'transient',
  temporary: 'transient',
  transient: 'transient',
  unavailable: 'transient',
  ratelimit: 'rate_limited',
  ratelimited: 'rate_limited',
  throttled: 'rate_limited',
  timeout: 'timeout',
  timedout: 'timeout',
  unknown: 'unknown',
}

/** `NetworkError` and `network_errors` are `network`. */
function causeOf(name: string): RetryCause | undefined {
  const letters = name.toLowerCase().replaceAll(/[^a-z]/g, '')
  return CAUSES[letters.replace(/(?:error|failure)s?$/, '')]
}

/** A trigger retries only what its instance refuses, which is always transient. */
function retryOnOf(errors: JsonValue | undefined, was: FieldPath, now: FieldPath, work: Rewriting): Fields {
  if (!Array.isArray(errors) || errors.length === 0) return {}
  const at: FieldPath = [...was, 'retry_on_errors']
  const causes = errors.map((name: JsonValue) => (typeof name === 'string' ? causeOf(name) : undefined))
  const known = [...new Set(causes.filter((one) => one !== undefined))]
  if (!known.includes('transient')) {
    const why = 'a trigger retries what its instance refuses, which is always `transient`, and nothing else'
    lost(work, at, why)
    return {}
  }
  for (const [index, cause] of causes.entries())
    if (cause === undefined)
      lost(work, [...at, index], `there is no such cause: \`retryOn\` has ${listed(RETRY_CAUSES)}`)
  moved(work, [...now, 'retryOn'], at, `read as \`retry.retryOn: [${known.join(', ')}]\``)
  return { retryOn: known }
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
