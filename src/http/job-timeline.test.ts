import { expect, test } from 'vitest'
import type { WorkId } from '../core/foundation/ids/index.ts'
import { EMPTY_NOTE, type WorkRow } from '../core/queue/work/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { readStories } from './job-timeline.ts'

const item = (index: number) =>
  ({
    ...{ id: `wrk_${index}` as WorkId, tenant: 'acme', kind: 'route', consumer: `route:r${index}` },
    ...{ definition: 'd', codeHash: null, eventId: 'evt_1', state: 'done', dueAt: 0, owner: null, epoch: 1 },
    ...{ alone: false, attempts: 1, waits: 0, losses: 0, ...EMPTY_NOTE, key: `K:${index}`, createdAt: 0 },
    ...{ expiresAt: 1, processedAt: 1, replayOf: null },
  }) as unknown as WorkRow

test('an event with many consumers shows the newest fifty, read a few at a time', async () => {
  let running = 0
  let most = 0
  let asked = 0
  const answer = async <Value>(value: Value): Promise<Value> => {
    asked += 1
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => setImmediate(resolve))
    running -= 1
    return value
  }
  const reads = { attempts: () => answer([]), ledger: () => answer(null) } as unknown as TenantReads
  const work = Array.from({ length: 120 }, (_, index) => item(index))
  const stories = await readStories(reads, work)
  expect(stories.map(({ id }) => id)).toEqual(work.slice(70).map(({ id }) => id))
  expect(asked).toBe(100)
  expect(most).toBe(20)
  expect(await readStories(reads, work.slice(0, 3))).toHaveLength(3)
})

test('[CN9] a waiting job shows how many are before it and which job blocks its lane', async () => {
  const named = (id: string, extra: object) =>
    ({ ...item(0), id, lane: 'order-7', key: null, ...extra }) as WorkRow
  const waiting = ['wrk_a', 'wrk_b', 'wrk_c'].map((id) => named(id, { state: 'waiting' }))
  const holders = [named('wrk_x', { lane: 'order-8', state: 'dead' }), named('wrk_dead', { state: 'dead' })]
  const reads = {
    attempts: async () => [],
    laneWaiting: async () => waiting,
    laneHolders: async () => ({ items: holders, nextCursor: null }),
  } as unknown as TenantReads
  const turns = (await readStories(reads, waiting)).map(({ turn }) => turn)
  expect(turns).toEqual([
    { ahead: 0, behind: null, heldBy: 'wrk_dead' },
    { ahead: 1, behind: 'wrk_a', heldBy: 'wrk_dead' },
    { ahead: 2, behind: 'wrk_b', heldBy: 'wrk_dead' },
  ])
})

test('[CN9] a batch shows its members, a member its batch', async () => {
  const member = { ...item(1), state: 'merged', into: 'wrk_0' } as WorkRow
  const batch = { ...item(0), kind: 'batch', state: 'leased' } as WorkRow
  const reads = {
    attempts: async () => [],
    ledger: async () => null,
    workMerged: async () => [member],
  } as unknown as TenantReads
  const [told, of] = await readStories(reads, [batch, member])
  expect(told?.members).toEqual([{ id: 'wrk_1', eventId: 'evt_1', state: 'merged', key: 'K:1' }])
  expect(of?.into).toBe('wrk_0')
})
