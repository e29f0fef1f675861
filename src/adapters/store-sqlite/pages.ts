// Pages of a table's rows, newest first.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import type { ReadAccess, Value } from './read-connection.ts'
import type { Row } from './rows.ts'
import { type Stored, toStored } from './text-values.ts'

/** A condition and its bound values. */
export type Where = readonly [sql: string, ...values: Value[]]

export interface List<T> {
  readonly name: string
  readonly columns: string
  readonly table: string
  /** The columns that order the list and make a position, newest first. */
  readonly order: readonly string[]
  positionOf(item: T): Position
  toItem(row: Row, tenant: TenantId): T
}

/** The key and the generation, as they order entries of one age. */
function splitPosition(id: string): readonly [Stored, number] {
  const at = id.indexOf(' ')
  return [toStored(id.slice(at + 1)), Number(id.slice(0, at))]
}

export const byId = (item: { readonly id: string }): Position => [0, item.id]

export type Pager = ReturnType<typeof makePager>

export function makePager({ all, tenantNumber }: ReadAccess) {
  return <T>(list: List<T>, tenant: TenantId, query: PageRequest, wheres: readonly Where[]): Page<T> => {
    const after = query.cursor === null ? null : decodeCursor(list.name, query.cursor)
    const conditions: Where[] = [['tenant = ?', tenantNumber(tenant)], ...wheres]
    if (after !== null) {
      const [rank, id] = after
      if (list.order.length === 1) conditions.push(['id < ?', id])
      else conditions.push([`(${list.order.join(', ')}) < (?, ?, ?)`, rank, ...splitPosition(id)])
    }
    const where = conditions.map(([condition]) => condition).join(' AND ')
    const order = list.order.map((column) => `${column} DESC`).join(', ')
    const rows = all(
      `SELECT ${list.columns} FROM ${list.table} WHERE ${where} ORDER BY ${order} LIMIT ?`,
      ...conditions.flatMap(([, ...values]) => values),
      query.limit + 1,
    )
    const items = rows.slice(0, query.limit).map((row) => list.toItem(row, tenant))
    const last = items.at(-1)
    return {
      items,
      nextCursor: last && rows.length > items.length ? encodeCursor(list.name, list.positionOf(last)) : null,
    }
  }
}
