// Short builders for the JSON Schemas of what operations take and return. They are data like the rest of a manifest.

import type { JsonValue } from '../core/foundation/json/index.ts'

type Schema = { readonly [keyword: string]: JsonValue }
type Fields = Readonly<Record<string, Schema>>

export const text = (description?: string): Schema => noted({ type: 'string', minLength: 1 }, description)
/** It may be empty. */
export const anyText = (description?: string): Schema => noted({ type: 'string' }, description)
export const whole = (description?: string): Schema => noted({ type: 'integer' }, description)
export const number = (description?: string): Schema => noted({ type: 'number' }, description)
export const flag = (description?: string): Schema => noted({ type: 'boolean' }, description)
export const anything = (description?: string): Schema => noted({}, description)
export const fields = (description?: string): Schema => noted({ type: 'object' }, description)
export const list = (items: Schema, description?: string): Schema =>
  noted({ type: 'array', items }, description)
export const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
/** An id that some write as a number. */
export const id = (description?: string): Schema =>
  noted({ type: ['integer', 'string'], minLength: 1 }, description)
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** What an operation takes: these fields and no others, with a valid example. */
export function input(needed: Fields, more: Fields, example: JsonValue): Schema {
  return {
    type: 'object',
    properties: { ...needed, ...more },
    required: Object.keys(needed),
    additionalProperties: false,
    examples: [example],
  }
}

/** What a response has at least: vendors add fields as they like. */
export function output(needed: Fields, more: Fields = {}): Schema {
  return { type: 'object', properties: { ...needed, ...more }, required: Object.keys(needed) }
}

/** A map inside an input: these fields and no others. */
export function map(needed: Fields, more: Fields = {}, description?: string): Schema {
  return noted(
    {
      type: 'object',
      properties: { ...needed, ...more },
      required: Object.keys(needed),
      additionalProperties: false,
    },
    description,
  )
}

function noted(schema: Schema, description: string | undefined): Schema {
  return description === undefined ? schema : { ...schema, description }
}
