// The slots of a node: what takes one, what waits for one, and what limits the jobs that need none.
import { expect, test } from 'vitest'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { makeLeased } from '../settlement/settlement.fixture.ts'
import { makeJobSlots } from './job-slots.ts'
import type { Item } from './leased-job.ts'

const ACME = 'acme' as TenantId
const OTHER = 'other' as TenantId

function makeSlots(given: { concurrency?: number; runningBytesMax?: number; share?: number } = {}) {
  const { concurrency = 2, runningBytesMax = 1_000_000 } = given
  const share = given.share ?? concurrency
  const started: string[] = []
  const ended: string[] = []
  const ends = new Map<string, () => void>()
  const jobSlots = makeJobSlots({ concurrency, runningBytesMax })
  jobSlots.serve({
    share: () => share,
    run(item, _hasWaited, over) {
      started.push(item.work.id)
      ends.set(item.work.id, over)
    },
    onFree: (item) => void (item !== null && ended.push(item.work.id)),
  })
  const itemOf = (id: string, tenant: TenantId): Item =>
    makeLeased({ id: id as WorkId, tenant, epoch: 1 } as Partial<Item['work']>)
  const take = (id: string, tenant = ACME, beside = 0) => jobSlots.take(id as WorkId, tenant, 10, beside)
  /** Its insert is stored. */
  const insert = (id: string, tenant = ACME): Item => {
    const item = itemOf(id, tenant)
    jobSlots.start(item)
    return item
  }
  return { jobSlots, started, ended, ends, take, insert }
}

test('[O3] jobs of many events are leased while a slot is free, and wait for a slot once they are stored', async () => {
  const { jobSlots, started, ends, take, insert } = makeSlots()
  expect(['a', 'b', 'c', 'd'].map((id) => take(id))).toEqual([true, true, true, true])
  for (const id of ['a', 'b', 'c', 'd']) insert(id)
  expect(started).toEqual(['a', 'b'])
  expect(jobSlots.free()).toBe(0)
  // While jobs wait here, nothing more is leased.
  expect(take('e')).toBe(false)
  ends.get('a')?.()
  await Promise.resolve()
  expect(started).toEqual(['a', 'b', 'c'])
})

test('[O3] of one event, no more jobs are leased than there are free slots', () => {
  const { take } = makeSlots({ concurrency: 3 })
  expect([0, 1, 2, 3].map((beside) => take(`a${beside}`, ACME, beside))).toEqual([true, true, true, false])
})

test('[O1] a job whose settling commit is under way leaves its slot to the next', () => {
  const { jobSlots, started, take, insert } = makeSlots({ concurrency: 1 })
  take('a')
  take('b')
  const first = insert('a')
  insert('b')
  expect(started).toEqual(['a'])
  // A copy of the job, as the runner makes them, is the same job.
  jobSlots.settling({ ...first })
  expect(started).toEqual(['a', 'b'])
  jobSlots.settling(first)
  expect(jobSlots.free()).toBe(0)
  expect(jobSlots.running()).toBe(2)
})

test('[PA15] jobs that wait for a slot leave the share of another tenant free', () => {
  const { jobSlots, started, take, insert } = makeSlots({ concurrency: 4, share: 3 })
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) expect(take(id)).toBe(true)
  for (const id of ids) insert(id)
  expect(started).toEqual(['a', 'b', 'c'])
  expect(jobSlots.free()).toBe(1)
  expect(take('x', OTHER)).toBe(true)
  insert('x', OTHER)
  expect(started).toEqual(['a', 'b', 'c', 'x'])
})

test('[PA15] free slots go to the tenants that wait in turn', async () => {
  const { started, ends, take, insert } = makeSlots({ concurrency: 1 })
  for (const id of ['a', 'b', 'c']) take(id)
  take('x', OTHER)
  for (const id of ['a', 'b', 'c']) insert(id)
  insert('x', OTHER)
  for (const id of ['a', 'b', 'x']) {
    ends.get(id)?.()
    await Promise.resolve()
  }
  expect(started).toEqual(['a', 'b', 'x', 'c'])
})

test('[O4] events whose insert is not stored yet count toward the byte limit', () => {
  const { jobSlots, take } = makeSlots({ runningBytesMax: 25 })
  expect(['a', 'b', 'c', 'd'].map((id) => take(id))).toEqual([true, true, true, false])
  expect(jobSlots.free()).toBe(0)
  jobSlots.giveBack('a' as WorkId)
  expect(take('e')).toBe(true)
})

test('[O5] beyond its slots a node holds a limited number of jobs, however small they are', () => {
  const { jobSlots, take } = makeSlots()
  let leased = 0
  while (leased < 10_000 && take(`a${leased}`)) leased += 1
  expect(leased).toBe(2 + 2_048)
  expect(jobSlots.free()).toBe(0)
})

test('[O6] a node that stops starts no job that waits for a slot', async () => {
  const { jobSlots, started, ended, ends, take, insert } = makeSlots({ concurrency: 1 })
  for (const id of ['a', 'b', 'c']) take(id)
  insert('a')
  insert('b')
  jobSlots.stop()
  insert('c')
  expect(ended).toEqual(['b', 'c'])
  expect(jobSlots.running()).toBe(1)
  ends.get('a')?.()
  await jobSlots.idle()
  expect(started).toEqual(['a'])
})

test('[O3] a job that is claimed before its insert was answered takes one slot, and leaves none behind', () => {
  const { jobSlots, started, ends, take } = makeSlots()
  take('a')
  const item = makeLeased({ id: 'a' as WorkId, tenant: ACME, epoch: 2 } as Partial<Item['work']>)
  jobSlots.takeAnyway()
  jobSlots.start(item)
  expect(started).toEqual(['a'])
  expect(jobSlots.free()).toBe(1)
  ends.get('a')?.()
  jobSlots.giveBack('a' as WorkId)
  expect(jobSlots.free()).toBe(2)
  expect(jobSlots.running()).toBe(0)
})

test('[PA15] one tenant leases no more than half of the bytes while other tenants have a share', () => {
  const { take, insert } = makeSlots({ concurrency: 4, share: 3, runningBytesMax: 100 })
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  expect(ids.map((id) => take(id))).toEqual([true, true, true, true, true, false])
  expect(take('x', OTHER)).toBe(true)
  insert('x', OTHER)
  expect(take('y', OTHER)).toBe(true)
})
