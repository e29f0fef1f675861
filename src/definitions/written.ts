// Values as written, valid or not, and their units.

import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'

export type Fields = { readonly [key: string]: JsonValue }

/** Empty for anything that is not a map. */
export function fieldsOf(value: JsonValue | undefined): Fields {
  return isMap(value) ? (value as Fields) : {}
}

export function isMap(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
