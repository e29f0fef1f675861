// Which code a document is pinned to: the bundles of all functions that it names.

import type { DefinitionDocument } from './definition-kinds.ts'
import { factsOf } from './definition-kinds.ts'
import type { ActionDocument } from './documents.ts'

export function codeHashesOf(document: DefinitionDocument): readonly string[] {
  return [...new Set(actionsOf(document).flatMap((one) => (one.type === 'function' ? one.codeHash : [])))]
}

/** Everything that it runs: one function of a route; of a workflow those of its transitions, compensations and places. */
export function actionsOf(document: DefinitionDocument): readonly ActionDocument[] {
  return factsOf(document).actions?.(document) ?? []
}
