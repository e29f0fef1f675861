// The hash of a bundle: all definitions of a tenant at one moment. Neither the files' names nor the order counts.

import type { DefinitionDocument } from './documents.ts'
import { hashDocument, hashText } from './hash.ts'

export function hashBundle(documents: readonly DefinitionDocument[]): string {
  const lines = documents.map((document) => `${document.kind}/${document.name} ${hashDocument(document)}`)
  return hashText(lines.sort().join('\n'))
}
