import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeNodePermits, type Token } from './node-permits.ts'

const token = (from: number, until: number, tries: string | null = null): Token => ({ from, until, tries })
const many = (count: number, from: number, until: number) =>
  Array.from({ length: count }, () => token(from, until))

test('[PA19] a permit is used no sooner than it is valid, once, and not after it expired', () => {
  const permits = makeNodePermits()
  permits.add([...many(2, 10, 60), token(20, 70)])
  expect([permits.usable(5), permits.use(5), permits.count()]).toEqual([0, null, 3])
  expect([permits.usable(10), permits.use(10), permits.use(10), permits.use(10)]).toEqual([
    2,
    token(10, 60),
    token(10, 60),
    null,
  ])
  expect([permits.dropLost(69), permits.dropLost(70), permits.count(), permits.use(70)]).toEqual([
    0,
    1,
    0,
    null,
  ])
})

test('[PA19] a permit that was offered stays offered when the known time goes back', () => {
  const permits = makeNodePermits()
  permits.add([token(10, 60), token(30, 80)])
  expect(permits.usable(10)).toBe(1)
  expect([permits.usable(8), permits.use(8), permits.use(8)]).toEqual([1, token(10, 60), null])
})

test('[PA18] permits that become valid soon after the next are waited for together', () => {
  const permits = makeNodePermits()
  permits.add([token(100, 200), token(130, 230), token(151, 251)])
  expect([permits.nextAt(50, 50), permits.nextAt(100, 50)]).toEqual([130, null])
})

test('[RB2] of a closed bucket only its probe is retained', () => {
  const permits = makeNodePermits()
  permits.add([token(0, 50, 'a')])
  permits.giveBack(token(0, 40))
  permits.keepTry('a')
  expect([permits.count(), permits.use(0)]).toEqual([1, token(0, 50, 'a')])
  permits.add([token(0, 50, 'a'), token(5, 55)])
  permits.keepTry(null)
  expect([permits.count(), permits.usable(10), permits.use(10)]).toEqual([0, 0, null])
})

test('[PA19] whatever is acquired, used, returned and expired, no permit exists twice and none is lost early', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('draw' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('use' as const) }),
    fc.record({ do: fc.constant('give-back' as const), which: fc.nat(5) }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 30 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const permits = makeNodePermits()
      let now = 0
      let model: Token[] = []
      const held: Token[] = []
      for (const one of steps) {
        permits.dropLost(now)
        model = model.filter(({ until }) => until > now)
        if (one.do === 'draw' && model.length === 0) {
          const acquired = Array.from({ length: one.count }, (_, n) => token(now + 7 * n, now + 7 * n + 50))
          permits.add(acquired)
          model = acquired
        }
        if (one.do === 'use') {
          const used = permits.use(now)
          expect(used === null).toBe(!model.some(({ from }) => from <= now))
          if (used !== null) {
            held.push(used)
            const place = model.findIndex(({ from, until }) => from === used.from && until === used.until)
            expect(place).toBeGreaterThanOrEqual(0)
            model.splice(place, 1)
          }
        }
        const [back] = one.do === 'give-back' ? held.splice(one.which, 1) : []
        if (back !== undefined && back.until > now) {
          permits.giveBack(back)
          model.push(back)
        }
        if (one.do === 'pass') now += one.ms
        permits.dropLost(now)
        model = model.filter(({ until }) => until > now)
        expect(permits.count()).toBe(model.length)
        expect(permits.usable(now)).toBe(model.filter(({ from }) => from <= now).length)
      }
    }),
  )
})

const WALKS = [
  'filter',
  'find',
  'findIndex',
  'forEach',
  'map',
  'reduce',
  'shift',
  'slice',
  'some',
  'splice',
  'toSpliced',
  Symbol.iterator,
] as const

/** How many elements of arrays are looked at or copied by methods of arrays while `work` runs. */
function countWalked(work: () => void): number {
  const methods = Array.prototype as unknown as Record<string | symbol, (...args: unknown[]) => unknown>
  const before = WALKS.map((name) => [name, methods[name] as (...args: unknown[]) => unknown] as const)
  let walked = 0
  for (const [name, method] of before) {
    methods[name] = function count(this: unknown[], ...args) {
      walked += this.length
      return Reflect.apply(method, this, args)
    }
  }
  try {
    work()
  } finally {
    for (let index = 0; index < before.length; index += 1) {
      const [name, method] = before[index] as (typeof before)[number]
      methods[name] = method
    }
  }
  return walked
}

test('using a permit costs the same however many the node holds', () => {
  const permits = makeNodePermits()
  const acquired = Array.from({ length: 10_000 }, (_, n) => token(n, 20_000))
  permits.add(acquired)
  let used = 0
  const walked = countWalked(() => {
    while (permits.usable(15_000) > 0 && permits.use(15_000) !== null) used += 1
  })
  expect(used).toBe(acquired.length)
  // Copying the list at each use walks fifty million.
  expect(walked).toBeLessThanOrEqual(acquired.length)
})
