import { expect, test } from 'vitest'
import type { WorkKind, WorkState } from '../../../core/queue/work/index.ts'
import { judgeWork } from './recovery-verdict.ts'

const OWN = 'subscription:crm'

function row(state: WorkState, lastError: string | null = null, consumer = OWN, kind: WorkKind = 'delivery') {
  return { kind, consumer, state, lastError }
}
const intake = (state: WorkState) => row(state, null, 'source:shop', 'intake')

test.each([
  ['missing', []],
  ['missing', [row('skipped', 'DISABLED'), row('cancelled', 'SUBSCRIPTION_GONE')]],
  ['missing', [row('done', null, 'subscription:other'), row('done', null, 'route:book', 'route')]],
  ['missing', [intake('done')]],
  ['failed', [row('dead')]],
  ['failed', [row('skipped', 'DISABLED'), row('dead')]],
  ['delivered', [row('done')]],
  ['delivered', [row('dead'), row('done')]],
  ['delivered', [row('done'), row('dead')]],
  ['delivered', [row('done'), row('ready')]],
  ['under-way', [row('dead'), row('ready')]],
  ['under-way', [row('leased')]],
  ['under-way', [row('skipped', 'DISABLED'), row('waiting')]],
  ['given-up', [row('skipped', 'its endpoint took it before')]],
  ['unmatched', [intake('ready')]],
  ['unmatched', [intake('dead')]],
  ['unmatched', [intake('done'), intake('leased')]],
] as const)('[RV2] %s: %j', (verdict, rows) => {
  expect(judgeWork(rows, OWN)).toBe(verdict)
})
