import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOfPrefix } from './prefix-range.ts'

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

test.each([
  ['a', 'b'],
  ['route:', 'route;'],
  ['a\u{10ffff}', 'b'],
  ['\ud7ff', '\ue000'],
  ['\u{10ffff}', null],
  ['', null],
])('%j ends before %j', (prefix, end) => {
  expect(endOfPrefix(prefix)).toBe(end)
})

test('a text begins with the prefix exactly if it is in the range', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '%', '_', 'é', '\ud7ff', '\ue000', '😀', '\u{10ffff}'),
    maxLength: 4,
  })
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const end = endOfPrefix(prefix)
      const isIn = compare(other, prefix) >= 0 && (end === null || compare(other, end) < 0)
      expect(isIn).toBe(other.startsWith(prefix))
    }),
    { seed: 61, numRuns: 2_000 },
  )
})
