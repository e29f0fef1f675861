import { describe, expect, test } from 'vitest'
import { RETRY_PROFILES } from '../../queue/retry/index.ts'
import {
  type Counters,
  decideFailure,
  WORK_STATES,
  WORK_STEPS,
  type WorkState,
} from '../../queue/work/index.ts'
import {
  classifyDelivery,
  DELIVERY_STATES,
  DELIVERY_STEPS,
  type DeliveryState,
  type DeliveryVerdict,
  deliveryState,
  responseHead,
  WORK_STATES_OF,
} from './index.ts'

type Failed = Extract<DeliveryVerdict, { as: 'failed' }>
const answered = (status: number, retryAfterMs: number | null = null) =>
  classifyDelivery({ kind: 'response', status, retryAfterMs })
const broke = (code: string, sent: 'no' | 'maybe' = 'maybe') =>
  classifyDelivery({ kind: 'failed', sent, code }) as Failed

describe('the meaning of a response', () => {
  test.each([200, 201, 202, 204, 299])('[SB7] %i is delivered', (status) => {
    expect(answered(status)).toEqual({ as: 'delivered', sign: 'well' })
  })

  const statuses: readonly [status: number, as: string, sign: string, isGone?: true][] = [
    [199, 'transient', 'answers'],
    [301, 'transient', 'answers'],
    [304, 'transient', 'answers'],
    [400, 'transient', 'answers'],
    [401, 'transient', 'answers'],
    [404, 'transient', 'answers'],
    [408, 'transient', 'answers'],
    [410, 'config', 'answers', true],
    [422, 'transient', 'answers'],
    [429, 'rate_limited', 'overloaded'],
    [500, 'transient', 'answers'],
    [501, 'transient', 'answers'],
    [502, 'transient', 'overloaded'],
    [503, 'transient', 'overloaded'],
    [504, 'transient', 'overloaded'],
    [599, 'transient', 'answers'],
  ]

  test.each(statuses)('[SB7] [SB9] %i is %s, and the endpoint %s', (status, as, sign, isGone) => {
    const verdict = answered(status, 7_000)
    expect(verdict).toMatchObject({ as: 'failed', class: as, sign, isGone: isGone === true })
    expect((verdict as Failed).retryAfterMs).toBe(isGone ? null : 7_000)
    expect((verdict as Failed).hint?.includes('redirects are never followed') ?? false).toBe(
      status >= 300 && status < 400,
    )
  })

  test('[SB7] 429 uses no attempt, 410 is dead immediately, the rest follow the profile: nothing is ever parked', () => {
    const counters: Counters = { attempts: 1, waits: 0, losses: 0 }
    const decide = (verdict: DeliveryVerdict) =>
      decideFailure({
        ...(verdict as Failed),
        effect: 'maybe',
        idempotent: true,
        canRepeat: true,
        probeAfterMs: null,
        counters,
        policy: RETRY_PROFILES.DELIVERY,
        jitter: 0,
        now: 0,
        expiresAt: 1e9,
      })
    expect(decide(answered(429, 2_000))).toEqual({
      step: 'again',
      delayMs: 2_000,
      counters: { attempts: 0, waits: 1, losses: 0 },
    })
    expect(decide(answered(410))).toEqual({ step: 'dead', reason: 'rejected' })
    expect(decide(answered(400))).toEqual({ step: 'again', delayMs: 4_500, counters })
    expect(decide(answered(503, 60_000))).toMatchObject({ step: 'again', delayMs: 60_000 })
    expect(decide(broke('timeout'))).toMatchObject({ step: 'again' })
    expect(decide(broke('blocked', 'no'))).toEqual({ step: 'dead', reason: 'rejected' })
  })

  test('[SB8] [SB9] no response', () => {
    for (const code of ['refused', 'unresolved', 'tls', 'reset', 'timeout']) {
      expect(broke(code)).toMatchObject({ class: 'transient', sign: 'overloaded' })
    }
    for (const code of ['protocol', 'too_large']) {
      expect(broke(code)).toMatchObject({ class: 'transient', sign: 'answers' })
    }
    for (const code of ['blocked', 'bad_url']) {
      expect(broke(code, 'no')).toMatchObject({ class: 'config', sign: null, isGone: false })
    }
  })
})

describe('[SB10] the stored part of a response', () => {
  const answer = (body: string, headers: Record<string, string> = {}, isCut?: true) =>
    responseHead({ kind: 'response', status: 503, headers, body, ...(isCut && { isCut }) })

  test('is its status, a few headers and the beginning of the body', () => {
    expect(
      answer('down', { server: 'nginx', 'set-cookie': 'secret', 'content-type': 'text/plain', 'x-a': 'b' }),
    ).toBe('HTTP 503\ncontent-type: text/plain\nserver: nginx\n\ndown')
    expect(answer('', { location: 'https://a.example/b?token=x' })).toBe(
      'HTTP 503\nlocation: https://a.example/b',
    )
    expect(answer('')).toBe('HTTP 503')
    expect(responseHead({ kind: 'failed' })).toBeNull()
  })

  test('is truncated, and says so', () => {
    const long = String(answer('x'.repeat(5_000), { server: 's'.repeat(5_000) }))
    expect(long.length).toBeLessThan(1_300)
    expect(long.endsWith('x…')).toBe(true)
    expect(answer('abc', {}, true)).toBe('HTTP 503\n\nabc…')
    expect(answer('a\0b\ud800')).toBe('HTTP 503\n\na\ufffdb\ufffd')
  })
})

describe('the states of a delivery', () => {
  const untried: Counters = { attempts: 0, waits: 0, losses: 0 }
  const tried: Counters = { attempts: 1, waits: 0, losses: 0 }
  const waited: Counters = { attempts: 0, waits: 1, losses: 0 }
  /** Deliveries are neither batched nor parked. */
  const possible = (state: string) => state !== 'merged' && state !== 'parked'

  test('[SB11] derive from its job', () => {
    expect(
      WORK_STATES.map((state) => [
        state,
        deliveryState({ state, ...untried }),
        deliveryState({ state, ...tried }),
      ]),
    ).toEqual([
      ['ready', 'pending', 'retrying'],
      ['waiting', 'pending', 'retrying'],
      ['leased', 'delivering', 'delivering'],
      ['done', 'delivered', 'delivered'],
      ['skipped', 'skipped', 'skipped'],
      ['merged', 'pending', 'retrying'],
      ['parked', 'pending', 'retrying'],
      ['dead', 'dead-lettered', 'dead-lettered'],
      ['cancelled', 'cancelled', 'cancelled'],
    ])
    expect(deliveryState({ state: 'ready', ...waited })).toBe('retrying')
  })

  test('[SB11] and are found by the states of jobs', () => {
    for (const state of WORK_STATES.filter(possible)) {
      for (const counters of [untried, tried, waited]) {
        expect(WORK_STATES_OF[deliveryState({ state, ...counters })]).toContain(state)
      }
    }
  })

  /** Every step that the job state machine can make, interpreted as one of a delivery. Only leased jobs count attempts. */
  function workSteps(): ReadonlySet<string> {
    const steps = new Set<string>()
    const see = (from: DeliveryState | 'absent', to: DeliveryState) => {
      if (from !== to) steps.add(`${from} → ${to}`)
    }
    for (const [from, targets] of Object.entries(WORK_STEPS)) {
      if (!possible(from)) continue
      for (const to of targets.filter(possible)) {
        if (from === 'absent') see('absent', deliveryState({ state: to, ...untried }))
        else {
          const before = from as WorkState
          for (const [one, next] of [
            [untried, untried],
            [tried, tried],
            ...(before === 'leased' ? [[untried, tried] as const] : []),
          ] as const) {
            see(deliveryState({ state: before, ...one }), deliveryState({ state: to, ...next }))
          }
        }
      }
    }
    return steps
  }

  test('[SB12] the job state machine makes every step of the table and no other', () => {
    const table = Object.entries(DELIVERY_STEPS).flatMap(([from, targets]) =>
      targets.map((to) => `${from} → ${to}`),
    )
    expect([...workSteps()].sort()).toEqual(table.sort())
  })

  test('[SB12] final states stay final', () => {
    const over = DELIVERY_STATES.filter((state) => DELIVERY_STEPS[state].length === 0)
    expect(over).toEqual(['delivered', 'dead-lettered', 'cancelled', 'skipped'])
  })
})
