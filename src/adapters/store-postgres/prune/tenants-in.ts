// The tenants with events in a partition, found by its key from one tenant to the next.

import type { QueryResult } from 'pg'
import { type Pool, prepare, type Statement } from '../connection.ts'
import { isGone } from '../errors.ts'
import type { Partition } from '../partitions.ts'

/** Up to this many the query costs milliseconds; with more tenants, weeks are removed row by row. */
const TENANTS_MAX = 1_000

/** Null if there are too many, or the partition is gone. `isAnew` false: the last result is good enough. */
export type TenantsIn = (partition: Partition, isAnew: boolean) => Promise<readonly string[] | null>

/** A walk asks with each of its pieces. Its deletions rest on the rows that it reads, not on this. */
export function makeTenantsIn(pool: Pool, schema: string): TenantsIn {
  const seen = new Map<string, readonly string[] | null>()
  return async ({ name }, isAnew) => {
    const before = seen.get(name)
    if (!isAnew && before !== undefined) return before
    const from = `FROM ${schema}.${name} AS t`
    const rows = await readUnlessGone(
      pool,
      prepare(
        `WITH RECURSIVE tenants AS (
           (SELECT t.tenant ${from} ORDER BY t.tenant LIMIT 1)
           UNION ALL
           SELECT next.tenant FROM tenants AS b CROSS JOIN LATERAL (
             SELECT t.tenant ${from} WHERE t.tenant > b.tenant ORDER BY t.tenant LIMIT 1) AS next)
         SELECT tenant FROM tenants LIMIT $1::int8`,
        [TENANTS_MAX + 1],
      ),
    )
    const tenants = rows === null || rows.length > TENANTS_MAX ? null : rows.map(({ tenant }) => tenant)
    if (rows === null) seen.delete(name)
    else seen.set(name, tenants)
    return tenants
  }
}

/** Null if another node has dropped the partition in the meantime. */
export async function readUnlessGone(pool: Pool, statement: Statement): Promise<QueryResult['rows'] | null> {
  try {
    return (await pool.query(statement)).rows
  } catch (error) {
    if (isGone(error)) return null
    throw error
  }
}
