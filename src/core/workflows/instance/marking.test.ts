import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markingText, parseMarking } from './index.ts'

test('a marking as text has its places by name, with the number of tokens where there are several', () => {
  expect(markingText({ waiting: 2, approved: 1, empty: 0 })).toBe('approved,waiting*2')
  expect(markingText({})).toBe('')
})

test('equal markings give equal texts, which parse back, for any place names', () => {
  const name = fc.string({ minLength: 1, unit: fc.constantFrom('a', 'b', ',', '*', '%', '2', 'C', 'ü') })
  const marking = fc.dictionary(name, fc.integer({ min: 1, max: 12 }))
  fc.assert(
    fc.property(marking, (given) => {
      const text = markingText(given)
      expect(parseMarking(text)).toEqual({ ...given })
      expect(markingText(Object.fromEntries(Object.entries(given).reverse()))).toBe(text)
    }),
    { seed: 61, numRuns: 1_000 },
  )
})
