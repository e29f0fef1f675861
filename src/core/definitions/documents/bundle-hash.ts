// The hash of a bundle: all definitions of a tenant at one moment. Neither the files' names nor the order counts.

import type { DefinitionDocument } from './definition-kinds.ts'
import { hashEntries } from './deployed-entries.ts'
import { hashDocument } from './document-hash.ts'

export function hashBundle(documents: readonly DefinitionDocument[]): string {
  return hashEntries(
    documents.map((document) => ({
      kind: document.kind,
      name: document.name,
      hash: hashDocument(document),
    })),
  )
}
