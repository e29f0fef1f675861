// Zod as the JSON Schema that Ajv, OpenAPI and the generators of clients read. Only the generator and the tests load this file.

import { z } from 'zod'
import { REF } from './schema-kit.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** What is taken, not what becomes of it: a member with a default may be left out. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'input', reused: 'inline', cycles: 'throw' })
  return plain(made) as JsonSchema
}

const SAFE = Number.MAX_SAFE_INTEGER

/** Zod's own habits undone: the bounds of every integer, names of members as patterns, and a union with null. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const given = value as Readonly<Record<string, unknown>>
  const schema: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(given)) {
    if (
      name === 'propertyNames' ||
      (name === 'minimum' && inner === -SAFE) ||
      (name === 'maximum' && inner === SAFE)
    )
      continue
    if (name === 'properties') schema.properties = members(inner as Readonly<Record<string, unknown>>)
    else schema[name] = name === 'enum' || name === 'default' || name === 'const' ? inner : plain(inner)
  }
  if (typeof schema[REF] === 'string') {
    const { [REF]: name, description } = schema
    return { $ref: `${name}#`, ...(description !== undefined && { description }) }
  }
  if (schema.type === 'object') return plainObject(schema)
  return Array.isArray(schema.anyOf) ? withNull(schema, schema.anyOf) : schema
}

const members = (properties: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plain(schema)]))

function plainObject(schema: Record<string, unknown>): unknown {
  const { properties, additionalProperties } = schema
  const isAnything =
    typeof additionalProperties === 'object' && Object.keys(additionalProperties ?? {}).length === 0
  if (isAnything) schema.additionalProperties = true
  const isEmpty = properties !== undefined && Object.keys(properties as object).length === 0
  if (isEmpty && schema.additionalProperties !== false) delete schema.properties
  if (schema.properties !== undefined && schema.additionalProperties !== true) schema.required ??= []
  return schema
}

/** `{type: ['string', 'null']}` where the type alone says it; a list of choices stays one. */
function withNull(schema: Record<string, unknown>, choices: readonly unknown[]): unknown {
  const { anyOf: _, ...rest } = schema
  const [one, none] = choices as readonly Readonly<Record<string, unknown>>[]
  const isNullable =
    choices.length === 2 && none?.type === 'null' && typeof one?.type === 'string' && !('enum' in one)
  if (!isNullable) return schema
  return { ...one, type: [one?.type, 'null'], ...rest }
}
