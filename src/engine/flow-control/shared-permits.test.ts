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
import { type Draws, makeDraws } from './shared-permits.ts'

const NAME = { tenant: DEFAULT_TENANT, key: 'connection/shop/default' }
/** One request acquires up to 8 of them. */
const POLICY = { perMinute: 60, burst: 64 }

interface Drawing {
  readonly draws: Draws
  readonly commits: readonly Commit[]
  draw(): Promise<void>
  told(isLimited: boolean, remaining?: number): void
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
  const draws = makeDraws(
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
    draws,
    commits,
    async draw() {
      const drawing = draws.draw(NAME, POLICY, { isFull: true })
      await world.pass()
      await drawing
    },
    told(isLimited, remaining) {
      const limits: Limits | null =
        remaining === undefined
          ? null
          : { limit: null, remaining, resetAt: world.now() + MINUTE, retryAfterMs: null }
      draws.told(NAME, POLICY, { at: world.now(), by: '', isLimited, limits, jitter: 0 })
    },
  }
}

/** Twice within a second acquires more than one. */
async function makeFull(world: World, name = 'one', hold?: (pass: () => void) => void) {
  const drawing = makeDrawing(world, name, hold)
  await drawing.draw()
  drawing.draws.use(NAME, POLICY)
  await drawing.draw()
  expect(drawing.draws.room(NAME, POLICY)).toBe(2)
  return drawing
}

describe('a closed bucket', () => {
  test('[RB2] a permit that is returned after a refusal is not used', async () => {
    const world = makeWorld()
    const { draws, told } = await makeFull(world)
    const token = draws.use(NAME, POLICY)
    told(true)
    if (token !== null) draws.giveBack(NAME, token)
    expect(token).not.toBeNull()
    expect(draws.closedUntil(NAME)).toBe(world.now() + MINUTE)
    expect(draws.room(NAME, POLICY)).toBe(0)
    expect(draws.use(NAME, POLICY)).toBeNull()
    expect(draws.waitsUntil(NAME, POLICY)).toBe(world.now() + MINUTE)
  })

  test('[RB2] permits of a request in progress at the refusal are not used', async () => {
    const world = makeWorld()
    let isHeld = false
    let release = () => {}
    const { draws, draw, told } = await makeFull(world, 'one', (pass) => {
      if (isHeld) release = pass
      else pass()
    })
    draws.use(NAME, POLICY)
    draws.use(NAME, POLICY)
    isHeld = true
    const drawing = draw()
    await world.pass()
    told(true)
    isHeld = false
    release()
    await world.pass()
    await drawing
    expect(draws.closedUntil(NAME)).toBe(world.now() + MINUTE)
    expect(draws.room(NAME, POLICY)).toBe(0)
    expect(draws.use(NAME, POLICY)).toBeNull()
  })

  test('[RB2] [RB5] a refusal on another node discards the permits of this one', async () => {
    const world = makeWorld()
    const one = await makeFull(world)
    const two = makeDrawing(world, 'two')
    two.told(true)
    await world.pass()
    const { items } = await world.reads.records({ kind: 'rate', cursor: null, limit: 20 })
    one.draws.learn(DEFAULT_TENANT, items)
    expect(one.draws.room(NAME, POLICY)).toBe(0)
    expect(one.draws.use(NAME, POLICY)).toBeNull()
  })

  test('[RB2] after its time one permit is a probe, and only that counts until its response', async () => {
    const world = makeWorld()
    const { draws, draw, told } = await makeFull(world)
    const early = draws.use(NAME, POLICY)
    told(true)
    await world.pass(MINUTE)
    await draw()
    if (early !== null) draws.giveBack(NAME, early)
    expect(draws.room(NAME, POLICY)).toBe(1)
    const token = draws.use(NAME, POLICY)
    expect(token?.tries).not.toBeNull()
    expect(draws.use(NAME, POLICY)).toBeNull()
    if (token !== null) draws.giveBack(NAME, token)
    expect(draws.use(NAME, POLICY)).toEqual(token)
  })
})

describe('the vendor’s remaining quota', () => {
  const written = async (world: World) => {
    const { items } = await world.reads.records({ kind: 'rate', cursor: null, limit: 20 })
    return items.map(({ body }) => (JSON.parse(body) as SharedBucket).windows.map(({ left }) => left))
  }

  test('[RB5] [PA24] is written at once, and then a few times a second however many responses report it', async () => {
    const world = makeWorld()
    const { commits, told } = makeDrawing(world, 'one')
    told(false, 900)
    await world.pass()
    expect(await written(world)).toEqual([[900]])
    for (let left = 899; left >= 800; left -= 1) {
      told(false, left)
      await world.pass(10)
    }
    expect(commits.length).toBeLessThanOrEqual(5)
    await world.pass(250)
    expect(await written(world)).toEqual([[800]])
  })

  test('[PA24] costs no commit if it is no less than known', async () => {
    const world = makeWorld()
    const { commits, told } = makeDrawing(world, 'one')
    told(false, 500)
    await world.pass(300)
    const before = commits.length
    for (const left of [500, 700, 501, 500]) {
      told(false, left)
      await world.pass(300)
    }
    expect([before, commits.length]).toEqual([1, 1])
  })

  test('[PA24] applies on the node that received it before it is written', async () => {
    const world = makeWorld()
    const { draws, told, draw } = makeDrawing(world, 'one')
    told(false, 900)
    await world.pass()
    told(false, 0)
    await draw()
    expect(draws.room(NAME, POLICY)).toBe(0)
    expect(draws.waitsUntil(NAME, POLICY)).toBe(world.now() + MINUTE)
  })
})
