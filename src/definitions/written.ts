// Values as written, valid or not, and their units.

import { parseDuration, readFormula } from '../core/expression/index.ts'
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

/** Whether a template anywhere in the tree reads a root. */
export function reads(value: JsonValue | undefined, root: string): boolean {
  if (typeof value === 'string') {
    const formula = value.includes('{{') ? readFormula(value, 'template') : null
    return formula?.reads.some(({ path }) => path === root || new RegExp(`^${root}\\b`).test(path)) ?? false
  }
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((one) => reads(one as JsonValue, root))
}
