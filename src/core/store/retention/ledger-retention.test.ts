import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../foundation/time/index.ts'
import { ledgerKeepMsOf, ledgerNeeds, sumOf } from './index.ts'

const route = { retry: { profile: null, attempts: 3, delaysMs: [MINUTE, 4 * MINUTE] }, maxWaitMs: 12 * HOUR }

test('[KY9] the horizon of repetition is a sum', () => {
  expect(ledgerNeeds(route, 30 * DAY).map(({ name, ms }) => [name, ms])).toEqual([
    ['replays', 30 * DAY],
    ['look-back', 7 * DAY],
    ['retries', 6 * MINUTE],
    ['maxWait', 12 * HOUR],
    ['overlap', DAY],
  ])
})

test('[KY10] without a setting the ledger remembers for the sum, and for at least 90 days', () => {
  expect(ledgerKeepMsOf(route, 30 * DAY)).toBe(90 * DAY)
  const long = 365 * DAY
  expect(ledgerKeepMsOf(route, long)).toBe(sumOf(ledgerNeeds(route, long)))
  expect(ledgerKeepMsOf(route, long)).toBeGreaterThan(long)
  expect(ledgerKeepMsOf({ ...route, ledgerKeepMs: 40 * DAY }, long)).toBe(40 * DAY)
})
