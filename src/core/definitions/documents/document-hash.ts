// The hash of a document, to which jobs and instances are pinned. Two spellings of one definition share it.

import { hashText } from '../../foundation/hash/index.ts'
import { canonicalJson, type JsonValue } from '../../foundation/json/index.ts'
import type { DefinitionDocument } from './definition-kinds.ts'

/** Documents never change, and one is hashed several times while it is deployed. */
const hashes = new WeakMap<DefinitionDocument, string>()

/** `sha256:` and 64 hex digits, over canonical JSON: key order is irrelevant. */
export function hashDocument(document: DefinitionDocument): string {
  const known = hashes.get(document)
  if (known !== undefined) return known
  const made = hashText(canonicalJson(document as unknown as JsonValue))
  hashes.set(document, made)
  return made
}
