// Which code a document is pinned to: the bundles of all functions that it names.

import { type ActionDocument, actionFactsOf } from './action-documents.ts'
import { type DefinitionDocument, factsOf } from './definition-kinds.ts'

export function codeHashesOf(document: DefinitionDocument): readonly string[] {
  const ofActions = actionsOf(document).flatMap((one) => actionFactsOf(one).codeHash?.(one) ?? [])
  return [...new Set([...ofActions, ...migrationHashes(document)])]
}

function migrationHashes(document: DefinitionDocument): readonly string[] {
  if (document.kind !== 'Workflow') return []
  return (document.migrations ?? []).flatMap(({ data }) =>
    data.flatMap((rule) => ('transform' in rule ? [rule.codeHash] : [])),
  )
}

/** Everything that it runs: one function of a route; of a workflow those of its transitions, compensations and places. */
export function actionsOf(document: DefinitionDocument): readonly ActionDocument[] {
  return factsOf(document).actions?.(document) ?? []
}
