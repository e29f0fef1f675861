// Migrates a database to the schema of this version, one numbered step after the other, each in its own transaction.
//
// Refuses, without a change: a database that a newer version wrote, and one whose applied steps differ from ours.

import { createHash } from 'node:crypto'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from '../../ports/store.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'

export function migrate(
  db: DatabaseSyncInstance,
  name: string,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const applied = readApplied(db)
  check(applied, name, migrations)
  for (const migration of migrations) {
    if (applied.has(migration.number)) continue
    db.exec('BEGIN IMMEDIATE')
    try {
      db.exec(
        'CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)',
      )
      db.exec(migration.sql)
      db.prepare('INSERT INTO migration VALUES (?, ?, ?)').run(
        migration.number,
        migration.name,
        checksum(migration),
      )
      db.exec('COMMIT')
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }
}

/** For a caller that reads a file and must not change it. */
export function requireCurrent(
  db: DatabaseSyncInstance,
  name: string,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const applied = readApplied(db)
  check(applied, name, migrations)
  if (applied.size === migrations.length) return
  throw new StoreError(
    'unavailable',
    `${name} was written by an earlier version, and is not changed here: start this version on it once, stop it, ` +
      'and try again',
  )
}

function readApplied(db: DatabaseSyncInstance): ReadonlyMap<number, { name: string; checksum: string }> {
  const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'").get()
  if (isThere === undefined) return new Map()
  const rows: { number: number; name: string; checksum: string }[] = db
    .prepare('SELECT number, name, checksum FROM migration')
    .all()
  return new Map(rows.map((row) => [row.number, row]))
}

function check(
  applied: ReadonlyMap<number, { name: string; checksum: string }>,
  name: string,
  migrations: readonly Migration[],
): void {
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  for (const [number, row] of applied) {
    const migration = known.get(number)
    if (migration === undefined) {
      throw new StoreError(
        'newer_version',
        `${name} was written by a newer version (it has schema step ${number}, this version knows up to ` +
          `${migrations.length}); nothing was changed. Start the newer version, or give another file.`,
      )
    }
    if (checksum(migration) !== row.checksum) {
      throw new StoreError(
        'corrupt',
        `schema step ${number} (${row.name}) of ${name} is not the one of this version; nothing was changed. ` +
          'Start the version that wrote the file, or restore the file from a backup.',
      )
    }
  }
}

function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}
