// Other spellings of a workflow, as in older documents: `id`, `initial_place`, `trigger` with a type, lists of places
// and transitions, mappings. Rewritten before anything is checked, with positions preserved, so that the same workflow
// has the same hash.

import type { JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath } from './finding.ts'
import { type Imported, moved, type Rewriting, rewritten } from './import-origins.ts'
import type { ReadDocument } from './read.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const SPELLINGS = ['initial_place', 'trigger', 'token_schema', 'initial_data_mapping'] as const

/** null: it has none of these spellings. */
export function importSpelling(document: ReadDocument): Imported | null {
  const { value } = document
  if (value.kind !== undefined && value.kind !== 'Workflow') return null
  const isOther =
    SPELLINGS.some((name) => Object.hasOwn(value, name)) ||
    (Array.isArray(value.places) && Array.isArray(value.transitions))
  if (!isOther) return null
  const work: Rewriting = { origins: [], notes: [] }
  return rewritten(document, rewriteWorkflow(value, work), work)
}

function rewriteWorkflow(value: Fields, work: Rewriting): Fields {
  const {
    id,
    name,
    initial_place,
    trigger,
    token_schema,
    initial_data_mapping,
    places,
    transitions,
    ...rest
  } = value
  const result: Record<string, JsonValue> = { kind: 'Workflow', ...rest }
  if (id !== undefined) {
    result.name = id
    moved(work, ['name'], ['id'], 'read as `name`')
    if (name !== undefined && rest.description === undefined) {
      result.description = name
      moved(work, ['description'], ['name'], 'read as `description`')
    }
  } else if (name !== undefined) result.name = name
  if (initial_place !== undefined) {
    result.start = initial_place
    moved(work, ['start'], ['initial_place'], 'read as `start`')
  }
  const map = rewriteMapping(value, work)
  if (trigger !== undefined || Array.isArray(rest.triggers))
    result.triggers = rewriteTriggers(value, map, work)
  if (places !== undefined) result.places = rewriteList(places, 'places', rewritePlace, work)
  if (transitions !== undefined)
    result.transitions = rewriteList(transitions, 'transitions', rewriteTransition, work)
  return result
}

/** `initial_data_mapping`, by itself or in `token_schema`. */
function rewriteMapping(
  { token_schema, initial_data_mapping }: Fields,
  work: Rewriting,
): { readonly value: Fields; readonly was: FieldPath } | null {
  const inner = fieldsOf(token_schema).initial_data_mapping
  const written = initial_data_mapping ?? inner
  if (written === undefined) return null
  const was =
    initial_data_mapping === undefined ? ['token_schema', 'initial_data_mapping'] : ['initial_data_mapping']
  moved(work, ['triggers', 0, 'map'], was, 'read as `map` of the trigger')
  return { value: rewriteTexts(fieldsOf(written), was, ['triggers', 0, 'map'], payloadOf, work), was }
}

/** What an event brings is the payload. */
function payloadOf(text: string): string {
  return text.replace(/^event_data\b/, 'payload')
}

function rewriteTexts(
  texts: Fields,
  was: FieldPath,
  now: FieldPath,
  rewrite: (text: string) => string,
  work: Rewriting,
): Fields {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      if (typeof text !== 'string') return [name, text]
      const written = rewrite(text)
      const shift = Math.max(0, written.indexOf(text))
      moved(work, [...now, name], [...was, name], undefined, shift)
      return [name, written]
    }),
  )
}

/** `trigger` is the first, and those of `triggers` follow, in whichever spelling each is written. */
function rewriteTriggers(
  { trigger, triggers }: Fields,
  map: { readonly value: Fields } | null,
  work: Rewriting,
): JsonValue {
  const first = trigger === undefined ? [] : [{ one: trigger, was: ['trigger'] as FieldPath }]
  const others = Array.isArray(triggers)
    ? triggers.map((one: JsonValue, index) => ({ one, was: ['triggers', index] as FieldPath }))
    : []
  if (trigger !== undefined) {
    moved(work, ['triggers'], ['trigger'], 'read as the first of `triggers`')
    moved(work, ['triggers', 0], ['trigger'])
  }
  return [...first, ...others].map(({ one, was }, index) => {
    const now: FieldPath = ['triggers', index]
    if (was[0] === 'triggers' && was[1] !== index) moved(work, now, was)
    if (!isMap(one) && was[0] === 'triggers') return one
    const written = rewriteTrigger(fieldsOf(one), was, now, work)
    return map === null || index > 0 ? written : { map: map.value, ...written }
  })
}

const ACTIONS: Readonly<Record<string, string>> = {
  CreateNewInstance: 'create',
  CreateNew: 'create',
  UpdateExistingInstance: 'update',
  UpdateExisting: 'update',
  CreateOrUpdate: 'createOrUpdate',
}

/** Of `{ type: NATS_SUBJECT | NATS_MESSAGE | INTERNAL_EVENT, subject | event_name, config }`. */
function rewriteTrigger(trigger: Fields, was: FieldPath, now: FieldPath, work: Rewriting): Fields {
  const { type, config, ...outer } = trigger
  const isKnown = typeof type === 'string' && /^(?:(?:EXTERNAL_)?NATS_\w+|INTERNAL_EVENT)$/.test(type)
  const result: Record<string, JsonValue> = isKnown || type === undefined ? {} : { type }
  const take = (from: Fields, at: FieldPath) => {
    for (const [name, value] of Object.entries(from)) {
      const [field, written] = triggerField(name, value)
      result[field] = written
      moved(work, [...now, field], [...at, name], field === name ? undefined : `read as \`${field}\``)
    }
  }
  take(outer, was)
  take(fieldsOf(config), [...was, 'config'])
  return result
}

function triggerField(name: string, value: JsonValue): readonly [string, JsonValue] {
  if (name === 'subject' || name === 'event_name') return ['on', value]
  if (/^correlation_id_path(?:_in_payload|_in_event)?$/.test(name)) {
    return ['correlate', typeof value === 'string' ? payloadOf(value) : value]
  }
  if (name === 'action_type') return ['action', ACTIONS[String(value)] ?? value]
  return [name, value]
}

/** A list whose entries have an `id` becomes a map; the order stays. */
function rewriteList(
  value: JsonValue,
  field: string,
  rewrite: (part: Fields, was: FieldPath, now: FieldPath, work: Rewriting) => JsonValue,
  work: Rewriting,
): JsonValue {
  const isNamed = (one: JsonValue) => typeof fieldsOf(one).id === 'string'
  if (!Array.isArray(value)) {
    return Object.fromEntries(
      Object.entries(fieldsOf(value)).map(([name, part]) => {
        const at = [field, name]
        return [name, isMap(part) ? rewrite(fieldsOf(part), at, at, work) : part]
      }),
    )
  }
  if (!value.every(isNamed)) return value
  moved(work, [field], [field], 'read as a map by `id`')
  return Object.fromEntries(
    value.map((one: JsonValue, index) => {
      const { id, ...part } = fieldsOf(one)
      const now = [field, String(id)]
      moved(work, now, [field, index])
      return [String(id), rewrite(part, [field, index], now, work)]
    }),
  )
}

/** A display name becomes the description. */
function described(part: Fields, was: FieldPath, now: FieldPath, work: Rewriting): Fields {
  const { name, ...rest } = part
  if (name === undefined) return part
  if (rest.description !== undefined) return rest
  moved(work, [...now, 'description'], [...was, 'name'])
  return { description: name, ...rest }
}

function rewritePlace(part: Fields, was: FieldPath, now: FieldPath, work: Rewriting): Fields {
  return described(part, was, now, work)
}

const RENAMED: Readonly<Record<string, string>> = {
  from_places: 'from',
  from_place: 'from',
  to_place: 'to',
  to_places: 'to',
}

function rewriteTransition(part: Fields, was: FieldPath, now: FieldPath, work: Rewriting): Fields {
  const { agent_execution, ...rest } = described(part, was, now, work)
  const result: Record<string, JsonValue> = {}
  for (const [name, value] of Object.entries(rest)) {
    const field = RENAMED[name] ?? name
    result[field] = value
    if (field !== name) moved(work, [...now, field], [...was, name], `read as \`${field}\``)
  }
  if (agent_execution === undefined) return result
  const at = [...was, 'agent_execution']
  const { agent_id, input_mapping, output_mapping, ...other } = fieldsOf(agent_execution)
  moved(work, [...now, 'do'], at, 'read as `do: { agent, with }` and `out`')
  const action: Record<string, JsonValue> = { ...other }
  if (agent_id !== undefined) {
    action.agent = agent_id
    moved(work, [...now, 'do', 'agent'], [...at, 'agent_id'])
  }
  if (input_mapping !== undefined) {
    const to = [...now, 'do', 'with']
    moved(work, to, [...at, 'input_mapping'])
    const wrap = (text: string) => `{{ ${text} }}`
    action.with = rewriteTexts(fieldsOf(input_mapping), [...at, 'input_mapping'], to, wrap, work)
  }
  result.do = action
  if (output_mapping !== undefined) {
    const to = [...now, 'out']
    moved(work, to, [...at, 'output_mapping'])
    const ofResult = (text: string) => `result.${text}`
    result.out = rewriteTexts(fieldsOf(output_mapping), [...at, 'output_mapping'], to, ofResult, work)
  }
  return result
}
