// Compares the names in flow tests with the definitions: a name that does not exist would pass, or fail for no reason.

import type { DefinitionDocument, DefinitionKind } from '../../core/definitions/documents/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { ExpectedPart } from '../../core/testing/flow-test/index.ts'
import type { FieldPath, Finding, Remark } from '../finding.ts'
import { listed } from '../suggest.ts'
import type { ReadTest } from './read-flow-tests.ts'

const KINDS: Readonly<Record<string, DefinitionKind>> = {
  route: 'Route',
  workflow: 'Workflow',
  subscription: 'Subscription',
  source: 'Source',
}

export function checkFlowTests(
  tests: readonly ReadTest[],
  documents: readonly DefinitionDocument[],
): readonly Finding[] {
  const find = (kind: DefinitionKind, name: string) =>
    documents.find((document) => document.kind === kind && document.name === name)
  const unknown = (kind: DefinitionKind, name: string, path: FieldPath): readonly Remark[] => {
    if (find(kind, name) !== undefined) return []
    const names = documents.filter((document) => document.kind === kind).map((document) => document.name)
    const near = closest(name, names) ?? (names.length === 1 ? names[0] : undefined)
    const word = kind.toLowerCase()
    const hint =
      near !== undefined
        ? `: did you mean \`${near}\`?`
        : names.length > 0
          ? `: there are ${listed(names)}`
          : ''
    const suggestion = near === undefined ? {} : { suggestion: near }
    return [{ rule: 'reference', message: `there is no ${word} \`${name}\`${hint}`, path, ...suggestion }]
  }

  const ofParts = (parts: readonly ExpectedPart[] | null): readonly Remark[] =>
    (parts ?? []).flatMap(({ path, fields }) =>
      Object.entries(KINDS).flatMap(([field, kind]) => {
        const name = fields[field]
        return typeof name === 'string' ? unknown(kind, name, [...path, field]) : []
      }),
    )

  return tests.flatMap(({ test, locate }) => {
    const { expect } = test
    const ofSteps = test.steps.flatMap((step): readonly Remark[] => {
      if (step.type === 'operator' && step.target.name !== '') {
        const { kind, name } = step.target
        return unknown(KINDS[kind] ?? 'Route', name, [...step.path, step.act, kind])
      }
      if (step.type !== 'request' || step.source === '') return []
      const path = [...step.path, 'source']
      const document = find('Source', step.source)
      if (document?.kind !== 'Source') return unknown('Source', step.source, path)
      if (document.schedule !== undefined) {
        const message = `${step.source} is a schedule, and nobody sends to it: write \`- wait: …\` until it fires`
        return [{ rule: 'reference', message, path }]
      }
      if (document.nats === undefined) return []
      const message = `${step.source} reads messages of NATS: send \`subject\` and \`data\` instead`
      return [{ rule: 'reference', message, path }]
    })
    const remarks = [
      ...ofSteps,
      ...ofParts(expect.instances),
      ...ofParts(expect.deadLetters),
      ...ofParts(expect.parked),
      ...ofParts(expect.waiting),
    ]
    return remarks.map(locate)
  })
}
