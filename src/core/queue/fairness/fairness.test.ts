import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Contender, type Crowd, PRIORITIES, shareOf, shareSlots } from './index.ts'

const crowd = (over: Partial<Crowd> = {}): Crowd => ({
  concurrency: 16,
  tenants: 3,
  running: new Map(),
  hungry: new Set(),
  ...over,
})
const one = (tenant: string, over: Partial<Contender> = {}): Contender => ({
  tenant,
  priority: 'normal',
  max: 100,
  isHungry: false,
  ...over,
})

describe('shares of tenants', () => {
  test.each<[string, Partial<Crowd>, number]>([
    ['has all slots where it is the only one', { tenants: 1, running: new Map([['a', 16]]) }, 16],
    ['leaves an eighth for those who may come', { running: new Map([['a', 3]]) }, 14],
    [
      'halves with one that has work',
      {
        running: new Map([
          ['a', 9],
          ['b', 1],
        ]),
      },
      7,
    ],
    ['halves with one that was left hungry', { running: new Map([['a', 9]]), hungry: new Set(['b']) }, 7],
    [
      'leaves nothing when all are there',
      {
        running: new Map([
          ['a', 9],
          ['b', 1],
        ]),
        hungry: new Set(['c']),
      },
      5,
    ],
    [
      'has one at least',
      {
        concurrency: 1,
        running: new Map([
          ['a', 0],
          ['b', 1],
        ]),
      },
      1,
    ],
  ])('[PA15] a tenant %s', (_name, over, share) => {
    expect(shareOf('a', crowd(over))).toBe(share)
  })

  test('[PA15] the tenant with the fewest slots is served first, and one that has its share not at all', () => {
    const slots = shareSlots(
      [one('a'), one('b'), one('c')],
      crowd({
        running: new Map([
          ['a', 14],
          ['b', 2],
        ]),
      }),
      8,
      0,
    )
    expect(slots.map(({ tenant, room }) => [tenant, room])).toEqual([
      ['c', 5],
      ['b', 5],
    ])
  })

  test('[PA15] the only active tenant gets all free slots for each of its consumers', () => {
    const slots = shareSlots(
      [one('a'), one('a', { max: 2 }), one('a', { max: 0 })],
      crowd({ tenants: 1 }),
      8,
      0,
    )
    expect(slots.map(({ room }) => room)).toEqual([8, 2])
  })

  const contender = fc.record({
    tenant: fc.constantFrom('a', 'b', 'c', 'd'),
    priority: fc.constantFrom(...PRIORITIES),
    max: fc.nat(40),
    isHungry: fc.boolean(),
  })
  const any = fc.record({
    concurrency: fc.integer({ min: 1, max: 64 }),
    running: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 20 })), {
      maxLength: 4,
    }),
    hungry: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')),
    contenders: fc.array(contender, { maxLength: 30 }),
    free: fc.integer({ min: 1, max: 64 }),
    turn: fc.nat(1_000),
  })

  test('[PA15] after any claims, no tenant exceeds its share, and none is offered more than it can take', () => {
    fc.assert(
      fc.property(any, ({ concurrency, running, hungry, contenders, free, turn }) => {
        const around = crowd({ concurrency, tenants: 4, running: new Map(running), hungry: new Set(hungry) })
        const rooms = new Map<string, number>()
        for (const slot of shareSlots(contenders, around, free, turn)) {
          expect(slot.room).toBeGreaterThanOrEqual(1)
          expect(slot.room).toBeLessThanOrEqual(Math.min(slot.max, free))
          rooms.set(slot.tenant, (rooms.get(slot.tenant) ?? 0) + slot.room)
        }
        for (const [tenant, room] of rooms) {
          expect(room + (around.running.get(tenant) ?? 0)).toBeLessThanOrEqual(shareOf(tenant, around))
        }
      }),
    )
  })
})

describe('priorities', () => {
  const all = PRIORITIES.map((priority) => one('a', { priority }))

  test('[PA16] high is first most often, and each is first within seven rounds', () => {
    const firsts = Array.from(
      { length: 7 },
      (_, turn) => shareSlots(all, crowd({ tenants: 1 }), 4, turn)[0]?.priority,
    )
    expect(firsts.filter((name) => name === 'high')).toHaveLength(4)
    expect(firsts.filter((name) => name === 'normal')).toHaveLength(2)
    expect(firsts.filter((name) => name === 'low')).toHaveLength(1)
  })

  test('[PA16] with an endless queue, every consumer is served within a bounded number of rounds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PRIORITIES), { minLength: 1, maxLength: 12 }),
        fc.nat(500),
        (list, first) => {
          const contenders = list.map((priority, index) => ({ ...one('a', { priority }), index }))
          const served = new Set<number>()
          for (let turn = first; turn < first + 7 * 12; turn += 1) {
            // The first consumer takes everything.
            served.add(shareSlots(contenders, crowd({ tenants: 1 }), 4, turn)[0]!.index)
          }
          expect(served.size).toBe(list.length)
        },
      ),
    )
  })
})
