// Permits of one or two nodes: one memory store, manual time.

import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { Limits, SharedBucket } from '../../core/flow-control/rate/index.ts'
import { DEFAULT_TENANT, type NodeId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { Commit, Store } from '../../ports/store.ts'
import { makeCommits } from '../commit/commits.ts'
import { makeStoreTime } from '../commit/store-time.ts'
import { makeWorld, type World } from '../engine.fixture.ts'
import { makeSharedPermits, type SharedPermits } from './shared-permits.ts'

const NAME = { tenant: DEFAULT_TENANT, key: 'connection/shop/default' }
/** One request acquires up to 8 of them. */
const POLICY = { perMinute: 60, burst: 64 }

interface Drawing {
  readonly sharedPermits: SharedPermits
  readonly commits: readonly Commit[]
  acquire(): Promise<void>
  reportResult(isLimited: boolean, remaining?: number): void
}

function makeDrawing(
  world: World,
  name: string,
  hold: (pass: () => void) => void = (pass) => pass(),
): Drawing {
  const commits: Commit[] = []
  const log = makeMemoryLog()
  const store: Store = {
    ...world.store,
    async commit(commit) {
      commits.push(commit)
      await new Promise<void>((resolve) => hold(resolve))
      return world.store.commit(commit)
    },
  }
  const time = makeStoreTime(world.clock)
  const sharedPermits = makeSharedPermits(
    {
      store,
      log,
      clock: world.clock,
      time,
      random: { unit: () => 0.5, bytes: (count) => new Uint8Array(count) },
      commits: makeCommits({
        store,
        clock: world.clock,
        time,
        log,
        onLost: () => {},
        onApplied: () => {},
      }),
      wake: () => {},
      changed: () => {},
    },
    { node: name as NodeId },
  )
  return {
    sharedPermits,
    commits,
    async acquire() {
      const drawing = sharedPermits.acquire(NAME, POLICY, { isFull: true })
      await world.pass()
      await drawing
    },
    reportResult(isLimited, remaining) {
      const limits: Limits | null =
        remaining === undefined
          ? null
          : { limit: null, remaining, resetAt: world.now() + MINUTE, retryAfterMs: null }
      sharedPermits.reportResult(NAME, POLICY, { at: world.now(), by: '', isLimited, limits, jitter: 0 })
    },
  }
}

/** Twice within a second acquires more than one. */
async function makeFull(world: World, name = 'one', hold?: (pass: () => void) => void) {
  const drawing = makeDrawing(world, name, hold)
  await drawing.acquire()
  drawing.sharedPermits.use(NAME, POLICY)
  await drawing.acquire()
  expect(drawing.sharedPermits.room(NAME, POLICY)).toBe(2)
  return drawing
}

describe('a closed bucket', () => {
  test('[RB2] a permit that is returned after a refusal is not used', async () => {
    const world = makeWorld()
    const { sharedPermits, reportResult } = await makeFull(world)
    const token = sharedPermits.use(NAME, POLICY)
    reportResult(true)
    if (token !== null) sharedPermits.giveBack(NAME, token)
    expect(token).not.toBeNull()
    expect(sharedPermits.closedUntil(NAME)).toBe(world.now() + MINUTE)
    expect(sharedPermits.room(NAME, POLICY)).toBe(0)
    expect(sharedPermits.use(NAME, POLICY)).toBeNull()
    expect(sharedPermits.waitsUntil(NAME, POLICY)).toBe(world.now() + MINUTE)
  })

  test('[RB2] permits of a request in progress at the refusal are not used', async () => {
    const world = makeWorld()
    let isHeld = false
    let release = () => {}
    const { sharedPermits, acquire, reportResult } = await makeFull(world, 'one', (pass) => {
      if (isHeld) release = pass
      else pass()
    })
    sharedPermits.use(NAME, POLICY)
    sharedPermits.use(NAME, POLICY)
    isHeld = true
    const drawing = acquire()
    await world.pass()
    reportResult(true)
    isHeld = false
    release()
    await world.pass()
    await drawing
    expect(sharedPermits.closedUntil(NAME)).toBe(world.now() + MINUTE)
    expect(sharedPermits.room(NAME, POLICY)).toBe(0)
    expect(sharedPermits.use(NAME, POLICY)).toBeNull()
  })

  test('[RB2] [RB5] a refusal on another node discards the permits of this one', async () => {
    const world = makeWorld()
    const one = await makeFull(world)
    const two = makeDrawing(world, 'two')
    two.reportResult(true)
    await world.pass()
    const { items } = await world.reads.records({ kind: 'rate', cursor: null, limit: 20 })
    one.sharedPermits.learn(DEFAULT_TENANT, items)
    expect(one.sharedPermits.room(NAME, POLICY)).toBe(0)
    expect(one.sharedPermits.use(NAME, POLICY)).toBeNull()
  })

  test('[RB2] after its time one permit is a probe, and only that counts until its response', async () => {
    const world = makeWorld()
    const { sharedPermits, acquire, reportResult } = await makeFull(world)
    const early = sharedPermits.use(NAME, POLICY)
    reportResult(true)
    await world.pass(MINUTE)
    await acquire()
    if (early !== null) sharedPermits.giveBack(NAME, early)
    expect(sharedPermits.room(NAME, POLICY)).toBe(1)
    const token = sharedPermits.use(NAME, POLICY)
    expect(token?.tries).not.toBeNull()
    expect(sharedPermits.use(NAME, POLICY)).toBeNull()
    if (token !== null) sharedPermits.giveBack(NAME, token)
    expect(sharedPermits.use(NAME, POLICY)).toEqual(token)
  })
})

describe('the vendor’s remaining quota', () => {
  const written = async (world: World) => {
    const { items } = await world.reads.records({ kind: 'rate', cursor: null, limit: 20 })
    return items.map(({ body }) => (JSON.parse(body) as SharedBucket).windows.map(({ left }) => left))
  }

  test('[RB5] [PA24] is written at once, and then a few times a second however many responses report it', async () => {
    const world = makeWorld()
    const { commits, reportResult } = makeDrawing(world, 'one')
    reportResult(false, 900)
    await world.pass()
    expect(await written(world)).toEqual([[900]])
    for (let left = 899; left >= 800; left -= 1) {
      reportResult(false, left)
      await world.pass(10)
    }
    expect(commits.length).toBeLessThanOrEqual(5)
    await world.pass(250)
    expect(await written(world)).toEqual([[800]])
  })

  test('[PA24] costs no commit if it is no less than known', async () => {
    const world = makeWorld()
    const { commits, reportResult } = makeDrawing(world, 'one')
    reportResult(false, 500)
    await world.pass(300)
    const before = commits.length
    for (const left of [500, 700, 501, 500]) {
      reportResult(false, left)
      await world.pass(300)
    }
    expect([before, commits.length]).toEqual([1, 1])
  })

  test('[PA24] applies on the node that received it before it is written', async () => {
    const world = makeWorld()
    const { sharedPermits, reportResult, acquire } = makeDrawing(world, 'one')
    reportResult(false, 900)
    await world.pass()
    reportResult(false, 0)
    await acquire()
    expect(sharedPermits.room(NAME, POLICY)).toBe(0)
    expect(sharedPermits.waitsUntil(NAME, POLICY)).toBe(world.now() + MINUTE)
  })
})
