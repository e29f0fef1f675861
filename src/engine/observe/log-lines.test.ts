import { expect, test } from 'vitest'
import { filterHashOf } from '../../core/routing/index.ts'
import { lineOf } from './log-lines.ts'

const EVENT = { sensitive: [], data: '{}', headers: '{}' } as unknown as Parameters<typeof lineOf>[2]

test.each([
  ['onboarding/fire/create_account', 'create_account'],
  ['onboarding/stay/review', 'review'],
  ['onboarding/trigger/0', null],
  ['book_order', null],
])('the step of %s', (route, stepName) => {
  expect(lineOf('effect', 'DONE', EVENT, { route })).toMatchObject({ routeName: route, stepName })
})

test('what a line does not know is null', () => {
  const none = { stepName: null, subscriptionName: null, filterHash: null, externalRef: null }
  expect(lineOf('ingest', 'ACCEPTED', EVENT, {})).toMatchObject(none)
})

test('the hash of a filter is that of its subjects and its condition', () => {
  const filter = { on: ['a.*'], where: 'payload.x > 1' }
  const hash = filterHashOf(filter)
  expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(filterHashOf({ ...filter })).toBe(hash)
  expect(filterHashOf({ ...filter, where: null })).not.toBe(hash)
  expect(filterHashOf({ ...filter, on: ['a.*', 'b'] })).not.toBe(hash)
})
