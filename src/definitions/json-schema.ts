// The JSON Schema of the language, for editors: scripts/write-definitions-schema.ts writes it to
// docs/definitions.schema.json, and a test says when that file is out of date.

import * as z from 'zod'
import { FACTS, type FieldFacts, type Tree } from './fields.ts'
import { declarationOf, KIND_NAMES, type Kind } from './kinds/index.ts'
import type { Json } from './schema-fields.ts'

const TREES: Readonly<Record<Tree, string>> = {
  sends: '#/$defs/Sends',
  condition: '#/$defs/Condition',
  json: '#/$defs/Json',
}

/** Published in one form; documentation.ts reads what editors have no use for. */
const FACT = 'x-facts'

export function factsOf(schema: Json): FieldFacts | null {
  return (schema[FACT] as FieldFacts | undefined) ?? null
}

export function makeJsonSchema(): Json {
  return JSON.parse(JSON.stringify(makeFactSchema(), (key, value) => (key === FACT ? undefined : value)))
}

function listKinds(): string {
  const kinds = KIND_NAMES.map((kind) => `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`)
  return `${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}`
}

function documentSchemas(): [z.ZodObject, ...z.ZodObject[]] {
  return KIND_NAMES.map((kind) => declarationOf(kind).schema()) as unknown as [z.ZodObject, ...z.ZodObject[]]
}

/** With the facts of each field. */
export function makeFactSchema(): Json {
  const schema = z.toJSONSchema(z.discriminatedUnion('kind', documentSchemas()), {
    io: 'input',
    target: 'draft-2020-12',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema }) => {
      const written = jsonSchema as Json
      const tree = written['x-tree'] as Tree | undefined
      if (tree !== undefined) {
        delete written['x-tree']
        written.$ref = TREES[tree]
      }
      const facts = FACTS.get(zodSchema)
      if (facts !== undefined) Object.assign(written, described(facts))
    },
  }) as Json
  const action = shareAction(schema)
  const { $schema, ...rest } = schema
  return {
    $schema,
    title: 'Millrace definitions',
    description: `One document: ${listKinds()}. \`x-millrace\` says what a string means.`,
    ...rest,
    $defs: { Action: action, Sends: SENDS, Condition: CONDITION, Filter: FILTER, Json: JSON_VALUE },
  }
}

/** What it means that a field is left out, as a sentence, if there is something to say. */
export function leftOutOf({ default: usual, otherwise }: FieldFacts): readonly string[] {
  if (usual !== undefined) return [`Left out: \`${usual}\`.`]
  return otherwise === undefined || otherwise === 'as below' ? [] : [`Left out: ${otherwise}.`]
}

function described(facts: FieldFacts): Json {
  const { meaning: description, default: usual } = facts
  return { description, ...(usual === undefined ? {} : { default: usual }), [FACT]: facts }
}

/**
 * The fields of a kind as a request of the API may have them, loosely: the check of definitions says what is wrong with a
 * value, in its own words. null counts as omitted.
 */
export function requestFields(kind: Kind): Readonly<Record<string, Json>> {
  const document = (makeFactSchema().oneOf as readonly Json[]).find(({ title }) => title === kind)
  const { properties, required } = document as { properties: Record<string, Json>; required: string[] }
  const fields = Object.entries(properties).filter(([name]) => !['kind', 'apiVersion', 'name'].includes(name))
  return Object.fromEntries(
    fields.map(([name, field]) => [name, requestField(field, required.includes(name))]),
  )
}

function requestField(field: Json, isNeeded: boolean): Json {
  const facts = factsOf(field) as FieldFacts
  const listed = (names: readonly unknown[]) => names.map((one) => `\`${one}\``).join(', ')
  const description = [
    ...(Array.isArray(field.enum) && field.enum.length > 1 ? [`One of ${listed(field.enum)}.`] : []),
    facts.meaning,
    ...(field.properties === undefined ? [] : [`It has ${listed(Object.keys(field.properties as Json))}.`]),
    ...(isNeeded ? [] : leftOutOf(facts)),
  ].join(' ')
  if (Array.isArray(field.anyOf) && isNeeded)
    return { description, anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }
  if (field.type !== 'string' && field.type !== 'object') return { description }
  const type = isNeeded ? field.type : [field.type, 'null']
  return { type, ...(field.type === 'object' ? { additionalProperties: true } : {}), description }
}

/** A workflow's action is the same as a route's: written once, and referenced wherever a step is. */
function shareAction(schema: Json): Json {
  const documents = schema.oneOf as readonly (Json & { properties: Record<string, Json> })[]
  const of = (title: string) => documents.find((one) => one.title === title)?.properties ?? {}
  const partOf = (field: string) => {
    const { properties } = (of('Workflow')[field] as Json).additionalProperties as { properties: Json }
    return properties
  }
  for (const [field, parts] of [
    ['places', ['onEnter']],
    ['transitions', ['do', 'undo']],
  ] as const) {
    for (const part of parts) {
      const facts = factsOf(partOf(field)[part] as Json) as FieldFacts
      partOf(field)[part] = { $ref: '#/$defs/Action', ...described(facts) }
    }
  }
  return of('Route').do as Json
}

const SENDS: Json = {
  description: 'Any value; every text in it may hold {{ expression }}.',
  anyOf: [
    { type: 'string', 'x-millrace': 'send' },
    { type: ['number', 'boolean', 'null'] },
    { type: 'array', items: { $ref: '#/$defs/Sends' } },
    { type: 'object', additionalProperties: { $ref: '#/$defs/Sends' } },
  ],
}

const JSON_VALUE: Json = { description: 'Any value, taken as it is.' }

const CONDITION: Json = {
  description: 'An expression, or a filter.',
  anyOf: [{ type: 'string', 'x-millrace': 'pick', minLength: 1 }, { $ref: '#/$defs/Filter' }],
}

const scalar: Json = { type: ['string', 'number', 'boolean', 'null'], 'x-millrace': 'name' }
const ordered: Json = { type: ['string', 'number'], 'x-millrace': 'name' }
const conditions: Json = { type: 'array', minItems: 1, items: { $ref: '#/$defs/Condition' } }
const values: Json = { type: 'array', minItems: 1, items: scalar }

const FILTER: Json = {
  anyOf: [
    {
      type: 'object',
      required: ['path'],
      minProperties: 2,
      additionalProperties: false,
      properties: {
        path: { type: 'string', 'x-millrace': 'path' },
        equals: scalar,
        notEquals: scalar,
        in: values,
        notIn: values,
        contains: scalar,
        notContains: scalar,
        startsWith: { type: 'string', 'x-millrace': 'name' },
        greaterThan: ordered,
        lessThan: ordered,
        atLeast: ordered,
        atMost: ordered,
        exists: { type: 'boolean' },
        notExists: { type: 'boolean' },
      },
    },
    { type: 'object', required: ['all'], additionalProperties: false, properties: { all: conditions } },
    { type: 'object', required: ['any'], additionalProperties: false, properties: { any: conditions } },
    {
      type: 'object',
      required: ['not'],
      additionalProperties: false,
      properties: { not: { $ref: '#/$defs/Condition' } },
    },
  ],
}
