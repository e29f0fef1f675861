// Makes a small payload that matches a schema, with neutral values: the example where none was written. It supports what
// inferred and short hand-written schemas use (types, properties, required, items, const, enum); for anything else it makes no
// example.

import type { JsonValue } from '../../foundation/json/index.ts'
import { isMap } from './schema-check.ts'

const DEPTH_MAX = 6

export function sampleOf(schema: JsonValue, name = ''): JsonValue {
  return sample(schema, name, 0)
}

function sample(schema: JsonValue, name: string, depth: number): JsonValue {
  if (!isMap(schema) || depth > DEPTH_MAX) return null
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return (schema.enum[0] ?? null) as JsonValue
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object':
      return sampleObject(schema, depth)
    case 'array':
      return []
    case 'integer':
    case 'number':
      return NUMBERS[name] ?? 1
    case 'boolean':
      return false
    case 'string':
      return textFor(name)
    default:
      return null
  }
}

function sampleObject(schema: { readonly [key: string]: JsonValue }, depth: number): JsonValue {
  const properties = isMap(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const made: { [key: string]: JsonValue } = {}
  for (const name of required) made[name] = sample(properties[name] ?? null, name, depth + 1)
  return made
}

const NUMBERS: Readonly<Record<string, number>> = { id: 1001, number: 7, size: 0 }

const TEXTS: Readonly<Record<string, string>> = {
  name: 'sample',
  full_name: 'example/sample',
  login: 'somebody',
  title: 'A title',
  body: 'Some text',
  state: 'open',
  ref: 'refs/heads/main',
  email: 'somebody@example.com',
  node_id: 'node_1001',
  slug: 'sample',
}
const HASH = /(?:^|_)(?:sha|before|after|commit_id)$/
const TIME = /_at$|^timestamp$/
const ADDRESS = /(?:^|_)url$/

function textFor(name: string): string {
  if (HASH.test(name)) return '0123456789abcdef0123456789abcdef01234567'
  if (TIME.test(name)) return '2024-01-02T03:04:05Z'
  if (ADDRESS.test(name)) return 'https://example.com/sample'
  return TEXTS[name] ?? 'text'
}
