// Pages of rows in memory.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import { compareText } from './state.ts'

export function ownRows<Row extends { readonly tenant: TenantId }>(
  table: ReadonlyMap<unknown, Row>,
  tenant: TenantId,
): Row[] {
  return [...table.values()].filter((row) => row.tenant === tenant)
}

export const byId = (row: { readonly id: string }): Position => [0, row.id]

function comparePositions(a: Position, b: Position): number {
  return a[0] - b[0] || compareText(a[1], b[1])
}

export function page<Row>(
  list: string,
  query: PageRequest,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
  direction: 'descending' | 'ascending' = 'descending',
): Page<Row> {
  if (rows.length === 0 && query.cursor === null) return { items: [], nextCursor: null }
  const after = query.cursor === null ? null : decodeCursor(list, query.cursor)
  const sign = direction === 'descending' ? -1 : 1
  const rest = rows
    .map((row) => ({ row, position: positionOf(row) }))
    .filter(({ position }) => after === null || sign * comparePositions(position, after) > 0)
    .sort((a, b) => sign * comparePositions(a.position, b.position))
  const items = rest.slice(0, query.limit)
  const last = items.at(-1)
  return {
    items: items.map(({ row }) => row),
    nextCursor: last && rest.length > items.length ? encodeCursor(list, last.position) : null,
  }
}
