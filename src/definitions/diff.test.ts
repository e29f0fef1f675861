import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines } from './diff.ts'

const shown = (before: string, after: string) => diffLines(before, after).map(({ op, text }) => op + text)

test('[DV17] shows removed, added and unchanged lines', () => {
  expect(shown('a\nb\nc\n', 'a\nx\nc\n')).toEqual([' a', '-b', '+x', ' c'])
  expect(shown('', 'a\n')).toEqual(['+a'])
  expect(shown('a\n', '')).toEqual(['-a'])
  expect(shown('a\nb', 'a\nb\n')).toEqual([' a', ' b'])
  expect(shown('a\nb\nc\nd\n', 'b\nd\ne\n')).toEqual(['-a', ' b', '-c', ' d', '+e'])
})

test('both texts can be read from it, and it contains nothing that is in neither', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before.join('\n'), after.join('\n'))
      expect(lines.filter(({ op }) => op !== '+').map((line) => line.text)).toEqual(before)
      expect(lines.filter(({ op }) => op !== '-').map((line) => line.text)).toEqual(after)
    }),
  )
})

test('is bounded in work and in length', () => {
  const many = (prefix: string) => Array.from({ length: 3_000 }, (_, index) => `${prefix}${index}`).join('\n')
  const lines = diffLines(many('a'), many('b'))
  expect(lines).toHaveLength(2_001)
  expect(lines.at(-1)).toEqual({ op: ' ', text: '… 4000 more lines' })
})
