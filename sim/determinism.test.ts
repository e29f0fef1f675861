// The same seed gives the same run, byte for byte: otherwise a failing seed could not be looked at again.

import { createHash } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import type { StoreKind } from './data.ts'
import { NO_PARTS, type Parts } from './parts.ts'
import { makeRng } from './random.ts'
import { simulate } from './world.ts'

// Each is two runs or four, and what a run takes depends on who else uses the machine.
vi.setConfig({ testTimeout: 180_000 })

const STORES: readonly StoreKind[] = ['memory', 'sqlite']
/** Several nodes and a bus have a test of their own: they take longer. */
const ALONE = { hasFleet: false, hasBus: false }
const PLAIN = { ...ALONE, hasHooks: false, hasConnections: false }

async function traceOf(seed: number, store: StoreKind, parts: Partial<Parts> = {}): Promise<string> {
  const lines: string[] = []
  await simulate({ seed, store, ...parts, onLine: (line) => lines.push(line) })
  return lines.join('\n')
}

describe.each(STORES)('on %s', (store) => {
  test.each([3, 17, 61])('seed %i gives the same trace twice', async (seed) => {
    const first = await traceOf(seed, store, ALONE)
    expect(first.split('\n').length).toBeGreaterThan(100)
    expect(await traceOf(seed, store, ALONE)).toBe(first)
  })

  test('with connections too', async () => {
    const about = { ...ALONE, hasHooks: false, hasConnections: true }
    expect(await traceOf(20, store, about)).toBe(await traceOf(20, store, about))
  })

  test('with several nodes and a bus too', async () => {
    const about = { ...NO_PARTS, hasFleet: true, hasBus: true }
    expect(await traceOf(2, store, about)).toBe(await traceOf(2, store, about))
  })

  test('two runs at once do not disturb each other', async () => {
    const alone = await traceOf(5, store, ALONE)
    const both = [traceOf(5, store, ALONE), traceOf(5, store, ALONE)]
    const [one, two] = await Promise.all(both)
    expect([one, two]).toEqual([alone, alone])
  })
})

test('both stores give the same trace where no fault is special to one of them', async () => {
  const seeds = [1, 2, 3, 4, 5]
  const equal = await Promise.all(
    seeds.map(
      async (seed) => (await traceOf(seed, 'memory', PLAIN)) === (await traceOf(seed, 'sqlite', PLAIN)),
    ),
  )
  expect(equal.filter((isEqual) => isEqual).length).toBeGreaterThan(1)
})

test('traces hold neither stacks nor texts of the machine', async () => {
  const trace = await traceOf(7, 'sqlite', ALONE)
  expect(trace).not.toMatch(/\bat .+\.[tj]s:|node:|Error/)
})

describe('chance', () => {
  test('is pinned: the streams of a seed are the same on every machine', () => {
    const rng = makeRng(42)
    expect([rng.next(), rng.next(), rng.next()]).toEqual([3190597712, 3292068496, 1426336166])
    expect(rng.fork('vendor').int(1_000_000)).toBe(221042)
    const digest = createHash('sha256').update(makeRng('bytes').bytes(4_096)).digest('hex')
    expect(digest).toBe('5d459d6c91724f12a7a5857e9375bc47875351c8bd1d1ab1f0ad7715e3953072')
  })

  test('forks do not depend on what was drawn before', () => {
    const [one, two] = [makeRng(1), makeRng(1)]
    two.next()
    expect(one.fork('a').next()).toBe(two.fork('a').next())
    expect(one.fork('a').next()).not.toBe(one.fork('b').next())
  })

  test('is even enough', () => {
    const rng = makeRng('even')
    const seen = new Map<number, number>()
    for (let draw = 0; draw < 60_000; draw += 1) {
      const face = rng.int(6)
      seen.set(face, (seen.get(face) ?? 0) + 1)
    }
    expect([...seen.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5])
    for (const count of seen.values()) expect(Math.abs(count - 10_000)).toBeLessThan(500)
    expect(Array.from({ length: 1_000 }, () => rng.unit()).every((unit) => unit >= 0 && unit < 1)).toBe(true)
  })
})
