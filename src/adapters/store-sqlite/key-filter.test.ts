// The filter beside the table it is read from: it must never miss a key that is there.

import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyFilter } from './key-filter.ts'
import { readWords } from './key-table.ts'
import { hashKey } from './text-values.ts'

const ALL = Array.from({ length: 120 }, (_, key) => {
  const hash = hashKey(`key ${key}`, 0)
  const words = new Uint32Array(4)
  readWords(hash, words)
  return { words, bytes: Buffer.from(hash, 'latin1') }
})
const at = (key: number) => ALL[key] as (typeof ALL)[number]

function openTable(keys: readonly number[]) {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE known_key (hash BLOB NOT NULL PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID')
  const add = db.prepare('INSERT OR IGNORE INTO known_key (hash, row) VALUES (?, 1)')
  for (const key of keys) add.run(at(key).bytes)
  return { db, add, remove: db.prepare('DELETE FROM known_key WHERE hash = ?') }
}

const someKeys = fc.uniqueArray(fc.nat(ALL.length - 1), { maxLength: 20 })
const steps = fc.array(
  fc.record({
    added: someKeys,
    removed: someKeys,
    end: fc.constantFrom('COMMIT', 'COMMIT', 'ROLLBACK'),
    isIdle: fc.boolean(),
  }),
  { maxLength: 60, size: 'max' },
)

test('a key that the table has is never called absent', () => {
  let absent = 0
  fc.assert(
    fc.property(someKeys, steps, fc.constantFrom(1, 3, 256), (initial, transactions, reads) => {
      const { db, add, remove } = openTable(initial)
      const filter = new KeyFilter(db, { bitsMin: 128, bitsMax: 1_024, reads })
      let known = new Set(initial)
      for (const { added, removed, end, isIdle } of transactions) {
        db.exec('BEGIN')
        filter.readSome()
        const changed = new Set(known)
        for (const key of removed) {
          remove.run(at(key).bytes)
          changed.delete(key)
        }
        for (const key of added) {
          add.run(at(key).bytes)
          filter.add(at(key).words)
          changed.add(key)
        }
        db.exec(end)
        if (end === 'COMMIT') known = changed
        for (const key of known) if (!filter.mayHave(at(key).words)) throw new Error(`key ${key} is missed`)
        if (isIdle) filter.readWhileIdle()
        absent += ALL.filter(({ words }) => !filter.mayHave(words)).length
      }
      db.close()
    }),
    { seed: 20_261_118, numRuns: 100 },
  )
  expect(absent).toBeGreaterThan(0)
})

test('it says of nearly every other key that it is absent, once it has read the table', () => {
  const { db } = openTable(Array.from({ length: 60 }, (_, key) => key))
  const filter = new KeyFilter(db, { bitsMin: 128, bitsMax: 4_096, reads: 8 })
  for (let transaction = 0; transaction < 40; transaction += 1) filter.readSome()
  const passed = ALL.slice(60).filter(({ words }) => filter.mayHave(words))
  expect(passed.length).toBeLessThan(12)
  db.close()
})

test('it reads the whole table while nothing waits, whatever bytes the hashes have', () => {
  const { db, add } = openTable(Array.from({ length: 100 }, (_, key) => key))
  const hashes = [0, 1, 0x80, 0xc3, 0xff].map((byte) => Buffer.alloc(16, byte))
  for (const hash of hashes) add.run(hash)
  const filter = new KeyFilter(db, { bitsMin: 128, bitsMax: 4_096, reads: 1 })
  let slices = 1
  while (filter.readWhileIdle()) slices += 1
  expect(slices).toBeLessThan(5)
  for (const hash of hashes) {
    const words = new Uint32Array(4)
    readWords(hash.toString('latin1'), words)
    expect(filter.mayHave(words)).toBe(true)
  }
  for (let key = 0; key < 100; key += 1) expect(filter.mayHave(at(key).words)).toBe(true)
  expect(ALL.slice(100).filter(({ words }) => filter.mayHave(words)).length).toBeLessThan(10)
  db.close()
})

test('one that has become too small answers until a larger one has been read', () => {
  const { db, add } = openTable(Array.from({ length: 30 }, (_, key) => key))
  const filter = new KeyFilter(db, { bitsMin: 128, bitsMax: 4_096, reads: 1 })
  while (filter.readWhileIdle());
  for (let key = 30; key < 36; key += 1) {
    add.run(at(key).bytes)
    filter.add(at(key).words)
  }
  filter.readSome()
  expect(ALL.slice(40).filter(({ words }) => filter.mayHave(words)).length).toBeLessThan(40)
  for (let key = 0; key < 36; key += 1) expect(filter.mayHave(at(key).words)).toBe(true)
  db.close()
})

test('with more keys than it can tell apart it lets every look-up through', () => {
  const { db } = openTable(ALL.map((_, key) => key))
  const filter = new KeyFilter(db, { bitsMin: 64, bitsMax: 128, reads: 8 })
  for (let transaction = 0; transaction < 40; transaction += 1) filter.readSome()
  expect(filter.mayHave(new Uint32Array([1, 2, 3, 4]))).toBe(true)
  db.close()
})

test('a table that cannot be read turns it off', () => {
  const { db } = openTable([1])
  const filter = new KeyFilter(db)
  db.exec('DROP TABLE known_key')
  filter.readSome()
  expect(filter.mayHave(at(2).words)).toBe(true)
  db.close()
})
