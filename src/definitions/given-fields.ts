// The fields of a document that comes through the API, and how a change replaces them.

import type { JsonValue } from '../core/foundation/json/index.ts'

/** As written, field by field. */
export type GivenFields = { readonly [field: string]: JsonValue }

/** A given field replaces the written one as a whole; null removes it. */
export function patchFields(written: GivenFields, changes: GivenFields): GivenFields {
  const merged = { ...written, ...changes }
  const kept = Object.entries(merged).filter(([name, value]) => isSaid(value) && name !== 'kind')
  return Object.fromEntries(kept)
}

function isSaid(value: JsonValue | undefined): boolean {
  return value !== null && value !== undefined
}
