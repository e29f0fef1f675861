// The index of keys against a plain map, over commits, rollbacks and reopenings in any order.

import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeKeyIndex } from './key-index.ts'
import { migrate } from './migrate.ts'
import { hashKey } from './text-values.ts'

const ALL = Array.from({ length: 61 }, (_, key) => hashKey(`key ${key}`, 0))

const steps = fc.array(
  fc.record({
    keys: fc.array(fc.nat(60), { maxLength: 12 }),
    end: fc.constantFrom('commit', 'commit', 'commit', 'rollback', 'reopen'),
  }),
  { minLength: 20, maxLength: 80, size: 'max' },
)

test('every committed key is found at its last row, and no other', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(
      steps,
      fc.constantFrom(1, 5, 20),
      fc.constantFrom(1, 7, 256),
      (transactions, foldAt, reads) => {
        const db = new DatabaseSync(':memory:')
        migrate(db, 'test')
        const open = () => makeKeyIndex(db, foldAt, { bitsMin: 64, bitsMax: 256, reads })
        let index = open()
        let committed = new Map<string, number>()
        let row = 0
        let logged = 0
        let group = 0
        for (const { keys, end } of transactions) {
          const changed = new Map(committed)
          db.exec('BEGIN')
          index.begin()
          for (const key of keys) {
            const hash = ALL[key] as string
            if (index.find(hash) !== changed.get(hash)) throw new Error(`key ${key} has the wrong row`)
            row += 1
            index.note(hash, row)
            changed.set(hash, row)
          }
          group += 1
          index.finish(group, 0)
          db.exec(end === 'rollback' ? 'ROLLBACK' : 'COMMIT')
          if (end === 'rollback') {
            index.revert()
            group -= 1
          } else {
            committed = changed
            if (keys.length > 0) logged += 1
          }
          if (end === 'reopen') index = open()
          expect(ALL.map((hash) => index.find(hash))).toEqual(ALL.map((hash) => committed.get(hash)))
        }
        const count = (table: string): number => db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n
        if (count('known_key') > 0) seen.add('moved')
        if (count('key_log') < logged) seen.add('cut')
        db.close()
      },
    ),
    { seed: 20_260_115, numRuns: 60 },
  )
  expect([...seen].sort()).toEqual(['cut', 'moved'])
})

test('a rollback does not truncate the log too far', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'test')
  const index = makeKeyIndex(db, 1)
  let group = 0
  const transact = (keys: readonly number[], end: 'COMMIT' | 'ROLLBACK' = 'COMMIT') => {
    db.exec('BEGIN')
    index.begin()
    for (const key of keys) index.note(ALL[key] as string, key)
    index.finish(group + 1, 0)
    db.exec(end)
    if (end === 'ROLLBACK') index.revert()
    else group += 1
  }
  transact([1])
  transact([2])
  transact([3, 4], 'ROLLBACK')
  transact([])
  transact([5])
  transact([])
  const reopened = makeKeyIndex(db, 1)
  expect([1, 2, 3, 4, 5].map((key) => reopened.find(ALL[key] as string))).toEqual([
    1,
    2,
    undefined,
    undefined,
    5,
  ])
})
