import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { Store, TenantReads } from '../../../ports/store.ts'
import { makeRemovals } from './removed-subscriptions.ts'

type WorkList = TenantReads['workList']

test('[SU7] an empty page is not the end of the open deliveries, and leased ones are not asked for again and again', async () => {
  let open = 3
  let isHeld = true
  let reads = 0
  const timers: (() => void)[] = []
  let now = 0
  const workList: WorkList = async ({ state, cursor }) => {
    reads += 1
    if (state !== 'ready') return { items: [], nextCursor: null }
    // Like a store that has scanned as many rows as it may.
    if (cursor === null) return { items: [], nextCursor: 'on' }
    const items = Array.from({ length: open }, (_, n) => ({ id: `wrk_${n}`, state: 'ready' }) as WorkRow)
    return { items, nextCursor: null }
  }
  const own = {
    workList,
    openCounts: async () => [{ consumer: '', ready: open, waiting: 0, leased: isHeld ? 100 : 0 }],
    event: async () => ({ id: 'evt_1' }),
    records: async () => ({ items: [], nextCursor: null }),
    record: async () => ({ version: 7, body: '{"at":0}' }),
  } as unknown as TenantReads
  const ended: string[] = []
  const removals = makeRemovals({
    store: { forTenant: () => own } as unknown as Store,
    clock: {
      now: () => now,
      monotonic: () => now,
      defer: queueMicrotask,
      after(_ms, callback) {
        timers.push(callback)
        return () => {}
      },
    },
    log: { info: (name: string) => ended.push(name), warn() {} } as never,
    registry: { subscription: () => null },
    commits: { once: async () => ({ ok: true }) } as never,
    settler: {
      settleUnheld: async () => {
        open -= 1
        return { ok: true } as never
      },
    },
    signing: { forget: async () => {} },
    tenants: async () => [],
    refresh: async () => {},
    left: () => [],
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  removals.start(true)
  removals.begin(DEFAULT_TENANT, 'crm', true)
  await settle()
  expect([open, reads, ended]).toEqual([0, 3, []])
  now = 60_000
  for (const timer of timers.splice(0)) timer()
  await settle()
  expect([reads, ended]).toEqual([6, []])
  isHeld = false
  for (const timer of timers.splice(0)) timer()
  await settle()
  expect(ended).toEqual(['subscription.deliveries-cancelled'])
  await removals.stop()
})
