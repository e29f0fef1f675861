// Short schemas by hand: an object with the fields that are always present, and a few more that are useful.

import type { JsonValue } from '../../../foundation/json/index.ts'

type Properties = { readonly [name: string]: JsonValue }

export const text = { type: 'string' } as const
export const whole = { type: 'integer' } as const
export const yes = { type: 'boolean' } as const
export const list = { type: 'array' } as const
export const constant = (value: JsonValue): JsonValue => ({ const: value })
/** May also be null. */
export const maybe = (type: string): JsonValue => ({ type: [type, 'null'] })

export function object(required: Properties, optional: Properties = {}): JsonValue {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}
