// Other spellings of a workflow, as in older documents: `id`, `initial_place`, `trigger` with a type, lists of places
// and transitions, mappings. Rewritten before anything is checked, with positions preserved, so that the same workflow
// has the same hash. A note says what each field became, and a warning what was lost.

import type { JsonValue } from '../core/foundation/json/index.ts'
import { documentNameFault, nameLike } from './fields.ts'
import type { FieldPath } from './finding.ts'
import { type Imported, lost, moved, type Rewriting, rewritten } from './import-origins.ts'
import { payloadOf, rewriteTrigger } from './import-triggers.ts'
import { rewriteCompatibility, rewriteMigrations, rewriteSecurity } from './import-versions.ts'
import type { ReadDocument } from './read.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const SPELLINGS = [
  'initial_place',
  'trigger',
  'token_schema',
  'initial_data_mapping',
  'initial_token_data_mapping',
  'update_token_data_mapping',
  'initial_token_data_source',
  'migration_rules',
  'backward_compatibility',
  'security_config',
] as const

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
    initial_token_data_mapping,
    update_token_data_mapping,
    initial_token_data_source,
    migration_rules,
    backward_compatibility,
    security_config,
    places,
    transitions,
    ...rest
  } = value
  const result: Record<string, JsonValue> = { kind: 'Workflow', ...rest, ...rewriteNames(value, work) }
  if (initial_place !== undefined) {
    result.start = initial_place
    moved(work, ['start'], ['initial_place'], 'read as `start`')
  }
  const permissions: string[] = []
  if (trigger !== undefined || Array.isArray(rest.triggers))
    result.triggers = rewriteTriggers(value, work, permissions)
  if (places !== undefined) result.places = rewriteList(places, 'places', rewritePlace, work)
  if (transitions !== undefined)
    result.transitions = rewriteList(transitions, 'transitions', rewriteTransition, work)
  if (migration_rules !== undefined) result.migrations = rewriteMigrations(migration_rules, work)
  if (backward_compatibility !== undefined)
    result.compatibility = rewriteCompatibility(backward_compatibility, work)
  if (security_config !== undefined || permissions.length > 0)
    result.security = rewriteSecurity(security_config, permissions, work)
  if (places === undefined && transitions === undefined) addPlaces(result, work)
  else addEnds(result, Array.isArray(places), work)
  for (const field of OPTIONAL) if (result[field] === null) delete result[field]
  return result
}

/** What may be null instead of left out. */
const OPTIONAL = ['description', 'triggers', 'migrations', 'compatibility', 'security']

/** An excerpt without places: its instances stay where they begin, until a user finishes them. */
function addPlaces(result: Record<string, JsonValue>, work: Rewriting) {
  const start = typeof result.start === 'string' ? result.start : 'received'
  result.start = start
  result.places = { [start]: { type: 'waiting' }, finished: { type: 'final' } }
  result.transitions = { finish: { from: start, to: 'finished', on: 'manual' } }
  const why = `nothing says what follows it, so its instances stay in the place \`${start}\` until a user fires \`finish\``
  lost(work, ['trigger'], why)
}

/** Older documents name no ends: where no place is one, they are the places that no transition leaves. */
function addEnds(result: Record<string, JsonValue>, isList: boolean, work: Rewriting) {
  const places = fieldsOf(result.places)
  const isNamed = (place: JsonValue) => {
    const { type, final } = fieldsOf(place)
    return type !== undefined || final !== undefined
  }
  if (Object.values(places).some(isNamed)) return
  const left = new Set(
    Object.values(fieldsOf(result.transitions)).flatMap((one) => {
      const { from, fromAny } = fieldsOf(one)
      return [from, fromAny].flat()
    }),
  )
  result.places = Object.fromEntries(
    Object.entries(places).map(([name, place]) => {
      if (left.has(name) || name === result.start || !isMap(place)) return [name, place]
      const was: FieldPath = ['places', isList ? Object.keys(places).indexOf(name) : name]
      moved(work, ['places', name], was, 'read as `final`: no transition leaves it')
      return [name, { ...fieldsOf(place), final: true }]
    }),
  )
}

/** The id is the name; without an id, a name for people becomes one. */
function rewriteNames({ id, name, description }: Fields, work: Rewriting): Fields {
  const isTaken = description !== undefined && description !== null
  if (id !== undefined) {
    moved(work, ['name'], ['id'], 'read as `name`')
    if (name === undefined || isTaken) return { name: id }
    moved(work, ['description'], ['name'], 'read as `description`')
    return { name: id, description: name }
  }
  if (typeof name !== 'string' || documentNameFault(name) === null) return name === undefined ? {} : { name }
  const short = nameLike(name)
  if (short === '') return { name }
  const as = isTaken ? '' : ', and as `description`'
  moved(work, ['name'], ['name'], `read as the name \`${short}\`${as}`)
  return isTaken ? { name: short } : { name: short, description: name }
}

interface Mapping {
  readonly was: FieldPath
  readonly value: Fields
}

/** What a new token gets: the payload as a whole, single values of it, or both. */
function rewriteMapping(value: Fields, now: FieldPath, work: Rewriting): Fields | null {
  const map: Record<string, JsonValue> = {}
  const { initial_token_data_source: source } = value
  if (source === 'trigger_event_payload') {
    map.data = 'payload'
    const at: FieldPath = ['initial_token_data_source']
    moved(work, now, at, 'read as `map` of the trigger: the payload is the data')
  } else if (source !== undefined && source !== null) {
    lost(work, ['initial_token_data_source'], 'the only source that is known is `trigger_event_payload`')
  }
  for (const { was, value: written } of mappingsOf(value)) {
    moved(work, now, was, 'read as `map` of the trigger')
    Object.assign(map, rewriteTexts(written, was, now, payloadOf, work))
  }
  return Object.keys(map).length === 0 ? null : map
}

function mappingsOf(value: Fields): readonly Mapping[] {
  const named = (names: FieldPath, written: JsonValue | undefined): readonly Mapping[] =>
    written === undefined || written === null ? [] : [{ was: names, value: fieldsOf(written) }]
  return [
    ...named(['token_schema', 'initial_data_mapping'], fieldsOf(value.token_schema).initial_data_mapping),
    ...named(['initial_data_mapping'], value.initial_data_mapping),
    ...named(['initial_token_data_mapping'], value.initial_token_data_mapping),
  ]
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
function rewriteTriggers(value: Fields, work: Rewriting, permissions: string[]): JsonValue {
  const { trigger, triggers, update_token_data_mapping: update } = value
  const first = trigger === undefined ? [] : [{ one: trigger, was: ['trigger'] as FieldPath }]
  const others = Array.isArray(triggers)
    ? triggers.map((one: JsonValue, index) => ({ one, was: ['triggers', index] as FieldPath }))
    : []
  if (trigger !== undefined) {
    moved(work, ['triggers'], ['trigger'], 'read as the first of `triggers`')
    moved(work, ['triggers', 0], ['trigger'])
  }
  const written = [...first, ...others].map(({ one, was }, index) => {
    const now: FieldPath = ['triggers', index]
    if (was[0] === 'triggers' && was[1] !== index) moved(work, now, was)
    return isMap(one) || was[0] !== 'triggers'
      ? rewriteTrigger(fieldsOf(one), was, now, work, permissions)
      : one
  })
  const isUpdate = (one: JsonValue) => fieldsOf(one).action === 'update'
  const hasUpdate = update !== undefined && update !== null
  // New tokens are of the first trigger, unless another mapping is for those that update.
  const creator = hasUpdate
    ? Math.max(
        0,
        written.findIndex((one) => !isUpdate(one)),
      )
    : 0
  const initial = rewriteMapping(value, ['triggers', creator, 'map'], work)
  return written.map((one, index) => {
    if (!isMap(one)) return one
    if (index === creator && initial !== null) return { map: initial, ...fieldsOf(one) }
    if (!hasUpdate || !isUpdate(one)) return one
    const at: FieldPath = ['update_token_data_mapping']
    const to: FieldPath = ['triggers', index, 'map']
    moved(work, to, at, 'read as `map` of the triggers that update')
    return { map: rewriteTexts(fieldsOf(update), at, to, payloadOf, work), ...fieldsOf(one) }
  })
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
