// Identifies what a consumer selects: the subjects and the condition of a route or a subscription.

import { hashText } from '../foundation/hash/index.ts'
import { type JsonValue, stringifyJson } from '../foundation/json/index.ts'

interface Filter {
  readonly on: readonly string[]
  readonly where: unknown
}

const hashes = new WeakMap<Filter, string>()

/** Equal for consumers that select the same events in the same words. */
export function filterHashOf(document: Filter): string {
  const known = hashes.get(document)
  if (known !== undefined) return known
  const hash = hashText(stringifyJson([document.on, document.where ?? null] as unknown as JsonValue))
  hashes.set(document, hash)
  return hash
}
