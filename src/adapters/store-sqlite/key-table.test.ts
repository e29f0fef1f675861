// The table of hashes against a plain map.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyTable, readWords } from './key-table.ts'
import { hashKey } from './text-values.ts'

const wordsOf = (hash: string) => {
  const words = new Uint32Array(4)
  readWords(hash, words)
  return words
}
/** Some differ in their last words only. */
const ALL = Array.from({ length: 3_000 }, (_, key) => {
  const words = wordsOf(hashKey(`key ${key}`, 0))
  if (key % 3 === 0) words.set([7, 7])
  return words
})

test('every key is found at its last row, and a removed one is not', () => {
  const step = fc.record({ key: fc.nat(ALL.length - 1), isRemoved: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 4_000, size: 'max' }), (steps) => {
      const table = new KeyTable()
      const expected = new Map<number, number>()
      for (const [row, { key, isRemoved }] of steps.entries()) {
        if (isRemoved) {
          table.delete(ALL[key] as Uint32Array)
          expected.delete(key)
        } else {
          table.set(ALL[key] as Uint32Array, row)
          expected.set(key, row)
        }
      }
      expect(table.size).toBe(expected.size)
      expect(ALL.map((words) => table.get(words))).toEqual(ALL.map((_, key) => expected.get(key)))
    }),
    { seed: 20_261_118, numRuns: 40 },
  )
})

test('a full table is read once each, in the order of the first words', () => {
  const table = new KeyTable()
  for (const [row, words] of ALL.entries()) table.set(words, row)
  const sorted = table.sorted()
  const words = new Uint32Array(4)
  const seen: { readonly row: number; readonly first: number }[] = []
  for (let position = 0; position < sorted.size; position += 1) {
    const row = sorted.read(position, words)
    expect([...words]).toEqual([...(ALL[row] as Uint32Array)])
    seen.push({ row, first: words[0] as number })
  }
  expect(seen.map(({ row }) => row).sort((a, b) => a - b)).toEqual(ALL.map((_, row) => row))
  expect(seen).toEqual([...seen].sort((a, b) => a.first - b.first))
})
