import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExpressionError } from '../../expression/index.ts'
import type { WorkId } from '../../foundation/ids/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { compareVersions, compileLane, type DebounceQuestion, decideDebounce, gathers } from './index.ts'
import { isStale, keepsPlace } from './lane.ts'

const ORDER = { by: 'payload.id' }
const scopeOf = (payload: JsonValue) => ({ payload })

function errorOf(run: () => unknown): ExpressionError {
  try {
    run()
  } catch (error) {
    if (error instanceof ExpressionError) return error
  }
  throw new Error('no ExpressionError')
}

describe('the lane of a route', () => {
  test('[LN1] has width one for order and debounce, and the limit for concurrency', () => {
    const scope = scopeOf({ id: 'a' })
    const debounce = { by: 'payload.id', windowMs: 1, maxWaitMs: 2 }
    expect(compileLane({})).toBeNull()
    expect(compileLane({ concurrency: { limit: 3 } })).toBeNull()
    expect(compileLane({ order: ORDER })?.of(scope)).toEqual({ key: 'a', width: 1 })
    expect(compileLane({ debounce })?.of(scope)).toEqual({ key: 'a', width: 1 })
    expect(compileLane({ order: ORDER, debounce })?.of(scope)).toEqual({ key: 'a', width: 1 })
    expect(compileLane({ concurrency: { limit: 3, by: 'payload.id' } })?.of(scope)).toEqual({
      key: 'a',
      width: 3,
    })
  })

  test.each([
    ['null', null, 'null'],
    ['an empty text', '', 'string'],
    ['a list', [], 'list'],
    ['a map', {}, 'map'],
    ['a text that is too long', 'a'.repeat(1_025), 'string'],
    ['U+0000', 'a\0', 'string'],
  ] as const)('[LN2] %s is not a key', (_name, id, valueType) => {
    const error = errorOf(() => compileLane({ order: ORDER })?.of(scopeOf({ id: id as JsonValue })))
    expect(error).toMatchObject({ path: 'order.by', valueType })
  })

  test.each([
    ['order', { order: ORDER }, true],
    ['order that skips', { order: { ...ORDER, onBlocked: 'skip' } }, false],
    ['concurrency', { concurrency: { limit: 1, by: 'payload.id' } }, false],
    ['debounce', { debounce: { by: 'payload.id', windowMs: 1, maxWaitMs: 1 } }, false],
  ] as const)('[LN4] %s: whether dead and parked jobs keep their lane position', (_name, document, keeps) => {
    const lane = compileLane(document)
    expect(keepsPlace(lane, 'dead')).toBe(keeps)
    expect(keepsPlace(lane, 'parked')).toBe(keeps)
    for (const to of ['done', 'skipped', 'merged', 'cancelled'] as const)
      expect(keepsPlace(lane, to)).toBe(false)
  })
})

describe('versions', () => {
  test.each([
    ['9', '10', -1],
    ['9.10', '9.9', -1],
    ['-3', '2', -1],
    ['-3', '-2.5', -1],
    ['1.50', '1.5', 0],
    ['90071992547409931', '90071992547409932', -1],
    ['2026-01-02T00:00:00Z', '2026-01-10T00:00:00Z', -1],
    ['b', 'a', 1],
    ['10', 'a', -1],
    ['', '', 0],
  ])('[LN3] %s against %s is %i', (a, b, expected) => {
    expect(compareVersions(a, b)).toBe(expected)
    expect(compareVersions(b, a)).toBe(expected === 0 ? 0 : -expected)
  })

  test('[LN3] numbers are compared by their value, at any length', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
        expect(compareVersions(String(a), String(b))).toBe(a < b ? -1 : a > b ? 1 : 0)
      }),
      { seed: 81 },
    )
  })

  test('[LN3] only a version older than the lane’s is late: not an equal one, and not a job without one', () => {
    expect(isStale('1', '2')).toBe(true)
    expect(isStale('2', '2')).toBe(false)
    expect(isStale('3', '2')).toBe(false)
    expect(isStale(null, '2')).toBe(false)
    expect(isStale('1', null)).toBe(false)
  })

  test('[LN3] a list or a map is not a version, and null means none', () => {
    const lane = compileLane({ order: { ...ORDER, version: 'payload.v' } })
    expect(lane?.version?.(scopeOf({ v: 7 }))).toBe('7')
    expect(lane?.version?.(scopeOf({}))).toBeNull()
    expect(errorOf(() => lane?.version?.(scopeOf({ v: [] })))).toMatchObject({ path: 'order.version' })
  })
})

const id = (number: number) => `wrk_${number}` as WorkId
const members = (...createdAt: readonly number[]) =>
  createdAt.map((at, index) => ({ id: id(index + 1), createdAt: at }))

function question(now: number, waiting: readonly number[], changed: Partial<DebounceQuestion> = {}) {
  return {
    policy: { by: 'payload.id', windowMs: 60, maxWaitMs: 600 },
    head: { id: id(0), createdAt: 0 },
    waiting: members(...waiting),
    isCapped: false,
    now,
    ...changed,
  }
}
const FIRST = { by: 'payload.id', windowMs: 60, maxWaitMs: 600, keep: 'first' } as const

describe('debounce', () => {
  test.each([
    ['alone, within its window', question(59, []), { step: 'wait', delayMs: 1 }],
    ['alone, its window over', question(60, []), { step: 'run' }],
    ['another came', question(60, [30]), { step: 'wait', delayMs: 30 }],
    ['quiet since', question(90, [30]), { step: 'freeze', survivor: id(1), superseded: [] }],
    ['three, quiet', question(90, [10, 30]), { step: 'freeze', survivor: id(2), superseded: [id(1)] }],
    ['never quiet, not yet long', question(580, [570]), { step: 'wait', delayMs: 20 }],
    ['never quiet, too long', question(600, [590]), { step: 'freeze', survivor: id(1), superseded: [] }],
    [
      'the first of three stays',
      question(90, [10, 30], { policy: FIRST }),
      { step: 'freeze', survivor: id(0), superseded: [id(1), id(2)] },
    ],
    [
      'more than shown',
      question(40, [10, 20, 30], { isCapped: true }),
      { step: 'thin', survivor: id(3), superseded: [id(1), id(2)] },
    ],
    [
      'more than shown, the first stays',
      question(40, [10, 20, 30], { isCapped: true, policy: FIRST }),
      { step: 'thin', survivor: id(0), superseded: [id(1), id(2)] },
    ],
  ] as const)('[DB1] [DB2] %s', (_name, asked, step) => {
    expect(decideDebounce(asked)).toEqual(step)
  })

  test('[DB1] [DB2] for any arrivals: one runs, the others name it, none waits too long', () => {
    const times = fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 })
    const keep = fc.constantFrom(undefined, 'first' as const)
    fc.assert(
      fc.property(times, keep, fc.integer({ min: 2, max: 5 }), (gaps, kept, shown) => {
        let at = 0
        const arrivals = gaps.map((gap, index) => {
          at += gap % 100
          return { id: id(index + 1), createdAt: at }
        })
        const policy = { ...question(0, []).policy, ...(kept === undefined ? {} : { keep: kept }) }
        const head = { id: id(0), createdAt: 0 }
        const pointers = new Map<WorkId, WorkId>()
        let now = policy.windowMs
        for (;;) {
          const there = arrivals.filter(({ id, createdAt }) => createdAt <= now && !pointers.has(id))
          const waiting = there.slice(0, shown)
          const step = decideDebounce({ policy, head, waiting, isCapped: there.length > shown, now })
          if (step.step === 'wait') {
            expect(step.delayMs).toBeGreaterThan(0)
            now += step.delayMs
            expect(now).toBeLessThanOrEqual(policy.maxWaitMs)
            continue
          }
          if (step.step === 'thin') {
            expect(step.superseded.length).toBeGreaterThan(0)
            for (const one of step.superseded) pointers.set(one, step.survivor)
            continue
          }
          const survivor = step.step === 'run' ? head.id : step.survivor
          const over = step.step === 'run' ? [] : [...step.superseded]
          if (survivor !== head.id) over.push(head.id)
          for (const one of over) pointers.set(one, survivor)
          expect(pointers.has(survivor)).toBe(false)
          for (const one of [head, ...there].map(({ id }) => id)) {
            let end = one
            for (let steps = 0; pointers.has(end) && steps < 50; steps += 1) end = pointers.get(end) as WorkId
            expect(end).toBe(survivor)
          }
          return
        }
      }),
      { seed: 82 },
    )
  })

  test('[DB3] a job that was chosen, or attempted before, gathers no more', () => {
    const fresh = { attempts: 0, waits: 0, losses: 0, isFrozen: false }
    expect(gathers(fresh)).toBe(true)
    expect(gathers({ ...fresh, isFrozen: true })).toBe(false)
    expect(gathers({ ...fresh, attempts: 1 })).toBe(false)
    expect(gathers({ ...fresh, waits: 1 })).toBe(false)
    expect(gathers({ ...fresh, losses: 1 })).toBe(false)
  })
})
