// Pages of a table's rows, newest first, by id.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ReadAccess, Value } from './read-connection.ts'
import type { Row } from './rows.ts'

/** A condition and its bound values. */
export type Where = readonly [sql: string, ...values: Value[]]

export interface List<T extends { readonly id: string }> {
  readonly name: string
  readonly columns: string
  readonly table: string
  toItem(row: Row, tenant: TenantId): T
}

export type Pager = ReturnType<typeof makePager>

export function makePager({ all, tenantNumber }: ReadAccess) {
  return <T extends { readonly id: string }>(
    list: List<T>,
    tenant: TenantId,
    query: PageRequest,
    wheres: readonly Where[],
  ): Page<T> => {
    const after = query.cursor === null ? null : decodeCursor(list.name, query.cursor)
    const conditions: Where[] = [['tenant = ?', tenantNumber(tenant)], ...wheres]
    if (after !== null) conditions.push(['id < ?', after[1]])
    const where = conditions.map(([condition]) => condition).join(' AND ')
    const rows = all(
      `SELECT ${list.columns} FROM ${list.table} WHERE ${where} ORDER BY id DESC LIMIT ?`,
      ...conditions.flatMap(([, ...values]) => values),
      query.limit + 1,
    )
    const items = rows.slice(0, query.limit).map((row) => list.toItem(row, tenant))
    const last = items.at(-1)
    return {
      items,
      nextCursor: last && rows.length > items.length ? encodeCursor(list.name, [0, last.id]) : null,
    }
  }
}
