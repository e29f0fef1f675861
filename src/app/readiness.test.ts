import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { makeManualTime } from '../engine/engine.fixture.ts'
import { type CommitWatcher, type Store, StoreError } from '../ports/store.ts'
import { watchWrites } from './failed-writes.ts'
import { makeReadiness, type ReadinessDeps } from './readiness.ts'

function make(over: Partial<ReadinessDeps> = {}) {
  const time = makeManualTime()
  const world = { isStarted: true, health: { open: true, alive: true, running: 0 }, looks: 0 }
  const readiness = makeReadiness({
    clock: time.clockFor(() => true),
    isStarted: () => world.isStarted,
    engine: () => world.health,
    look: async () => {
      world.looks += 1
    },
    bus: null,
    writes: { problem: () => null, probe: async () => {} },
    pauses: () => [],
    ...over,
  })
  return { time, world, readiness }
}

test('[ND10] a node is ready from the end of its start until it is asked to stop', async () => {
  const { readiness, world } = make()
  world.isStarted = false
  world.health = { open: false, alive: false, running: 0 }
  expect(await readiness.ask()).toMatchObject({ ready: false, reasons: ['the node is starting'] })
  world.isStarted = true
  world.health = { open: true, alive: true, running: 0 }
  expect(await readiness.ask()).toEqual({
    ready: true,
    reasons: [],
    checks: { store: 'ok', lease: 'held', bus: 'none' },
  })
  readiness.leave()
  expect(await readiness.ask()).toMatchObject({ ready: false, reasons: ['the node is shutting down'] })
})

test('[ND10] a store that fails or does not respond in time makes it not ready, and is checked once a second', async () => {
  let answer: () => Promise<unknown> = () => Promise.reject(new StoreError('unavailable', 'nobody listens'))
  let looks = 0
  const { readiness, time } = make({
    look: () => {
      looks += 1
      return answer()
    },
  })
  const away = { ready: false, checks: { store: 'away' } }
  expect(await readiness.ask()).toMatchObject({ ...away, reasons: ['nobody listens'] })
  await readiness.ask()
  expect(looks).toBe(1)
  await time.pass(1_000)
  answer = () => new Promise(() => {})
  const asked = [readiness.ask(), readiness.ask()]
  await time.pass(2_000)
  for (const one of await Promise.all(asked)) {
    expect(one).toMatchObject({ ...away, reasons: ['the store has not answered within 2 s'] })
  }
  expect(looks).toBe(2)
  await time.pass(1_000)
  answer = async () => null
  expect(await readiness.ask()).toMatchObject({ ready: true, checks: { store: 'ok' } })
})

test('[ND11] a node is not ready without its lease', async () => {
  const { readiness, world } = make()
  world.health = { open: true, alive: false, running: 0 }
  expect(await readiness.ask()).toMatchObject({
    ready: false,
    reasons: ['the node has no lease in the store'],
    checks: { lease: 'lost' },
  })
})

test('[ND12] an unavailable bus is reported, and the node is ready', async () => {
  const status = (isConnected: boolean) => ({
    isConnected,
    version: null,
    isSynced: null,
    tokensBirth: null,
    warnings: [],
  })
  for (const [isConnected, bus] of [
    [true, 'ok'],
    [false, 'away'],
  ] as const) {
    const { readiness } = make({ bus: { status: () => status(isConnected) } })
    expect(await readiness.ask()).toMatchObject({ ready: true, checks: { bus } })
  }
})

test('[ND16] a failed write makes it not ready at once, and a probe finds without traffic that writes succeed again', async () => {
  const world: { failure: StoreError | null } = { failure: null }
  const behind = {
    commit: async () => {
      if (world.failure !== null) throw world.failure
      return { ok: true, at: 0, leased: [] }
    },
  } as unknown as Store
  const { store, writes } = watchWrites(behind)
  const { readiness, time } = make({ writes })
  const put = { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: '{}' } as const
  const write = () => store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [put] })
  await write()
  expect(await readiness.ask()).toMatchObject({ ready: true })
  world.failure = new StoreError('unavailable', 'the disk is full: make room, then send again')
  await expect(write()).rejects.toThrow('full')
  // Within a second of the last check.
  const failed = {
    ready: false,
    reasons: ['the last write failed: the disk is full: make room, then send again'],
    checks: { store: 'away' },
  }
  expect(await readiness.ask()).toMatchObject(failed)
  await time.pass(1_000)
  expect(await readiness.ask()).toMatchObject(failed)
  world.failure = null
  await time.pass(1_000)
  expect(await readiness.ask()).toMatchObject({ ready: true, checks: { store: 'ok' } })
})

test('[ND16] of a store that reports its commits itself, the reports say whether writes succeed', async () => {
  let reports: CommitWatcher | null = null
  const behind = {
    commit: async () => ({ ok: true, at: 0, leased: [] }),
    watchCommits: (watcher: CommitWatcher) => {
      reports = watcher
    },
  } as unknown as Store
  const { store, writes } = watchWrites(behind)
  const { settled, failed } = reports as unknown as CommitWatcher
  expect(store.commit).toBe(behind.commit)
  const put = { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: '{}' } as const
  const applied = { ok: true, at: 0, leased: [] } as const
  failed(new StoreError('closed', 'the store is closed'))
  expect(writes.problem()).toBe(null)
  failed(new StoreError('unavailable', 'the disk is full'))
  settled({ tenant: DEFAULT_TENANT, guards: [], writes: [put] }, { ok: false, at: 0, guard: 0, found: null })
  settled({ tenant: DEFAULT_TENANT, guards: [], writes: [] }, applied)
  expect(writes.problem()).toBe('the disk is full')
  settled({ tenant: DEFAULT_TENANT, guards: [], writes: [put] }, applied)
  expect(writes.problem()).toBe(null)
})

test('[ND16] what flushes nothing proves no write', async () => {
  let isFailing = true
  const behind = {
    commit: async () => {
      if (isFailing) throw new StoreError('unavailable', 'the disk is full')
      return { ok: false, at: 0, guard: 0, found: null }
    },
    claim: async () => ({ items: [], nextDueAt: null, now: 0 }),
    renew: async () => 'fenced' as const,
  } as unknown as Store
  const { store, writes } = watchWrites(behind)
  const commit = () => store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [] })
  await commit().catch(() => {})
  isFailing = false
  await commit()
  await store.claim({} as never)
  await store.renew(1 as never, 1)
  expect(writes.problem()).toBe('the disk is full')
})

test('[FN27] code that is refused is noted with what to do, and the node is ready', async () => {
  let refused = 2
  const { readiness } = make({ refusedCode: () => refused })
  expect(await readiness.ask()).toMatchObject({
    ready: true,
    notes: [expect.stringMatching(/^2 bundles of code are refused.*`millrace refused-code`/)],
    checks: { code: 'refused' },
  })
  refused = 0
  expect(await readiness.ask()).toEqual({
    ready: true,
    reasons: [],
    checks: { store: 'ok', lease: 'held', bus: 'none' },
  })
})

test('[DU7] a paused node says why', async () => {
  const { readiness } = make({ pauses: () => ['it is a copy'] })
  expect(await readiness.ask()).toMatchObject({ ready: false, reasons: ['it is a copy'] })
})
