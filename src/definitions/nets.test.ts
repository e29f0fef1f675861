import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formatFindings } from './index.ts'
import { compileDefinitions } from './language.ts'

const TEXT = `kind: Workflow
name: triage
version: 1.0.0
start: received
triggers:
  - { manual: {} }
places:
  received: {}
  checked: {}
  priced: {}
  review: { type: review }
  closed: { final: true }
transitions:
  split: { from: received, to: [checked, priced] }
  approve: { from: [checked, review], to: closed, on: manual }
  close: { from: priced, to: closed, do: { emit: triage.closed } }
`

const compile = (text: string) =>
  compileDefinitions([{ path: 'triage.yaml', text }], { functions: () => null })

test('[AN18] findings have their position and a trace, and each workflow has a verdict', () => {
  const { findings, proofs } = compile(TEXT)
  expect(proofs).toEqual([
    {
      workflow: 'triage',
      file: 'triage.yaml',
      verdict: 'unsound',
      says: 'not sound: a defect is proved (3 markings)',
      markings: 3,
    },
  ])
  expect(findings.map(({ rule, line, column, severity }) => [rule, line, column, severity])).toEqual([
    ['AN4', 9, 3, 'error'],
    ['AN1', 11, 3, 'warning'],
    ['AN2', 15, 3, 'warning'],
  ])
  expect(findings[0]?.trace).toEqual([
    { fire: null, way: 'start', marking: { received: 1 } },
    { fire: 'split', way: 'done', marking: { checked: 1, priced: 1 } },
    { fire: 'close', way: 'done', marking: { checked: 1, closed: 1 } },
  ])
})

test('[AN18] a trace is printed as a list of steps', () => {
  const { findings } = compile(TEXT)
  expect(formatFindings(findings.slice(0, 1), [{ path: 'triage.yaml', text: TEXT }])).toBe(
    [
      'triage.yaml:9:3 error AN4: a token stays behind in `checked` when `closed` is reached: `approve` also needs a token in `review`, and the instance never completes. Proved',
      '  9 |   checked: {}',
      '    |   ^',
      '  how it comes to it:',
      '    0  start  → received',
      '    1  split  → checked, priced',
      '    2  close  → checked, closed',
      '',
      '1 error, 0 warnings',
      '',
    ].join('\n'),
  )
})

test('[AN18] a sound workflow has a verdict and no finding', () => {
  const { findings, proofs } = compile(
    TEXT.replace('[checked, priced]', '[priced]').replace(/ {2}(checked|review|approve):.*\n/g, ''),
  )
  expect(findings).toEqual([])
  expect(proofs).toMatchObject([{ verdict: 'proved', says: 'proved sound: 3 markings' }])
})

test('[AN18] the page about it shows the real output', () => {
  const page = readFileSync(new URL('../../docs/analysis.md', import.meta.url), 'utf8')
  const [, text = '', told, verdict] =
    /```yaml wrong\n([^`]*)```[^`]*```text\n([\s\S]*?)\n```[^`]*`([^`]*)`/.exec(
      page.replaceAll('`check`', 'check'),
    ) ?? []
  const { findings, proofs } = compileDefinitions([{ path: 'orders.yaml', text }], { functions: () => null })
  const said = formatFindings(findings, [{ path: 'orders.yaml', text }])
  const verdicts = proofs.map(({ workflow, says }) => `workflow ${workflow}: ${says}`)
  expect(said.trimEnd()).toBe(told)
  expect(verdicts).toEqual([verdict])
})
