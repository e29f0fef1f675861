// The store's clock: the database decides leases, due times and windows.

import type { LiveFunction } from './install-functions.ts'

export const NOW_MS: LiveFunction = {
  name: 'now_ms',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$`,
}

export function nowSql(schema: string): string {
  return `SELECT ${schema}.now_ms() AS now`
}
