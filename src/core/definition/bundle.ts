// The hash of a bundle: all definitions of a tenant at one moment. Neither the files' names nor the order counts.

import type { DefinitionDocument } from './definition-document.ts'
import { hashDocument } from './hash.ts'
import { hashEntries } from './in-force.ts'

export function hashBundle(documents: readonly DefinitionDocument[]): string {
  return hashEntries(
    documents.map((document) => ({
      kind: document.kind,
      name: document.name,
      hash: hashDocument(document),
    })),
  )
}
