// What `check` says about sound workflows together with all else that will be in force. The analysis of their nets is asked here.

import type { AgentDocument, DefinitionDocument, WorkflowDocument } from '../core/definition/index.ts'
import { compileTemplate } from '../core/expression/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { closest, listed } from './suggest.ts'

/** A workflow of the files, and how to tell of it. */
export interface BundleWorkflow {
  readonly document: WorkflowDocument
  tell(remark: Remark): void
}

export function tellWorkflows(
  workflows: readonly BundleWorkflow[],
  _documents: readonly DefinitionDocument[],
): void {
  for (const workflow of workflows) tellAgents(workflow)
}

// --- What agents are told

function tellAgents({ document, tell }: BundleWorkflow): void {
  for (const { name, onEnter } of document.places) {
    if (onEnter?.type === 'agent') tellAgent(onEnter.agent, onEnter.with, ['places', name, 'onEnter'], tell)
  }
  for (const one of document.transitions) {
    for (const field of ['do', 'undo'] as const) {
      const action = one[field]
      if (action?.type !== 'agent') continue
      tellAgent(action.agent, action.with, ['transitions', one.name, field], tell)
    }
  }
}

/** An agent sees what `with` gives: what it reads beside that would be empty. */
export function tellAgent(
  agent: AgentDocument,
  given: unknown,
  at: FieldPath,
  tell: (remark: Remark) => void,
): void {
  // What one template gives is not known before it runs.
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
  const near = known.find((name) => closest(name, missing) !== undefined)
  const message =
    `the agent \`${agent.name}\` reads ${listed(missing)}, and \`with\` does not give ${missing.length === 1 ? 'it' : 'them'}` +
    (near === undefined ? '' : `: did you mean \`${closest(near, missing)}\` by \`${near}\`?`)
  tell({ rule: 'agentInput', message, path: [...at, 'with'], onKey: true })
}
