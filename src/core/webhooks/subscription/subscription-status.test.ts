import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../foundation/time/index.ts'
import {
  effectiveStatus,
  FRESH_SUBSCRIPTION,
  type SubscriptionInput,
  type SubscriptionNotice,
  type SubscriptionPolicy,
  type SubscriptionState,
  stepSubscription,
} from './index.ts'

const POLICY: SubscriptionPolicy = { status: 'active', disableAfterMs: 5 * DAY }
const ERROR = 'answered 503'

const failed = (at: number, failures: number, rest: Partial<{ since: number; isExhausted: boolean }> = {}) =>
  ({ type: 'failed', at, error: ERROR, failures, since: 0, isExhausted: false, ...rest }) as const
const byHand = (type: 'pause' | 'resume' | 'disable' | 'enable', at = 9) =>
  ({ type, at, by: 'key:ops', reason: 'because' }) as const

const FAILING: SubscriptionState = {
  ...FRESH_SUBSCRIPTION,
  status: 'failing',
  reason: ERROR,
  since: 5,
  failingSince: 0,
}
const SAID = { by: 'key:ops', reason: 'because', since: 9 }
const PAUSED: SubscriptionState = { ...FRESH_SUBSCRIPTION, status: 'paused', ...SAID }
const DISABLED: SubscriptionState = { ...FRESH_SUBSCRIPTION, status: 'disabled', because: 'person', ...SAID }
const GONE = { type: 'gone', at: 9, error: 'answered 410' } as const

const begun: SubscriptionNotice = {
  notice: 'failing',
  failingSince: 0,
  disableAt: 5 * DAY,
  warning: 0,
  error: ERROR,
}

type Row = readonly [
  name: string,
  state: SubscriptionState,
  input: SubscriptionInput,
  next: Partial<SubscriptionState> | null,
  notices: readonly SubscriptionNotice[],
  policy?: SubscriptionPolicy,
]

const isGone = { notice: 'disabled', because: 'gone', reason: 'answered 410', by: null } as const
const disabledByHand = { notice: 'disabled', because: 'person', reason: 'because', by: 'key:ops' } as const

/** null: the same state object. */
const TABLE: readonly Row[] = [
  ['[SB13] four in a row are nothing yet', FRESH_SUBSCRIPTION, failed(4, 4), null, []],
  ['[SB13] five in a row', FRESH_SUBSCRIPTION, failed(5, 5), FAILING, [begun]],
  ['[SB13] one that is given up', FRESH_SUBSCRIPTION, failed(5, 1, { isExhausted: true }), FAILING, [begun]],
  ['[SB14] a success where nothing failed', FRESH_SUBSCRIPTION, { type: 'delivered', at: 9 }, null, []],
  [
    '[SB14] a success',
    { ...FAILING, warnings: 2 },
    { type: 'delivered', at: 9 },
    { ...FRESH_SUBSCRIPTION, since: 9 },
    [{ notice: 'recovered', failingSince: 0 }],
  ],
  ['[SB15] before the first warning', FAILING, failed(DAY - 1, 9), null, []],
  ['[SB15] the first', FAILING, failed(DAY, 9), { ...FAILING, warnings: 1 }, [{ ...begun, warning: 1 }]],
  ['[SB15] the first, once', { ...FAILING, warnings: 1 }, failed(2 * DAY, 9), null, []],
  [
    '[SB15] two at once are one',
    { ...FAILING, warnings: 1 },
    failed(4 * DAY, 9),
    { ...FAILING, warnings: 3 },
    [{ ...begun, warning: 3 }],
  ],
  [
    '[SB16] too long',
    { ...FAILING, warnings: 3 },
    failed(5 * DAY, 9),
    { ...FAILING, warnings: 3, status: 'disabled', because: 'failing', since: 5 * DAY },
    [{ notice: 'disabled', because: 'failing', reason: ERROR, by: null }],
  ],
  [
    '[SB16] long ago, and never told: told first',
    FRESH_SUBSCRIPTION,
    failed(6 * DAY, 5),
    { ...FAILING, since: 6 * DAY, warnings: 3 },
    [{ ...begun, warning: 3 }],
  ],
  [
    '[SB16] never, where it says so',
    FAILING,
    failed(99 * DAY, 99),
    null,
    [],
    { status: 'active', disableAfterMs: null },
  ],
  [
    '[SB16] 410',
    FRESH_SUBSCRIPTION,
    GONE,
    { status: 'disabled', because: 'gone', reason: 'answered 410', by: null, since: 9 },
    [isGone],
  ],
  ['[SB17] 410 while it is paused', PAUSED, GONE, { status: 'disabled', because: 'gone' }, [isGone]],
  ['[SB17] 410 while it is disabled', DISABLED, GONE, null, []],
  ['[SB17] late failures while it is paused', PAUSED, failed(9, 9), null, []],
  ['[SB17] late failures while it is disabled', DISABLED, failed(9 * DAY, 9), null, []],
  ['[SB17] late success while it is disabled', DISABLED, { type: 'delivered', at: 9 }, null, []],
  ['[SB17] pause', FRESH_SUBSCRIPTION, byHand('pause'), PAUSED, []],
  ['[SB17] pause while it fails', { ...FAILING, warnings: 2 }, byHand('pause'), PAUSED, []],
  ['[SB18] pause what is paused', PAUSED, byHand('pause'), null, []],
  ['[SB18] pause what is disabled', DISABLED, byHand('pause'), null, []],
  ['[SB17] resume', PAUSED, byHand('resume'), { ...FRESH_SUBSCRIPTION, ...SAID }, []],
  ['[SB18] resume what is disabled', DISABLED, byHand('resume'), null, []],
  ['[SB18] resume what is active', FRESH_SUBSCRIPTION, byHand('resume'), null, []],
  ['[SB17] disable', FRESH_SUBSCRIPTION, byHand('disable'), DISABLED, [disabledByHand]],
  ['[SB18] disable what is disabled', DISABLED, byHand('disable', 99), null, []],
  [
    '[SB17] enable',
    { ...DISABLED, failingSince: 3, warnings: 3 },
    byHand('enable'),
    { ...FRESH_SUBSCRIPTION, ...SAID },
    [{ notice: 'enabled', by: 'key:ops', reason: 'because' }],
  ],
  ['[SB18] enable what is active', FRESH_SUBSCRIPTION, byHand('enable'), null, []],
  [
    '[SB19] enable what its document disables',
    FRESH_SUBSCRIPTION,
    byHand('enable'),
    { status: 'active' },
    [{ notice: 'enabled', by: 'key:ops', reason: 'because' }],
    { status: 'disabled', disableAfterMs: null },
  ],
  [
    '[SB19] what its document pauses does not fail',
    FRESH_SUBSCRIPTION,
    failed(9, 9),
    null,
    [],
    { ...POLICY, status: 'paused' },
  ],
]

describe('the status of a subscription', () => {
  test.each(TABLE.map((row) => [row[0], row] as const))('%s', (_, row) => {
    const [, state, input, next, notices, policy = POLICY] = row
    const step = stepSubscription(state, input, policy)
    if (next === null) expect(step.state).toBe(state)
    else expect(step.state).toMatchObject(next)
    expect(step.notices).toEqual(notices)
  })

  test('[SB19] the operator’s state wins over the declared one', () => {
    const of = (declared: SubscriptionPolicy['status'], status: SubscriptionState['status']) =>
      effectiveStatus({ status: declared }, { status, failingSince: status === 'failing' ? 1 : null })
    expect([of('active', null), of('paused', null), of('disabled', null)]).toEqual([
      'active',
      'paused',
      'disabled',
    ])
    expect([of('paused', 'active'), of('active', 'disabled'), of('active', 'failing')]).toEqual([
      'active',
      'disabled',
      'failing',
    ])
    expect([of('paused', 'failing'), of('disabled', 'failing')]).toEqual(['paused', 'disabled'])
  })

  test('[SB19] a subscription that an operator enabled against its document fails and recovers like any other', () => {
    const policy: SubscriptionPolicy = { ...POLICY, status: 'paused' }
    const resumed = stepSubscription(FRESH_SUBSCRIPTION, byHand('resume'), policy).state
    const failing = stepSubscription(resumed, failed(10, 5, { since: 9 }), policy)
    expect(failing.notices).toMatchObject([{ notice: 'failing', failingSince: 9 }])
    expect([resumed, failing.state].map((state) => effectiveStatus(policy, state))).toEqual([
      'active',
      'failing',
    ])
    const well = stepSubscription(failing.state, { type: 'delivered', at: 11 }, policy)
    expect([well.notices[0]?.notice, effectiveStatus(policy, well.state)]).toEqual(['recovered', 'active'])
  })

  test('[SB17] the state of showing a secret does not matter here', () => {
    const unseen = { ...FRESH_SUBSCRIPTION, isSecretUnseen: true }
    for (const [, , input] of TABLE) {
      expect(stepSubscription(unseen, input, POLICY).state.isSecretUnseen).toBe(true)
    }
  })
})

describe('over any history', () => {
  const event = fc.record({
    what: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom('failed', 'exhausted') },
      { weight: 1, arbitrary: fc.constant('delivered') },
      { weight: 2, arbitrary: fc.constantFrom('gone', 'pause', 'resume', 'disable', 'enable', 'enable') },
    ) as fc.Arbitrary<
      'failed' | 'exhausted' | 'delivered' | 'gone' | 'pause' | 'resume' | 'disable' | 'enable'
    >,
    afterMs: fc.oneof(fc.integer({ min: 0, max: MINUTE }), fc.integer({ min: 0, max: 30 * HOUR })),
  })
  const policy = fc.record({
    status: fc.constantFrom('active', 'active', 'active', 'paused', 'disabled'),
    disableAfterMs: fc.constantFrom(null, HOUR, 5 * DAY),
  }) as fc.Arbitrary<SubscriptionPolicy>

  test('[SB14] [SB15] [SB16] [SB18] it is disabled for a reason, each warning is published once, and a success ends the failing period', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(policy, fc.array(event, { maxLength: 60 }), (given, events) => {
        let state = FRESH_SUBSCRIPTION
        let at = 0
        let failures = 0
        let since = 0
        let warned: number[] = []
        for (const { what, afterMs } of events) {
          at += afterMs
          const before = effectiveStatus(given, state)
          let input: SubscriptionInput
          if (what === 'failed' || what === 'exhausted') {
            if (failures === 0) since = at
            failures += 1
            input = failed(at, failures, { since, isExhausted: what === 'exhausted' })
          } else if (what === 'delivered') {
            failures = 0
            input = { type: 'delivered', at }
          } else if (what === 'gone') input = { ...GONE, at }
          else input = byHand(what, at)
          const step = stepSubscription(state, input, given)
          const after = effectiveStatus(given, step.state)
          // An unchanged state is the same object, and whatever is published has changed something.
          if (step.state === state) expect(step.notices).toEqual([])
          else expect(step.state).not.toEqual(state)
          if (after !== 'failing' && after !== 'disabled') {
            expect([step.state.failingSince, step.state.warnings]).toEqual([null, 0])
          }
          if (what === 'delivered') expect(after).not.toBe('failing')
          if (after === 'disabled' && before !== 'disabled') {
            seen.add(String(step.state.because))
            const isOverdue =
              before === 'failing' &&
              given.disableAfterMs !== null &&
              at - (state.failingSince as number) >= given.disableAfterMs
            expect(step.state.because).toBe(
              what === 'gone' ? 'gone' : what === 'disable' ? 'person' : isOverdue ? 'failing' : 'nothing',
            )
          }
          if (before === 'disabled' && after !== 'disabled') expect(what).toBe('enable')
          for (const notice of step.notices) {
            if (notice.notice !== 'failing') continue
            if (before !== 'failing') warned = []
            expect(warned).not.toContain(notice.warning)
            expect(notice.warning).toBeGreaterThanOrEqual(Math.max(0, ...warned))
            warned.push(notice.warning)
          }
          state = step.state
        }
      }),
      { numRuns: 300, seed: 7 },
    )
    expect([...seen].sort()).toEqual(['failing', 'gone', 'person'])
  })
})
