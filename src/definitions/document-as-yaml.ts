// Writes a document as YAML if there is no written one: its normal form without nulls, or what was given in another
// form.

import { type ScalarTag, stringify } from 'yaml'
import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { isNumeral, type JsonValue } from '../core/foundation/json/index.ts'

/** For writing only: definitions are read with the standard tags. */
const NUMERALS: ScalarTag = {
  identify: isNumeral,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  resolve: (text) => text,
  stringify: ({ value }) => (isNumeral(value) ? value.text : String(value)),
}
const WRITTEN = { lineWidth: 110, customTags: [NUMERALS] }

export function renderYaml(document: DefinitionDocument): string {
  return stringify(withoutNulls(document), WRITTEN)
}

/** As it is: null may be written. */
export function writeYaml(value: JsonValue): string {
  return stringify(value, WRITTEN)
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null || isNumeral(value)) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}
