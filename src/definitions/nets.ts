// Reports the analysis of a workflow's net at the places and transitions that it is about (docs/spec/analysis.md).

import type { WorkflowDocument } from '../core/definitions/documents/index.ts'
import { type Analysis, analyse, type Defect, MARKINGS_MAX } from '../core/workflows/analysis/index.ts'
import type { FieldPath, Finding } from './finding.ts'
import type { ReadDocument } from './read.ts'
import { FINDINGS_MAX } from './source-text.ts'

/** The verdict about one workflow. */
export interface Proof extends Pick<Analysis, 'workflow' | 'verdict' | 'says' | 'markings'> {
  readonly file: string
}

/** Each workflow gets at least this many, however many those before it took. */
const MARKINGS_MIN = 1_000

/** `markings`: how many are explored in all workflows together. */
export function reportNets(
  workflows: readonly { readonly document: WorkflowDocument; readonly read: ReadDocument }[],
  findings: Finding[],
  markings = MARKINGS_MAX,
): readonly Proof[] {
  let left = markings
  return workflows.map(({ document, read }) => {
    const analysis = analyse(document, { markings: Math.max(left, MARKINGS_MIN) })
    left -= analysis.markings
    for (const defect of analysis.defects) {
      const finding = read.locate({
        rule: defect.name,
        message: defect.message,
        path: pathOf(defect),
        onKey: true,
        ...(defect.severity === 'warning' && { severity: 'warning' }),
      })
      if (finding === null || findings.length >= FINDINGS_MAX) continue
      const { trace, repeatsAfter } = defect
      findings.push({
        ...finding,
        ...(trace.length > 0 && { trace }),
        ...(repeatsAfter !== undefined && { repeatsAfter }),
      })
    }
    const { workflow, verdict, says } = analysis
    return { workflow, file: read.file, verdict, says, markings: analysis.markings }
  })
}

function pathOf({ name, place, transition }: Defect): FieldPath {
  if (place !== undefined) return ['places', place, ...(name === 'deadTimeout' ? ['timeout'] : [])]
  if (transition !== undefined) {
    return ['transitions', transition, ...(name === 'chooseNothing' ? ['choose'] : [])]
  }
  return ['name']
}
