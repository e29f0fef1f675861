// Schema steps: applied once, in order, and never onto what this version does not know.

import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import { migrate } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'

const first: Migration = { number: 1, name: 'one', sql: 'CREATE TABLE a (x)' }
const second: Migration = { number: 2, name: 'two', sql: 'CREATE TABLE b (x); INSERT INTO a VALUES (1)' }

const tables = (db: InstanceType<typeof DatabaseSync>) =>
  db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map((row) => row.name)

test('the steps of this version are numbered from 1 without a gap', () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1))
})

test('each step is applied once', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first])
  migrate(db, 'data.db', [first, second])
  migrate(db, 'data.db', [first, second])
  expect(tables(db)).toEqual(['a', 'b', 'migration'])
  expect(db.prepare('SELECT count(*) AS n FROM a').get()).toMatchObject({ n: 1 })
})

test('a step that fails leaves nothing of itself', () => {
  const db = new DatabaseSync(':memory:')
  const failing = { ...second, sql: 'CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)' }
  expect(() => migrate(db, 'data.db', [first, failing])).toThrow(/nowhere/)
  expect(tables(db)).toEqual(['a', 'migration'])
})

test('a database of a newer version is refused, unchanged', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first, second])
  const before = tables(db)
  expect(() => migrate(db, 'data.db', [first])).toThrow(
    expect.objectContaining({
      code: 'newer_version',
      message: expect.stringMatching(/data\.db was written by a newer version .*nothing was changed/),
    }),
  )
  expect(tables(db)).toEqual(before)
})

test('a step that was changed after it was applied is refused, unchanged', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first])
  const changed = { ...first, sql: 'CREATE TABLE a (x, y)' }
  expect(() => migrate(db, 'data.db', [changed, second])).toThrow(
    expect.objectContaining({
      code: 'corrupt',
      message: expect.stringMatching(/step 1 \(one\) of data\.db/),
    }),
  )
  expect(tables(db)).toEqual(['a', 'migration'])
})
