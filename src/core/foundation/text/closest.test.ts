import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closest, editDistance } from './index.ts'

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 })

test('with a limit, distances below it are the same, and others are infinite', () => {
  fc.assert(
    fc.property(word, word, fc.integer({ min: 1, max: 5 }), (a, b, limit) => {
      const whole = editDistance(a, b)
      expect(editDistance(a, b, limit)).toBe(whole < limit ? whole : Infinity)
    }),
    { numRuns: 2_000 },
  )
})

test('[DV51] long words are compared by their first difference, and not letter by letter', () => {
  const long = 'a'.repeat(400_000)
  expect(editDistance(long, long)).toBe(0)
  expect(editDistance(long, `${long}b`)).toBe(Infinity)
  expect(closest(`${long}x`, [`${long}y`])).toBeUndefined()
  expect(closest('refernce', ['reference'])).toBe('reference')
})
