// A document as YAML where nobody wrote one: its normal form, with what is null left out; or what somebody gave in another form.

import { stringify } from 'yaml'
import type { DefinitionDocument } from '../core/definition/index.ts'
import type { JsonValue } from '../core/json/index.ts'

export function renderYaml(document: DefinitionDocument): string {
  return stringify(withoutNulls(document), { lineWidth: 110 })
}

/** As it is: null may be said. */
export function writeYaml(value: JsonValue): string {
  return stringify(value, { lineWidth: 110 })
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}
