// Lists of ledger entries: newest first, at equal ages by key and generation.
//
// An entry's number grows with its age, so a list walks the numbers backwards and sorts only entries of one instant. A page reads
// all entries of the instant at which it ends: as many as a tenant stores in a millisecond.

import { Buffer } from 'node:buffer'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { LEDGER_BLOCK, LEDGER_COLUMNS, LEDGER_OF_TENANT } from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Where } from './pages.ts'
import type { ReadAccess } from './read-connection.ts'
import type { Row } from './rows.ts'
import { LEDGER_CODE } from './state-codes.ts'
import { fromStored, type Stored, toStored } from './text-values.ts'

type LedgerQuery = Parameters<TenantReads['ledgerList']>[0]

const LIST = 'ledger'
const POSITION = /^(\d+) (\d+) (.*)$/s

/** An entry in the order of the list. */
interface Position {
  readonly createdAt: number
  readonly key: string
  readonly generation: number
}

interface Placed extends Position {
  readonly row: Row
}

export function listLedger(
  access: ReadAccess,
  tenant: TenantId,
  query: LedgerQuery,
  toEntry: (row: Row, tenant: TenantId) => LedgerEntry,
): Page<LedgerEntry> {
  const after = query.cursor === null ? null : readCursor(query.cursor)
  const found: Placed[] = []
  for (const row of walk(access, access.tenantNumber(tenant), query, after?.top ?? null)) {
    const at = found.at(-1)?.createdAt
    if (found.length > query.limit && row.created_at !== at) break
    const placed = place(row)
    if (after === null || compare(placed, after) < 0) found.push(placed)
  }
  found.sort((a, b) => compare(b, a))
  const page = found.slice(0, query.limit)
  const last = page.at(-1)
  const isMore = last !== undefined && found.length > page.length
  return {
    items: page.map(({ row }) => toEntry(row, tenant)),
    nextCursor: isMore ? writeCursor(last, found) : null,
  }
}

function place(row: Row): Placed {
  return {
    row,
    createdAt: row.created_at as number,
    key: fromStored(row.key as Stored),
    generation: row.generation as number,
  }
}

function compare(a: Position, b: Position): number {
  return (
    a.createdAt - b.createdAt ||
    Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) ||
    a.generation - b.generation
  )
}

/** With the highest number from which on the rest of the list lies. */
function writeCursor({ createdAt, generation, key }: Position, found: readonly Placed[]): string {
  const rest = found.filter((one) => one.createdAt <= createdAt)
  const top = Math.max(...rest.map(({ row }) => row.seq as number))
  return encodeCursor(LIST, [top, `${createdAt} ${generation} ${key}`])
}

function readCursor(cursor: string): Position & { readonly top: number } {
  const [top, text] = decodeCursor(LIST, cursor)
  // Also a cursor of an earlier version, which named an entry by its age alone, is none of this list.
  const [, createdAt, generation, key] = POSITION.exec(text) ?? []
  if (key === undefined) throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
  return { top, createdAt: Number(createdAt), generation: Number(generation), key }
}

/** The tenant's entries from the number `top` backwards. */
function walk({ sql }: ReadAccess, no: number, query: LedgerQuery, top: number | null): Iterable<Row> {
  const code = query.state === undefined ? 0 : LEDGER_CODE[query.state]
  // Open and released entries are in an index of their own; the others are walked block by block.
  const isIndexed = code > 0
  const wheres: Where[] = [[isIndexed ? 'tenant = ?' : 'ledger_block.tenant = ?', no]]
  if (query.state !== undefined) wheres.push([isIndexed ? `state = ${code} AND state > 0` : 'state = 0'])
  if (query.consumer !== undefined) wheres.push(['consumer = ?', toStored(query.consumer)])
  if (top !== null) {
    wheres.push(['ledger.seq <= ?', top])
    if (!isIndexed) wheres.push(['ledger_block.block <= ?', Math.floor(top / LEDGER_BLOCK)])
  }
  const from = isIndexed ? 'ledger INDEXED BY ledger_open' : LEDGER_OF_TENANT
  const order = isIndexed ? 'seq DESC' : 'ledger_block.block DESC, ledger.seq DESC'
  const where = wheres.map(([text]) => text).join(' AND ')
  const text = `SELECT ${LEDGER_COLUMNS} FROM ${from} WHERE ${where} ORDER BY ${order}`
  return sql(text).iterate(...wheres.flatMap(([, ...values]) => values)) as Iterable<Row>
}
