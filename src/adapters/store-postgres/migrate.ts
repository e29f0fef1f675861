// Migrates the schema to the version that this code knows, in one transaction, one node at a time.

import { createHash } from 'node:crypto'
import type { PoolClient, QueryConfig } from 'pg'
import { StoreError } from '../../ports/store.ts'
import { refuseHalfMoved } from './archive/move-mark.ts'
import { FUNCTIONS } from './functions.ts'
import { checksumOf, installFunctions, type LiveFunction } from './install-functions.ts'
import { MIGRATIONS, type Migration } from './migrations/index.ts'

interface AppliedMigration {
  readonly number: number
  /** null: written by a version that did not say. */
  readonly worksFrom: number | null
  readonly name: string
  readonly checksum: string
}

/** How long the driver waits for one response; the server has no limit then. */
const STEPS_WITHIN_MS = 6 * 60 * 60 * 1_000
/**
 * A session that holds a table for longer, such as a backup, prevents the new version from starting, and does not block
 * the other nodes.
 */
const TABLE_WAIT = '10s'

/** An advisory lock for the schema, before there is a table to lock. */
function lockNumber(schema: string): string {
  return createHash('sha256').update(`millrace migrations of ${schema}`).digest().readBigInt64BE(0).toString()
}

/** Until the end of the transaction. */
export async function lockSchema(client: PoolClient, schema: string): Promise<void> {
  await runPatiently(client, 'SELECT pg_advisory_xact_lock($1::bigint)', [lockNumber(schema)])
}

function runPatiently(client: PoolClient, text: string, values: unknown[] = []): Promise<unknown> {
  // This limit of one query is newer than the driver's types.
  const patient: QueryConfig & { query_timeout: number } = { text, values, query_timeout: STEPS_WITHIN_MS }
  return client.query(patient)
}

export interface MigrateOptions {
  /** The steps of another version. */
  readonly migrations?: readonly Migration[]
  /**
   * The functions of another version. Omitted together with another version's steps: those steps created its functions.
   */
  readonly functions?: readonly LiveFunction[]
  /** The mark of a move is the caller's own. */
  readonly isMove?: boolean
}

export async function migrate(
  client: PoolClient,
  schema: string,
  options: MigrateOptions = {},
): Promise<void> {
  const { migrations = MIGRATIONS, isMove = false } = options
  const { functions = migrations === MIGRATIONS ? FUNCTIONS : [] } = options
  await client.query('BEGIN')
  try {
    // A step may have to read or index a large table; the other nodes wait for that.
    await client.query(
      "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)",
    )
    await lockSchema(client, schema)
    await client.query("SELECT set_config('lock_timeout', $1, true)", [TABLE_WAIT])
    if (!isMove) await refuseHalfMoved(client, schema)
    const applied = await readApplied(client, schema)
    checkApplied(applied, migrations, schema)
    const missing = migrations.slice(applied.length)
    // The table is older than some of its columns.
    if (missing.length > 0)
      await client.query(`ALTER TABLE ${schema}.migration ADD COLUMN IF NOT EXISTS works_from int`)
    for (const migration of missing) {
      await runPatiently(client, migration.sql.replaceAll('{s}', schema))
      await client.query(
        `INSERT INTO ${schema}.migration (number, name, checksum, works_from) VALUES ($1, $2, $3, $4)`,
        [
          migration.number,
          migration.name,
          checksumOf(migration.sql),
          migration.worksFrom ?? migration.number,
        ],
      )
    }
    // An older version changes nothing on a schema that a newer one migrated.
    if (applied.length <= migrations.length)
      await installFunctions(client, schema, functions, missing.length > 0)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

async function readApplied(client: PoolClient, schema: string): Promise<readonly AppliedMigration[]> {
  const there = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.migration`])
  if (there.rows[0].there === true) {
    const { rows } = await client.query(
      `SELECT number, name, checksum, (to_jsonb(m) ->> 'works_from')::int AS "worksFrom" FROM ${schema}.migration m ORDER BY number`,
    )
    return rows
  }
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await client.query(
    `CREATE TABLE ${schema}.migration (
       number int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, works_from int,
       applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
     )`,
  )
  return []
}

function checkApplied(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  schema: string,
): void {
  const [known, newer] = [applied.slice(0, migrations.length), applied.slice(migrations.length)]
  // During an upgrade the previous version continues, and may restart, beside the one that migrated the schema.
  if (newer.some(({ worksFrom }) => worksFrom === null || worksFrom > migrations.length)) {
    throw new StoreError(
      'newer_version',
      `schema ${schema} is at version ${applied.at(-1)?.number}, made by a newer Millrace; this one knows version ` +
        `${migrations.length}, and cannot run on it. Start the newer version, or restore a backup from before the upgrade.`,
    )
  }
  for (const [index, row] of known.entries()) {
    const own = migrations[index]
    if (own?.number === row.number && checksumOf(own.sql) === row.checksum) continue
    throw new StoreError(
      'corrupt',
      `migration ${row.number} (${row.name}) of schema ${schema} is not the one that this version knows; ` +
        'restore the schema from a backup, or start the version that made it',
    )
  }
}
