// A connection for the reads: statements prepared once, and the numbers of tenants.

import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Row } from './rows.ts'
import type { Stored } from './text-values.ts'

export type Value = Stored | number

export interface ReadAccess {
  sql(text: string): StatementSyncInstance
  get(text: string, ...values: Value[]): Row | undefined
  all(text: string, ...values: Value[]): Row[]
  /** 0 is never assigned: a tenant that never wrote has no rows. */
  tenantNumber(tenant: TenantId): number
}

export function makeReadAccess(db: DatabaseSyncInstance): ReadAccess {
  const prepared = new Map<string, StatementSyncInstance>()
  const sql = (text: string): StatementSyncInstance => {
    let statement = prepared.get(text)
    if (statement === undefined) {
      statement = db.prepare(text)
      prepared.set(text, statement)
    }
    return statement
  }
  const get: ReadAccess['get'] = (text, ...values) => sql(text).get(...values)
  const numbers = new Map<TenantId, number>()
  return {
    sql,
    get,
    all: (text, ...values) => sql(text).all(...values),
    tenantNumber(tenant) {
      const known = numbers.get(tenant)
      if (known !== undefined) return known
      const no = get('SELECT no FROM tenant WHERE name = ?', tenant)?.no as number | undefined
      if (no !== undefined) numbers.set(tenant, no)
      return no ?? 0
    },
  }
}
