import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type CallFacts,
  type CallVerdict,
  classifyCall,
  FAILURE_CLASSES,
  type FailureClass,
  parseRetryAfter,
  REPORTED_AS,
} from './index.ts'

const STATUSES = Array.from({ length: 500 }, (_, index) => index + 100)
const spec = readFileSync(new URL('../../../../docs/spec/failure-classes.md', import.meta.url), 'utf8')

const answered = (status: number, retryAfterMs: number | null = null): CallFacts => ({
  kind: 'response',
  status,
  retryAfterMs,
})
const broken = (sent: 'no' | 'maybe', code: string): CallFacts => ({ kind: 'failed', sent, code })
const verdict = (
  facts: CallFacts,
  idempotent: boolean,
  classify: Record<string, FailureClass | 'done'> = {},
) => classifyCall(facts, { idempotent, classify })
const failed = (as: FailureClass, effect: 'none' | 'maybe'): Partial<CallVerdict> => ({
  as: 'failed',
  class: as,
  effect,
})

/** The table of statuses, written independently of the code. */
function expected(status: number, idempotent: boolean): Partial<CallVerdict> {
  if (status >= 200 && status < 300) return { as: 'done' }
  if (status === 401 || status === 403) return failed('auth', 'none')
  if ([404, 405, 410, 501].includes(status)) return failed('config', 'none')
  if ([408, 425, 503].includes(status)) return failed('transient', 'none')
  if (status === 429) return failed('rate_limited', 'none')
  if (status < 400) return failed('config', 'none')
  if (status < 500) return failed('validation', 'none')
  return failed(idempotent ? 'transient' : 'unknown', 'maybe')
}

describe('a status', () => {
  test.each([true, false])('[C4] means what the table says, for every one (idempotent: %s)', (idempotent) => {
    for (const status of STATUSES) {
      expect(verdict(answered(status), idempotent), String(status)).toMatchObject(
        expected(status, idempotent),
      )
    }
  })

  test('[C4] the table of the specification is the table of the code', () => {
    const seen = new Set<number>()
    const rows = [...spec.matchAll(/^\| ([\d–, ]+|other [\d–]+) *\| *(.+?) *\| *(\w*) *\|$/gm)]
    expect(rows).toHaveLength(8)
    for (const [, range, meaning, effect] of rows) {
      const isRest = range?.startsWith('other ') === true
      for (const part of range!.replace('other ', '').split(',')) {
        const [from = 0, to = from] = part.split('–').map(Number)
        for (let status = from; status <= to; status += 1) {
          if (isRest && seen.has(status)) continue
          seen.add(status)
          for (const idempotent of [true, false]) {
            const got = verdict(answered(status), idempotent)
            const classes = [...meaning!.matchAll(/`(\w+)`/g)].map((match) => match[1])
            const word = classes.length === 2 ? classes[idempotent ? 0 : 1] : (classes[0] ?? meaning)
            expect(got.as === 'done' ? 'done' : got.class, String(status)).toBe(word)
            expect(got.as === 'done' ? '' : got.effect, String(status)).toBe(effect)
          }
        }
      }
    }
    expect(seen.size).toBe(500)
  })

  test('[C3] every refinement wins over the table, for every status', () => {
    for (const status of STATUSES) {
      for (const refined of [...FAILURE_CLASSES, 'done'] as const) {
        for (const idempotent of [true, false]) {
          const want =
            refined === 'done' ? { as: 'done' } : failed(refined, refined === 'unknown' ? 'maybe' : 'none')
          const got = verdict(answered(status), idempotent, { [status]: refined })
          expect(got, `${status} as ${refined}`).toMatchObject(want)
        }
      }
    }
  })

  test('[C3] a refinement of one status leaves the others alone', () => {
    const number = fc.integer({ min: 100, max: 599 })
    fc.assert(
      fc.property(number, number, fc.boolean(), (status, other, idempotent) => {
        fc.pre(status !== other)
        expect(verdict(answered(status), idempotent, { [other]: 'done' })).toEqual(
          verdict(answered(status), idempotent),
        )
      }),
      { seed: 31 },
    )
  })

  test('the endpoint’s requested delay is respected where a retry is possible', () => {
    for (const status of [408, 425, 429, 500, 502, 503, 504]) {
      expect(verdict(answered(status, 7_000), true), String(status)).toMatchObject({ retryAfterMs: 7_000 })
    }
    for (const status of [302, 400, 409, 422]) {
      expect(verdict(answered(status, 7_000), true), String(status)).toMatchObject({ retryAfterMs: null })
    }
  })
})

const CODES = [
  'refused',
  'unresolved',
  'blocked',
  'tls',
  'reset',
  'timeout',
  'too_large',
  'protocol',
  'bad_url',
] as const

describe('a call without an answer', () => {
  test.each(CODES)('[C5] %s before sending had no effect', (code) => {
    const as = code === 'blocked' || code === 'bad_url' ? 'config' : 'transient'
    for (const idempotent of [true, false]) {
      expect(verdict(broken('no', code), idempotent)).toMatchObject(failed(as, 'none'))
    }
  })

  test.each(CODES)('[C2] %s after sending may have had its effect', (code) => {
    expect(verdict(broken('maybe', code), true)).toMatchObject(failed('transient', 'maybe'))
    expect(verdict(broken('maybe', code), false)).toMatchObject(failed('unknown', 'maybe'))
  })
})

test('[C1] [C2] known and unknown outcomes, for any call result and refinement', () => {
  const facts: fc.Arbitrary<CallFacts> = fc.oneof(
    fc.record({
      kind: fc.constant('response' as const),
      status: fc.integer({ min: 100, max: 599 }),
      retryAfterMs: fc.option(fc.nat()),
    }),
    fc.record({
      kind: fc.constant('failed' as const),
      sent: fc.constantFrom('no' as const, 'maybe' as const),
      code: fc.constantFrom(...CODES),
    }),
  )
  const classify = fc.dictionary(
    fc.integer({ min: 100, max: 599 }).map(String),
    fc.constantFrom(...FAILURE_CLASSES, 'done' as const),
    { maxKeys: 3 },
  )
  fc.assert(
    fc.property(facts, fc.boolean(), classify, (fact, idempotent, refined) => {
      const got = classifyCall(fact, { idempotent, classify: refined })
      if (got.as === 'done') {
        expect(fact.kind).toBe('response')
        return
      }
      const said = fact.kind === 'response' ? refined[fact.status] : undefined
      if (got.effect === 'none') {
        // Nothing was sent, or the definition or the protocol says so for the status.
        const proven =
          fact.kind === 'failed'
            ? fact.sent === 'no'
            : said !== undefined || fact.status < 500 || fact.status === 501 || fact.status === 503
        expect(proven).toBe(true)
      } else {
        expect(fact.kind === 'failed' ? fact.sent : 'maybe').toBe('maybe')
        if (said === undefined) expect(got.class).toBe(idempotent ? 'transient' : 'unknown')
      }
      if (got.class === 'unknown') expect(got.effect).toBe('maybe')
    }),
    { seed: 30, numRuns: 2_000 },
  )
})

test('[C6] the table of classes is the table of the code', () => {
  const rows = [...spec.matchAll(/^\| `(\w+)` *\|.+\| *`([A-Z_]+)` *\|$/gm)].map((row) => [row[1], row[2]])
  expect(rows).toEqual(FAILURE_CLASSES.map((name) => [name, REPORTED_AS[name]]))
})

describe('Retry-After', () => {
  const now = Date.UTC(1994, 10, 6, 8, 49, 0)

  test.each([
    [undefined, null],
    ['', null],
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5_000],
    ['999999999', 999_999_999_000],
    ['1234567890', 999_999_999_000],
    ['9'.repeat(400), 999_999_999_000],
    ['-5', null],
    ['1.5', null],
    ['in 5', null],
    ['120, 120', null],
    ['soon', null],
    ['2024-01-01', null],
    ['1994-11-06T08:49:37Z', null],
    ['Sun, 06 Nov 1994 08:49:37', null],
    ['Sun, 06 Nov 1994 08:49:37 PST', null],
    ['Sun, 99 Nov 1994 08:49:37 GMT', null],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
    ['Sun, 06 Nov 1994 08:48:37 GMT', 0],
  ])('[C7] %j is %j', (text, ms) => {
    expect(parseRetryAfter(text, now)).toBe(ms)
  })

  test('[C7] no form depends on the machine’s time zone', () => {
    const parse = vi.spyOn(Date, 'parse')
    onTestFinished(() => parse.mockRestore())
    parseRetryAfter('Sun Nov  6 08:49:37 1994', now)
    expect(parse.mock.calls).toEqual([['Sun Nov  6 08:49:37 1994 GMT']])
  })

  test('[C7] any text gives null or a whole, non-negative delay', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer().map(String)), (text) => {
        const ms = parseRetryAfter(text, now)
        expect(ms === null || (Number.isInteger(ms) && ms >= 0)).toBe(true)
      }),
      { seed: 32, numRuns: 1_000 },
    )
  })
})
