// Which code a document is pinned to: the bundles of all functions that it names.

import { type ActionDocument, actionFactsOf } from './action-documents.ts'
import { type DefinitionDocument, factsOf } from './definition-kinds.ts'

export function codeHashesOf(document: DefinitionDocument): readonly string[] {
  return [...new Set(actionsOf(document).flatMap((one) => actionFactsOf(one).codeHash?.(one) ?? []))]
}

/** Everything that it runs: one function of a route; of a workflow those of its transitions, compensations and places. */
export function actionsOf(document: DefinitionDocument): readonly ActionDocument[] {
  return factsOf(document).actions?.(document) ?? []
}
