import { describe, expect, test } from 'vitest'
import type { Change, WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { OVERVIEW_COUNT_MAX } from '../../ports/store.ts'
import { judgeVersions } from './workflow-versions.ts'

const UPDATE: Change = { kind: 'Workflow', name: 'triage', change: 'update' }

function documentOf(parts: Partial<WorkflowDocument>): WorkflowDocument {
  return { kind: 'Workflow', name: 'triage', version: '1.2.0', ...parts } as WorkflowDocument
}

/** The result when so many instances live on each version. */
async function judge(
  live: Readonly<Record<string, number>>,
  document: WorkflowDocument | undefined,
  { change = UPDATE, refuses = true } = {},
) {
  const definitions = Object.entries(live).map(([version, count]) => ({
    definition: `hash of ${version}`,
    version,
    count,
  }))
  const reads = { instanceCounts: async () => ({ markings: [], definitions, attention: 0 }) }
  return judgeVersions(reads, [change], () => document, { refuses })
}

const compatibility = { supported: ['1.1.0'], deprecationWarnings: false, strict: false }
const migrations = [
  { from: '1.0.0', to: '1.2.0', strategy: 'inPlace', places: {}, data: [] },
] as const satisfies WorkflowDocument['migrations']

describe('instances on older versions', () => {
  test('[MG2] are reported if the new one neither supports nor migrates theirs', async () => {
    const warnings = await judge(
      { '0.9.0': 2, '1.0.0': 1, '1.1.0': 4, '1.2.0': 7 },
      documentOf({ compatibility }),
    )
    expect(warnings).toEqual([
      {
        rule: 'MG2',
        workflow: 'triage',
        message:
          'triage: 2 instances live on version 0.9.0, which 1.2.0 neither supports nor migrates; they go on as they are',
      },
      expect.objectContaining({ message: expect.stringContaining('1 instance lives on version 1.0.0') }),
    ])
    expect(await judge({ '1.0.0': 1, '1.1.0': 4 }, documentOf({ compatibility, migrations }))).toEqual([])
    expect(await judge({}, documentOf({}))).toEqual([])
  })

  test('[MG2] a migration to another version than the new one does not count', async () => {
    const elsewhere = [{ ...migrations[0], to: '1.1.0' }]
    expect(await judge({ '1.0.0': 1 }, documentOf({ migrations: elsewhere }))).toMatchObject([
      { rule: 'MG2' },
    ])
  })

  test('[MG2] counts that reach their limit are reported as such', async () => {
    const [warning] = await judge({ '1.0.0': OVERVIEW_COUNT_MAX }, documentOf({}))
    expect(warning?.message).toContain(`at least ${OVERVIEW_COUNT_MAX} instances`)
  })

  test('[MG3] are a refusal under strict, which names versions and counts; a plan only warns', async () => {
    const document = documentOf({ compatibility: { ...compatibility, strict: true } })
    const refused = judge({ '0.9.0': 2, '1.1.0': 4 }, document)
    await expect(refused).rejects.toThrow(AppError)
    await expect(refused).rejects.toMatchObject({
      code: 'versions_unsupported',
      message: 'triage: 2 instances live on version 0.9.0',
      details: { workflows: [{ workflow: 'triage', versions: [{ version: '0.9.0', count: 2 }] }] },
    })
    expect(await judge({ '0.9.0': 2 }, document, { refuses: false })).toMatchObject([{ rule: 'MG2' }])
    expect(await judge({ '1.1.0': 2 }, document)).toEqual([])
  })

  test('[MG4] are reported if they are supported or migrated, if the workflow asks for it', async () => {
    const document = documentOf({
      compatibility: { ...compatibility, deprecationWarnings: true },
      migrations,
    })
    const warnings = await judge({ '1.0.0': 1, '1.1.0': 4, '1.2.0': 9 }, document)
    expect(warnings.map(({ rule, message }) => `${rule} ${message}`)).toEqual([
      'MG4 triage: 1 instance lives on version 1.0.0; bring them to 1.2.0 with `millrace workflows migrate triage`',
      'MG4 triage: 4 instances live on version 1.1.0; it is supported, but no longer the one in force',
    ])
  })

  test('[MG8] are reported if their workflow is removed', async () => {
    const change = { ...UPDATE, change: 'remove' } as const
    expect(await judge({ '1.0.0': 3 }, undefined, { change })).toMatchObject([
      { rule: 'MG8', message: expect.stringContaining('3 instances live on version 1.0.0') },
    ])
    expect(
      await judge({ '1.0.0': 3 }, documentOf({}), { change: { ...UPDATE, change: 'unchanged' } }),
    ).toEqual([])
  })
})
