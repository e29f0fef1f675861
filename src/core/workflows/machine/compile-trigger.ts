// A trigger, compiled: a route for matching, and what it reads of an event.

import {
  RETENTION_MS,
  type TriggerDocument,
  type WorkflowDocument,
} from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { compileExpression, type Keyed, type Scope } from '../../expression/index.ts'
import type { RouteLane } from '../../queue/lane/index.ts'
import { RETRY_PROFILES } from '../../queue/retry/index.ts'
import { compileRoute, type Route } from '../../routing/index.ts'
import { compileAssignments, compileFault } from './compile-texts.ts'
import { keyText } from './key-text.ts'
import type { Trigger } from './machine-types.ts'
import { triggerPart } from './workflow-names.ts'

type KeysOf = Trigger['keysOf']

export function compileTrigger(
  workflow: WorkflowDocument,
  hash: string,
  document: TriggerDocument,
  keyed: Keyed,
): Trigger {
  const keys = Object.entries(document.correlate).map(([name, text]) => ({
    name,
    expression: must(compileExpression(text, keyed)).expression,
  }))
  const keysOf: KeysOf = (scope) =>
    keys.map(({ name, expression }) => ({
      name,
      value: keyText(expression.evaluate(scope), `correlate.${name}`, `the key \`${name}\``),
    }))
  return {
    document,
    route:
      document.on === undefined
        ? null
        : compileMatching(workflow, hash, document, document.on, { keysOf, keyed }),
    keysOf,
    map: compileAssignments(document.map, keyed),
    inputFault: compileFault(document.manual?.input, 'input'),
  }
}

function compileMatching(
  workflow: WorkflowDocument,
  hash: string,
  { id, where, action, correlate, bufferMs, retry, maxProcessingMs, circuit }: TriggerDocument,
  on: readonly string[],
  { keysOf, keyed }: { readonly keysOf: KeysOf; readonly keyed: Keyed },
): Route {
  const route = compileRoute(
    {
      kind: 'Route',
      name: `${workflow.name}/${triggerPart(id)}`,
      description: workflow.description,
      on,
      where,
      status: workflow.status,
      key: null,
      uniqueness: 'operation',
      retry: retry ?? RETRY_PROFILES.STANDARD,
      // Above a rate limit events wait, and updates wait for their instance: neither may expire meanwhile.
      maxWaitMs: RETENTION_MS + bufferMs,
      deadLetter: workflow.deadLetter,
      // It calls nobody: its failures are about events, so only a definition that asks for it lets them hold up the others.
      circuit: circuit ?? 'off',
      // Never run: the workflow decides what a trigger does.
      do: { type: 'emit', subject: `workflow.${workflow.name}.triggered`, data: null },
    },
    keyed,
  )
  const isOrdered = action !== 'create' && Object.keys(correlate).length > 0
  return {
    ...route,
    hash,
    ...(maxProcessingMs === undefined ? {} : { expiresInMs: maxProcessingMs }),
    consumer: `workflow:${workflow.name}`,
    of: { kind: 'trigger', workflow: workflow.name, part: id },
    lane: isOrdered ? laneOf(keysOf) : null,
    isImmediate: !isOrdered,
  }
}

/** Updates of one key are applied in order of arrival; one that fails blocks no other. */
function laneOf(keysOf: KeysOf): RouteLane {
  return {
    of(scope: Scope) {
      const [first] = keysOf(scope)
      return { key: `key/${first?.name}/${first?.value}`, width: 1 }
    },
    version: null,
    skipsStale: false,
    holds: false,
    debounce: null,
  }
}
