// Checks valid workflows together with everything else that will be deployed. The analysis of their nets is called
// here.

import type {
  ActionDocument,
  AgentDocument,
  DefinitionDocument,
  WorkflowDocument,
} from '../core/definitions/documents/index.ts'
import { compileTemplate } from '../core/expression/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { listed } from './suggest.ts'

/** A workflow of the files, and how to report on it. */
export interface BundleWorkflow {
  readonly document: WorkflowDocument
  report(remark: Remark): void
}

export function reportWorkflows(
  workflows: readonly BundleWorkflow[],
  documents: readonly DefinitionDocument[],
): void {
  for (const { document, report } of workflows) {
    for (const [at, action] of actionsOf(document)) reportAction(action, at, documents, report)
  }
}

function actionsOf({ places, transitions }: WorkflowDocument): readonly [FieldPath, ActionDocument][] {
  const all: [FieldPath, ActionDocument][] = []
  for (const { name, onEnter } of places) {
    if (onEnter !== undefined) all.push([['places', name, 'onEnter'], onEnter])
  }
  for (const one of transitions) {
    for (const field of ['do', 'undo'] as const) {
      const action = one[field]
      if (action !== undefined) all.push([['transitions', one.name, field], action])
    }
  }
  return all
}

/** Of a step or a route. */
export function reportAction(
  action: ActionDocument,
  at: FieldPath,
  documents: readonly DefinitionDocument[],
  report: (remark: Remark) => void,
): void {
  if (action.type === 'agent') reportAgent(action.agent, action.with, at, report)
  if (action.type === 'start') reportStart(action.workflow, at, documents, report)
}

/** A workflow that is started by a user or by another workflow needs a trigger for that. */
function reportStart(
  name: string,
  at: FieldPath,
  documents: readonly DefinitionDocument[],
  report: (remark: Remark) => void,
): void {
  const started = documents.find((one) => one.kind === 'Workflow' && one.name === name)
  if (started?.kind !== 'Workflow' || started.triggers.some(({ manual }) => manual !== undefined)) return
  const message = `the workflow \`${name}\` has no \`manual\` trigger, by which it could be started: add \`- manual: {}\` to its triggers`
  report({ rule: 'unknownWorkflow', message, path: [...at, 'start'] })
}

// --- What agents receive

/** An agent sees only what `with` gives: anything else that it reads would be empty. */
function reportAgent(
  agent: AgentDocument,
  given: unknown,
  at: FieldPath,
  report: (remark: Remark) => void,
): void {
  // The value of a single template is not known before it runs.
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return
  const known = Object.keys(given)
  const reads = [agent.system, agent.user].flatMap((text) => {
    const compiled = text === null ? null : compileTemplate(text)
    return compiled?.ok === true ? compiled.template.paths.map((path) => /^\w+/.exec(path)?.[0] ?? '') : []
  })
  const missing = [...new Set(reads)].filter(
    (root) => root !== '' && root !== 'vars' && !known.includes(root),
  )
  if (missing.length === 0) return
  const spare = known.filter((name) => !reads.includes(name))
  const near = spare.find((name) => closest(name, missing) !== undefined)
  const message =
    `the agent \`${agent.name}\` reads ${listed(missing)}, and \`with\` does not give ${missing.length === 1 ? 'it' : 'them'}` +
    (near === undefined ? '' : `: did you mean \`${closest(near, missing)}\` by \`${near}\`?`)
  report({ rule: 'agentInput', message, path: [...at, 'with'], onKey: true })
}
