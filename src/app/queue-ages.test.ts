import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { Store } from '../ports/store.ts'
import { noteQueueAges } from './queue-ages.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start(count: number, oldestReadyAt: (tenant: string) => number | null) {
  const noted: [string, number][] = []
  const watch = noteQueueAges({
    store: {
      forTenant: (tenant: TenantId) => ({ oldestReadyAt: async () => oldestReadyAt(tenant) }),
    } as unknown as Store,
    meter: { queueAge: (tenant, ageMs) => noted.push([tenant, ageMs]) },
    now: () => 10_000,
    tenants: async () => Array.from({ length: count }, (_, index) => `t${index}` as TenantId),
  })
  return { watch, noted }
}

test('[FD12] the age of the queue is recorded also while no one watches', async () => {
  const { watch, noted } = start(3, (tenant) => (tenant === 't1' ? null : 4_000))
  await vi.advanceTimersByTimeAsync(2_000)
  expect(noted).toEqual([
    ['t0', 6_000],
    ['t1', 0],
    ['t2', 6_000],
  ])
  watch.close()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(noted).toHaveLength(3)
})

test('[FD12] many tenants alternate', async () => {
  const { watch, noted } = start(50, () => null)
  await vi.advanceTimersByTimeAsync(6_000)
  watch.close()
  expect(noted).toHaveLength(60)
  expect(new Set(noted.map(([tenant]) => tenant)).size).toBe(50)
})

test('[FD12] a store that fails leaves a gap and is asked again', async () => {
  let isBroken = true
  const { watch, noted } = start(1, () => {
    if (isBroken) throw new Error('gone')
    return 9_000
  })
  await vi.advanceTimersByTimeAsync(2_000)
  isBroken = false
  await vi.advanceTimersByTimeAsync(2_000)
  watch.close()
  expect(noted).toEqual([['t0', 1_000]])
})

test('[FD12] a store that takes long is asked less often', async () => {
  const { watch, noted } = start(1, () => {
    vi.advanceTimersByTime(1_000)
    return 9_000
  })
  // The first round begins after 2 s and takes 1 s, so the next one may begin 20 s later.
  await vi.advanceTimersByTimeAsync(2_000)
  expect(noted).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(19_000)
  expect(noted).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(4_000)
  watch.close()
  expect(noted).toHaveLength(2)
})
