// Installs the functions of the schema after its last numbered step, each with its current text. It runs in the
// transaction and under the lock of `migrate`, so nodes that start at once do it one after the other, and only the
// first one changes anything.
//
// A function is replaced while nodes of the previous version call it. So its parameters, its result and its contract
// never change: a verb that needs other ones gets a function with a new name, and the former function stays until no
// version that may run beside this one calls it.

import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'

export interface LiveFunction {
  readonly name: string
  /** Raised by one with each released change of the text: a node leaves a text with a higher revision alone. */
  readonly revision: number
  /** `CREATE OR REPLACE FUNCTION …`; `{s}` stands for the schema's name. */
  readonly sql: string
}

interface Installed {
  readonly name: string
  readonly revision: number
  readonly checksum: string
}

export const checksumOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** `isAfterSteps`: a step may have dropped or replaced an installed function, so all are installed again. */
export async function installFunctions(
  client: PoolClient,
  schema: string,
  functions: readonly LiveFunction[],
  isAfterSteps: boolean,
): Promise<void> {
  const installed = await readInstalled(client, schema)
  for (const { name, revision, sql } of functions) {
    const checksum = checksumOf(sql)
    const found = installed.get(name)
    if (found !== undefined && found.revision > revision) continue
    if (found?.checksum === checksum && !isAfterSteps) continue
    await client.query(sql.replaceAll('{s}', schema))
    await client.query(
      `INSERT INTO ${schema}.live_function (name, revision, checksum) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
         installed_at = excluded.installed_at`,
      [name, revision, checksum],
    )
  }
}

/** The table is created beside the one of the steps, not by a step: it says nothing about stored data. */
async function readInstalled(client: PoolClient, schema: string): Promise<ReadonlyMap<string, Installed>> {
  const there = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.live_function`])
  if (there.rows[0].there !== true) {
    await client.query(
      `CREATE TABLE ${schema}.live_function (
         name text PRIMARY KEY, revision int NOT NULL, checksum text NOT NULL,
         installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
       )`,
    )
    return new Map()
  }
  const { rows } = await client.query(`SELECT name, revision, checksum FROM ${schema}.live_function`)
  return new Map((rows as Installed[]).map((row) => [row.name, row]))
}
