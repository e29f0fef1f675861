import { expect, test } from 'vitest'
import type { Incarnation, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import { isOptimistic } from './optimistic.ts'

const tenant = 'acme' as TenantId
const [one, other] = ['w1', 'w2'] as WorkId[] as [WorkId, WorkId]
const laneless = new Set([one, other].map((work) => joinKey(tenant, work)))
const guards = [one, other].map((work): Guard => ({ g: 'lease', work, owner: 1 as Incarnation, epoch: 1 }))
const progress = { counters: { attempts: 1, waits: 0, losses: 0 }, note: EMPTY_NOTE }
const settle = (work: WorkId): Write => ({ w: 'work.settle', work, to: 'done', ...progress })
const again = (work: WorkId): Write => ({ w: 'work.again', work, delayMs: 5, ...progress })

test('[PG21] a commit that settles each job once can be executed optimistically', () => {
  expect(isOptimistic({ tenant, guards, writes: [settle(one), again(other)] }, laneless)).toBe(true)
})

test('[PG21] a commit that writes one job twice is executed with locks, which apply both writes', () => {
  expect(isOptimistic({ tenant, guards, writes: [again(one), settle(one)] }, laneless)).toBe(false)
})
