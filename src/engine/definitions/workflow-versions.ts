// What new definitions mean for instances on older versions of their workflows: they stay where they are. Applying warns about
// those that the new version neither supports nor migrates; a workflow that says `strict` refuses to leave any behind.
//
// Invariants: MG2 no instance is left behind without a warning. MG3 under `strict` nothing is applied that would.

import type { Change, DefinitionDocument, WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { OVERVIEW_COUNT_MAX, type TenantReads } from '../../ports/store.ts'

export interface VersionWarning {
  readonly rule: 'MG2' | 'MG4' | 'MG8'
  readonly workflow: string
  readonly message: string
}

interface LiveVersion {
  readonly version: string
  readonly count: number
}

type Reads = Pick<TenantReads, 'instanceCounts'>

/** `documentOf`: the document of a change; undefined: none. Throws `versions_unsupported`. */
export async function judgeVersions(
  reads: Reads,
  changes: readonly Change[],
  documentOf: (change: Change) => DefinitionDocument | undefined,
  options: { readonly refuses: boolean },
): Promise<readonly VersionWarning[]> {
  const warnings: VersionWarning[] = []
  const refused: { readonly workflow: string; readonly versions: readonly LiveVersion[] }[] = []
  for (const change of changes) {
    if (change.kind !== 'Workflow' || change.change === 'unchanged' || change.change === 'create') continue
    const live = await liveVersions(reads, change.name)
    if (live.length === 0) continue
    const document = documentOf(change)
    if (document?.kind !== 'Workflow') {
      warnings.push(removed(change.name, live))
      continue
    }
    const left = live.filter(({ version }) => !reaches(document, version))
    if (left.length > 0 && document.compatibility?.strict === true)
      refused.push({ workflow: document.name, versions: left })
    warnings.push(...left.map((one) => leftBehind(document, one)), ...deprecated(document, live))
  }
  if (refused.length > 0 && options.refuses) {
    const described = refused.map(
      ({ workflow, versions }) => `${workflow}: ${versions.map(describeLive).join(', ')}`,
    )
    throw new AppError('versions_unsupported', described.join('; '), { details: { workflows: refused } })
  }
  return warnings
}

/** Two definitions may have the same version name: what counts is the name that users see. */
async function liveVersions(reads: Reads, workflow: string): Promise<readonly LiveVersion[]> {
  const counts = new Map<string, number>()
  for (const { version, count } of (await reads.instanceCounts(workflow)).definitions)
    if (count > 0) counts.set(version, (counts.get(version) ?? 0) + count)
  return [...counts].map(([version, count]) => ({ version, count }))
}

function isMigrated({ version, migrations = [] }: WorkflowDocument, from: string): boolean {
  return migrations.some((one) => one.from === from && one.to === version)
}

function reaches(document: WorkflowDocument, version: string): boolean {
  const isSupported = document.compatibility?.supported.includes(version) === true
  return version === document.version || isSupported || isMigrated(document, version)
}

function leftBehind({ name, version }: WorkflowDocument, live: LiveVersion): VersionWarning {
  const message = `${name}: ${describeLive(live)}, which ${version} neither supports nor migrates; they go on as they are`
  return { rule: 'MG2', workflow: name, message }
}

function deprecated(document: WorkflowDocument, live: readonly LiveVersion[]): readonly VersionWarning[] {
  const { name, version, compatibility } = document
  if (compatibility?.deprecationWarnings !== true) return []
  const older = live.filter((one) => one.version !== version && reaches(document, one.version))
  return older.map((one) => {
    const way = isMigrated(document, one.version)
      ? `bring them to ${version} with \`millrace workflows migrate ${name}\``
      : 'it is supported, but no longer the one in force'
    return { rule: 'MG4', workflow: name, message: `${name}: ${describeLive(one)}; ${way}` }
  })
}

function removed(workflow: string, live: readonly LiveVersion[]): VersionWarning {
  const described = live.map(describeLive).join(', ')
  return {
    rule: 'MG8',
    workflow,
    message: `${workflow} goes, and ${described}; no event finds them any more`,
  }
}

function describeLive({ version, count }: LiveVersion): string {
  const many = count >= OVERVIEW_COUNT_MAX ? `at least ${OVERVIEW_COUNT_MAX}` : String(count)
  return `${many} ${count === 1 ? 'instance lives' : 'instances live'} on version ${version}`
}
