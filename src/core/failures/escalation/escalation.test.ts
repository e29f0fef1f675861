import { expect, test } from 'vitest'
import { causeHash, ESCALATION_STATES, stepEscalation } from './index.ts'

test.each(ESCALATION_STATES)('[ES1] acknowledging what is %s', (state) => {
  expect(stepEscalation(state, 'acknowledge')).toBe(state === 'raised' ? 'acknowledged' : null)
})

test('[ES3] the cause is the same for errors that differ in values only, and different otherwise', () => {
  const of = {
    consumer: 'route:book',
    class: 'validation',
    reason: 'rejected',
    error: 'order 1 of "anna" is wrong',
    isCanonical: false,
  } as const
  const cause = causeHash(of)
  expect(cause).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(causeHash({ ...of, error: 'order 22 of "bert" is wrong' })).toBe(cause)
  const others = [
    { ...of, error: 'order 1 is gone' },
    { ...of, consumer: 'route:other' },
    { ...of, class: 'config' as const },
    { ...of, reason: 'expired' },
    { ...of, isCanonical: true },
  ].map(causeHash)
  expect(new Set([cause, ...others]).size).toBe(6)
})
