// The JSON Schema of the language, for editors: scripts/write-definitions-schema.ts writes it to
// docs/definitions.schema.json, and a test says when that file is out of date.

import * as z from 'zod'
import type { Tree } from './fields.ts'
import { findMeaning } from './meanings.ts'
import { languageSchema } from './schema.ts'
import { type Json, schemaFields } from './schema-fields.ts'

const TREES: Readonly<Record<Tree, string>> = {
  sends: '#/$defs/Sends',
  condition: '#/$defs/Condition',
  json: '#/$defs/Json',
}

export function makeJsonSchema(): Json {
  const schema = z.toJSONSchema(languageSchema, {
    io: 'input',
    target: 'draft-2020-12',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      const written = jsonSchema as Json
      const tree = written['x-tree'] as Tree | undefined
      if (tree === undefined) return
      delete written['x-tree']
      written.$ref = TREES[tree]
    },
  }) as Json
  const action = shareAction(schema)
  for (const { kind, path, schema: field } of schemaFields(schema)) {
    const found = findMeaning(kind, path)
    if (found === null) continue
    field.description = found.meaning
    if (found.default !== undefined) field.default = found.default
  }
  const { $schema, ...rest } = schema
  return {
    $schema,
    title: 'Millrace definitions',
    description:
      'One document: a Source, a Route, a Workflow, an Agent, a Subscription, a Provider, a Connection, a Credential or a Profile. `x-millrace` says what a string means.',
    ...rest,
    $defs: { Action: action, Sends: SENDS, Condition: CONDITION, Filter: FILTER, Json: JSON_VALUE },
  }
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
    for (const part of parts) partOf(field)[part] = { $ref: '#/$defs/Action' }
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
