import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RETRY_CAUSES, type RetryPolicy } from '../../definitions/documents/index.ts'
import { DEAD_LETTER_REASONS } from '../../failures/dead-letter/index.ts'
import { FAILURE_CLASSES, type FailureClass } from '../../failures/failure/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  type Counters,
  decideExhausted,
  decideFailure,
  type FailureQuestion,
  type FailureStep,
  LOSSES_MAX,
  WORK_STATES,
  WORK_STEPS,
} from './index.ts'

const NOW = 1_000_000
const POLICY: RetryPolicy = { profile: null, attempts: 3, delaysMs: [MINUTE, 2 * MINUTE] }
const ONLY_WAITS: RetryPolicy = { ...POLICY, retryOn: ['rate_limited'] }
const ONLY_TRANSIENT: RetryPolicy = { ...POLICY, retryOn: ['transient'] }
const ONLY_TIMEOUT: RetryPolicy = { ...POLICY, retryOn: ['timeout'] }
const FIRST: Counters = { attempts: 1, waits: 0, losses: 0 }

const ask = (known: Partial<FailureQuestion>): FailureStep =>
  decideFailure({
    class: 'transient',
    effect: 'none',
    idempotent: false,
    canRepeat: false,
    probeAfterMs: null,
    counters: FIRST,
    policy: POLICY,
    retryAfterMs: null,
    jitter: 0.5,
    now: NOW,
    expiresAt: NOW + DAY,
    ...known,
  })

const again = (delayMs: number, counters: Counters = FIRST): FailureStep => ({
  step: 'again',
  delayMs,
  counters,
})
const dead = (reason: 'rejected' | 'crash_loop' | 'cap_reached' | 'expired'): FailureStep => ({
  step: 'dead',
  reason,
})
const PARK: FailureStep = { step: 'park' }
const LAST: Counters = { attempts: 3, waits: 4, losses: 1 }
const SOON = NOW + 30 * SECOND

const rows: readonly (readonly [name: string, question: Partial<FailureQuestion>, step: FailureStep])[] = [
  ['[W1] auth', { class: 'auth' }, dead('rejected')],
  ['[W1] config', { class: 'config' }, dead('rejected')],
  ['[W1] validation', { class: 'validation' }, dead('rejected')],
  ['[W1] poison', { class: 'poison' }, dead('crash_loop')],
  [
    '[W1] rejected even when the other side asks to come again',
    { class: 'validation', retryAfterMs: 1 },
    dead('rejected'),
  ],
  ['[W2] the first failure', {}, again(MINUTE)],
  [
    '[W2] the second failure',
    { counters: { ...FIRST, attempts: 2 } },
    again(2 * MINUTE, { ...FIRST, attempts: 2 }),
  ],
  ['[W2] the last failure', { counters: LAST }, dead('cap_reached')],
  ['[W2] the last failure, asked to come again', { counters: LAST, retryAfterMs: 5 }, dead('cap_reached')],
  ['[W2] asked to come later than planned', { retryAfterMs: HOUR }, again(HOUR * 1.05)],
  [
    '[W3] [W6] a closed bucket that says when',
    { class: 'rate_limited', retryAfterMs: 10 * SECOND, jitter: 0 },
    again(10 * SECOND, { attempts: 0, waits: 1, losses: 0 }),
  ],
  [
    '[W6] a closed bucket, spread',
    { class: 'rate_limited', retryAfterMs: 10 * SECOND },
    again(10.5 * SECOND, { attempts: 0, waits: 1, losses: 0 }),
  ],
  [
    '[W6] a closed bucket that does not say when',
    { class: 'rate_limited', jitter: 0 },
    again(MINUTE, { attempts: 0, waits: 1, losses: 0 }),
  ],
  [
    '[W6] a closed bucket that says at once',
    { class: 'rate_limited', retryAfterMs: 0, jitter: 0 },
    again(SECOND, { attempts: 0, waits: 1, losses: 0 }),
  ],
  [
    '[W3] a closed bucket at the last attempt gives it back',
    { class: 'rate_limited', counters: LAST, retryAfterMs: 1_000, jitter: 0 },
    again(SECOND, { attempts: 2, waits: 5, losses: 1 }),
  ],
  [
    '[W6] a bucket closed for years is looked at again the next day',
    { class: 'rate_limited', retryAfterMs: 400 * DAY, jitter: 0, expiresAt: NOW + 2 * DAY },
    again(DAY, { attempts: 0, waits: 1, losses: 0 }),
  ],
  [
    '[W4] a bucket closed for too long',
    { class: 'rate_limited', retryAfterMs: MINUTE, expiresAt: SOON },
    dead('expired'),
  ],
  ['[W4] a retry that would come too late', { expiresAt: SOON }, dead('expired')],
  ['[W4] a retry that would come at the very end', { expiresAt: NOW + MINUTE }, dead('expired')],
  ['[W4] a retry just before the end', { expiresAt: NOW + MINUTE + 1 }, again(MINUTE)],
  ['[W5] doubt without any means', { class: 'unknown', effect: 'maybe' }, PARK],
  [
    '[W5] doubt in a retry that would come too late',
    { class: 'unknown', effect: 'maybe', canRepeat: true, expiresAt: SOON },
    PARK,
  ],
  [
    '[W5] doubt after the last attempt',
    { class: 'unknown', effect: 'maybe', canRepeat: true, counters: LAST },
    PARK,
  ],
  [
    '[W5] a repeat that was refused says nothing of the call before it',
    { class: 'validation', effect: 'maybe', canRepeat: true },
    PARK,
  ],
  [
    '[W5] doubt behind a bucket closed for too long',
    { class: 'rate_limited', effect: 'maybe', canRepeat: true, expiresAt: SOON },
    PARK,
  ],
  ['[T10] a class that is not listed is not retried', { policy: ONLY_WAITS }, dead('rejected')],
  ['[T10] a class that is listed is', { policy: ONLY_TRANSIENT }, again(MINUTE)],
  [
    '[T10] a refusal for its rate that is not listed',
    { class: 'rate_limited', policy: ONLY_TRANSIENT },
    dead('rejected'),
  ],
  ['[T10] a timeout counts whatever its class', { isTimeout: true, policy: ONLY_TIMEOUT }, again(MINUTE)],
  ['[T10] a failure that was no timeout', { policy: ONLY_TIMEOUT }, dead('rejected')],
  ['[T10] a timeout of a listed class', { isTimeout: true, policy: ONLY_TRANSIENT }, again(MINUTE)],
  [
    '[T11] an unknown outcome that is not listed is parked, never dead',
    { class: 'unknown', effect: 'maybe', canRepeat: true, policy: ONLY_TRANSIENT },
    PARK,
  ],
  [
    '[T11] a refused repetition after an unknown outcome is parked as well',
    { class: 'rate_limited', effect: 'maybe', canRepeat: true, policy: ONLY_TRANSIENT },
    PARK,
  ],
  [
    '[T11] the vendor is asked whether the effect exists, listed or not',
    { class: 'unknown', effect: 'maybe', probeAfterMs: 5, policy: ONLY_WAITS },
    again(5),
  ],
  [
    '[T10] listing a class makes no outcome safe to repeat',
    { class: 'unknown', effect: 'maybe', policy: { ...POLICY, retryOn: ['unknown', 'timeout'] } },
    PARK,
  ],
  [
    '[W5] harmless doubt dies at the cap',
    { effect: 'maybe', idempotent: true, counters: LAST },
    dead('cap_reached'),
  ],
  ['[W8] harmless doubt is repeated', { effect: 'maybe', idempotent: true }, again(MINUTE)],
  [
    '[W8] doubt that the vendor can dedup is repeated',
    { class: 'unknown', effect: 'maybe', canRepeat: true },
    again(MINUTE),
  ],
  [
    '[W7] doubt that can be asked about',
    { class: 'unknown', effect: 'maybe', probeAfterMs: 5 * SECOND },
    again(5 * SECOND),
  ],
  [
    '[W7] asking needs no attempt',
    { class: 'unknown', effect: 'maybe', probeAfterMs: 5 * SECOND, counters: LAST },
    again(5 * SECOND, LAST),
  ],
  [
    '[W4] [W5] asking that would come too late',
    { class: 'unknown', effect: 'maybe', probeAfterMs: 5 * SECOND, expiresAt: NOW + 5 * SECOND },
    PARK,
  ],
  [
    '[W4] asking about harmless doubt that would come too late',
    { effect: 'maybe', idempotent: true, probeAfterMs: MINUTE, expiresAt: SOON },
    dead('expired'),
  ],
  ['nobody asks about what had no effect', { probeAfterMs: 5 * SECOND }, again(MINUTE)],
]

test.each(rows)('%s', (_name, question, step) => {
  expect(ask(question)).toEqual(step)
})

test.each([
  [true, 'cap_reached', PARK],
  [false, 'cap_reached', dead('cap_reached')],
  [true, 'expired', PARK],
  [false, 'expired', dead('expired')],
  [true, 'crash_loop', PARK],
  [false, 'crash_loop', dead('crash_loop')],
] as const)('[W5] [W9] outcome unknown %s and out of %s', (inDoubt, reason, step) => {
  expect(decideExhausted(inDoubt, reason)).toEqual(step)
})

test('[W9] three crashes are the limit', () => {
  expect(LOSSES_MAX).toBe(3)
})

const delaysOf = fc.array(fc.integer({ min: 0, max: HOUR }), { maxLength: 8 })
const policy: fc.Arbitrary<RetryPolicy> = fc
  .tuple(delaysOf, fc.option(fc.subarray([...RETRY_CAUSES], { minLength: 1 }), { nil: undefined }))
  .map(([delaysMs, retryOn]) => ({
    profile: null,
    attempts: delaysMs.length + 1,
    delaysMs,
    ...(retryOn === undefined ? {} : { retryOn }),
  }))
const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

const question: fc.Arbitrary<FailureQuestion> = fc
  .record({
    class: fc.constantFrom(...FAILURE_CLASSES),
    isTimeout: fc.boolean(),
    effect: fc.constantFrom('none' as const, 'maybe' as const),
    idempotent: fc.boolean(),
    canRepeat: fc.boolean(),
    probeAfterMs: fc.option(fc.nat(HOUR)),
    counters: fc.record({ attempts: fc.integer({ min: 1, max: 9 }), waits: fc.nat(9), losses: fc.nat(3) }),
    policy,
    retryAfterMs: fc.option(fc.nat(2 * DAY)),
    jitter,
    now: fc.constant(NOW),
    leftMs: fc.integer({ min: -HOUR, max: DAY }),
  })
  .map(({ leftMs, ...rest }) => ({ ...rest, expiresAt: NOW + leftMs }))

describe('for any failure', () => {
  const whatever = (seed: number, holds: (asked: FailureQuestion, step: FailureStep) => void): void =>
    fc.assert(
      fc.property(question, (asked) => holds(asked, decideFailure(asked))),
      { seed, numRuns: 5_000 },
    )

  test('[W1] a non-retryable class ends it', () => {
    whatever(50, ({ class: name }, step) => {
      if (['auth', 'config', 'validation', 'poison'].includes(name)) expect(step.step).not.toBe('again')
    })
  })

  test('[W2] [W7] no call is planned after the last one; a probe is not a call', () => {
    whatever(51, (asked, step) => {
      if (step.step !== 'again') return
      const asks = asked.effect === 'maybe' && asked.probeAfterMs !== null
      const calls = step.counters.attempts >= asked.policy.attempts && asked.class !== 'rate_limited'
      if (calls) expect(asks).toBe(true)
    })
  })

  test('[W3] only a closed bucket returns attempts, and nothing else is counted', () => {
    whatever(52, ({ class: name, counters }, step) => {
      if (step.step !== 'again') return
      const limited = { ...counters, attempts: counters.attempts - 1, waits: counters.waits + 1 }
      expect(step.counters).toEqual(name === 'rate_limited' ? limited : counters)
    })
  })

  test('[W4] nothing is due at or after the expiry', () => {
    whatever(53, ({ now, expiresAt }, step) => {
      if (step.step === 'again') expect(now + step.delayMs).toBeLessThan(expiresAt)
    })
  })

  test('[W5] a job that may have had its effect never dies, and no other job is parked', () => {
    whatever(54, ({ effect, idempotent }, step) => {
      const doubt = effect === 'maybe' && !idempotent
      if (step.step === 'dead') expect(doubt).toBe(false)
      if (step.step === 'park') expect(doubt).toBe(true)
    })
  })

  test('[W6] a closed bucket gets the delay that it requests', () => {
    whatever(55, ({ class: name, retryAfterMs }, step) => {
      if (name !== 'rate_limited' || step.step !== 'again') return
      const asked = Math.min(Math.max(retryAfterMs ?? MINUTE, SECOND), DAY)
      expect(step.delayMs).toBeGreaterThanOrEqual(asked)
      expect(step.delayMs).toBeLessThanOrEqual(Math.round(asked * 1.1))
    })
  })

  test('every wait is a whole number and every reason is known', () => {
    whatever(56, (_asked, step) => {
      if (step.step === 'again') expect(Number.isInteger(step.delayMs) && step.delayMs >= 0).toBe(true)
      if (step.step === 'dead') expect(DEAD_LETTER_REASONS).toContain(step.reason)
    })
  })
})

interface Failure {
  readonly class: FailureClass
  readonly effect: 'none' | 'maybe'
  readonly retryAfterMs: number | null
  readonly jitter: number
}

/** Possible outcomes of a call: an unknown outcome needs a sent call, and non-retryable calls were refused. */
const failure: fc.Arbitrary<Failure> = fc
  .record({
    kind: fc.constantFrom(
      ['transient', 'none'] as const,
      ['transient', 'none'] as const,
      ['doubt', 'maybe'] as const,
      ['rate_limited', 'none'] as const,
      ['rate_limited', 'none'] as const,
      ['validation', 'none'] as const,
    ),
    retryAfterMs: fc.option(fc.nat(MINUTE)),
    jitter,
  })
  .map(({ kind: [name, effect], ...rest }) => ({
    ...rest,
    class: name === 'doubt' ? 'unknown' : name,
    effect,
  }))

test('[W2] [W4] any sequence of failures ends, within the attempts and before the expiry', () => {
  const life = fc.record({
    policy,
    failures: fc.array(failure, { minLength: 1, maxLength: 30 }),
    idempotent: fc.boolean(),
    canRepeat: fc.boolean(),
    lifeMs: fc.integer({ min: 0, max: DAY }),
  })
  fc.assert(
    fc.property(life, ({ policy, failures, idempotent, canRepeat, lifeMs }) => {
      const expiresAt = NOW + lifeMs
      let now = NOW
      let counters: Counters = { attempts: 0, waits: 0, losses: 0 }
      let calls = 0
      let limited = 0
      // The failures repeat forever: only the rules can end it.
      for (let turn = 0; turn < 200_000; turn += 1) {
        const fails = failures[turn % failures.length]!
        calls += 1
        if (fails.class === 'rate_limited') limited += 1
        const as = fails.class === 'unknown' && idempotent ? 'transient' : fails.class
        const step = decideFailure({
          ...fails,
          class: as,
          idempotent,
          canRepeat,
          probeAfterMs: null,
          counters: { ...counters, attempts: counters.attempts + 1 },
          policy,
          now,
          expiresAt,
        })
        if (step.step !== 'again') {
          expect(calls - limited).toBeLessThanOrEqual(policy.attempts)
          return
        }
        expect(step.counters.attempts).toBe(calls - limited)
        expect(step.counters.waits).toBe(limited)
        counters = step.counters
        now += step.delayMs
        expect(now).toBeLessThan(expiresAt)
      }
      throw new Error('it never ended')
    }),
    { seed: 57, numRuns: 100 },
  )
})

test('[W10] the table of the specification is the table of the code', () => {
  const spec = readFileSync(new URL('../../../../docs/spec/jobs.md', import.meta.url), 'utf8')
  const table = [...spec.matchAll(/^\| `(\w+)` *\|(.*)\|$/gm)].map((row) => [
    row[1],
    [...row[2]!.matchAll(/`(\w+)`/g)].map((match) => match[1]),
  ])
  expect(Object.fromEntries(table)).toEqual(WORK_STEPS)
  expect(Object.keys(WORK_STEPS).sort()).toEqual([...WORK_STATES, 'absent'].sort())
})

test('[W10] every decision about a failure leads from leased to a state that the table allows', () => {
  const next = { again: 'ready', dead: 'dead', park: 'parked' } as const
  for (const to of Object.values(next)) expect(WORK_STEPS.leased).toContain(to)
  for (const settled of ['done', 'dead', 'skipped'] as const) {
    expect(WORK_STEPS[settled]).toEqual([])
  }
  expect(WORK_STEPS.cancelled).toEqual(['cancelled'])
})
