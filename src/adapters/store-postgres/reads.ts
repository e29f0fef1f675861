// Reads: a tenant's own rows by keyset pages, and the few reads that cross tenants, on connections that only read.

import { Buffer } from 'node:buffer'
import type { TenantId } from '../../core/ids/index.ts'
import { WORK_STATES, type WorkState } from '../../core/work/index.ts'
import type { Page, PageRequest, StoreDump, SystemReads, TenantReads } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { prepare, type Statement } from './connection.ts'
import { hashKey, joinKey } from './keys.ts'
import { escapeText } from './parameters.ts'
import { readLedgerEntry } from './rows.ts'
import {
  ATTEMPT,
  DEAD_LETTER,
  EVENT,
  LEDGER,
  RECORD,
  selectList,
  type Table,
  toColumn,
  WORK,
} from './tables.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows are what the statements name; the port's types say which.
export type Query = (statement: Statement) => Promise<any[]>

const all = (table: Table) => selectList('t', Object.keys(table.columns))
const EVENT_SUMMARY = selectList(
  't',
  Object.keys(EVENT.columns).filter((name) => name !== 'headers' && name !== 'data'),
)
const ATTEMPT_FIELDS = Object.keys(ATTEMPT.columns).filter((name) => name !== 'tenant' && name !== 'work')

type Value = string | number
type Filters = Readonly<Record<string, string | undefined>>

export function makeTenantReads(query: Query, schema: string, tenant: TenantId): TenantReads {
  const one = async (table: Table, where: string, values: readonly string[]) => {
    const sql = `SELECT ${all(table)} FROM ${schema}.${table.name} AS t WHERE t.tenant = $1::text AND ${where}`
    const rows = await query(prepare(sql, [tenant, ...values].map(escapeText)))
    return rows[0] ?? null
  }

  /** Newest first. `order` names the columns of the place in the list; the last one is unique. */
  const page = async <Row>(
    table: Table,
    request: PageRequest,
    filters: Filters,
    options: {
      order?: readonly string[]
      where?: string
      columns?: string
      read?: (row: Record<string, unknown>) => Row
    } = {},
  ): Promise<Page<Row>> => {
    const order = options.order ?? ['id']
    const values: Value[] = [escapeText(tenant)]
    const parameter = (value: Value, type: string) => `$${values.push(value)}::${type}`
    const where = ['t.tenant = $1::text']
    for (const [name, value] of Object.entries(filters)) {
      if (value !== undefined) where.push(`t."${toColumn(name)}" = ${parameter(escapeText(value), 'text')}`)
    }
    if (options.where !== undefined) where.push(options.where)
    if (request.cursor !== null) {
      const place = decodeCursor(table, order, request.cursor).map((value, index) =>
        parameter(
          typeof value === 'string' ? escapeText(value) : value,
          table.columns[order[index] as string] as string,
        ),
      )
      where.push(`(${order.map((name) => `t."${toColumn(name)}"`).join(', ')}) < (${place.join(', ')})`)
    }
    const sql =
      `SELECT ${options.columns ?? all(table)} FROM ${schema}.${table.name} AS t WHERE ${where.join(' AND ')} ORDER BY ` +
      `${order.map((name) => `t."${toColumn(name)}" DESC`).join(', ')} LIMIT ${parameter(request.limit + 1, 'int8')}`
    const rows = await query(prepare(sql, values))
    const items = rows.slice(0, request.limit)
    const last = items.at(-1)
    const isMore = rows.length > items.length
    return {
      items: options.read ? items.map(options.read) : items,
      nextCursor:
        last !== undefined && isMore
          ? encodeCursor(
              table,
              order.map((name) => last[name]),
            )
          : null,
    }
  }

  return {
    event: (id) => one(EVENT, 't.id = $2::text', [id]),
    events: ({ source, subject, unmatched, ...request }) =>
      page(EVENT, request, { source, subject }, { columns: EVENT_SUMMARY, ...unmatchedOnly(unmatched) }),
    work: (id) => one(WORK, 't.id = $2::text', [id]),
    workOfEvent: (id) =>
      query(
        prepare(
          `SELECT ${all(WORK)} FROM ${schema}.work AS t WHERE t.tenant = $1::text AND t.event_id = $2::text ORDER BY t.id`,
          [tenant, id].map(escapeText),
        ),
      ),
    workList: ({ state, consumer, class: failure, ...request }) =>
      page(WORK, request, { state, consumer, class: failure }),
    attempts: (id) =>
      query(
        prepare(
          `SELECT ${selectList('t', ATTEMPT_FIELDS)} FROM ${schema}.attempt AS t ` +
            'WHERE t.tenant = $1::text AND t.work = $2::text ORDER BY t.number, t.sequence',
          [tenant, id].map(escapeText),
        ),
      ),
    async ledger(key) {
      const hash = hashKey(joinKey(tenant, key)).toString('hex')
      const row = await one(LEDGER, 't.hash = $2::uuid AND t.key = $3::text', [hash, key])
      return row === null ? null : readLedgerEntry(row)
    },
    ledgerList: ({ state, ...request }) =>
      page(LEDGER, request, { state }, { order: ['createdAt', 'key'], read: readLedgerEntry }),
    deadLetter: (id) => one(DEAD_LETTER, 't.id = $2::text', [id]),
    deadLetters: ({ state, consumer, class: failure, eventId, ...request }) =>
      page(DEAD_LETTER, request, { state, consumer, class: failure, eventId }),
    async record(kind, key) {
      const row = await one(RECORD, 't.kind = $2::text AND t.key = $3::text', [kind, key])
      return row === null ? null : { version: row.version, body: row.body }
    },
  }
}

function unmatchedOnly(unmatched: boolean | undefined): { where?: string } {
  if (unmatched === undefined) return {}
  return { where: unmatched ? 't.matched = 0' : 't.matched <> 0' }
}

/** Answers of one snapshot. */
type Snapshot = (statements: readonly Statement[]) => ReturnType<Query>

export function makeSystemReads(query: Query, snapshot: Snapshot, schema: string): SystemReads {
  const ordered = (table: Table, order: string, fields = Object.keys(table.columns)) =>
    prepare(`SELECT ${selectList('t', fields)} FROM ${schema}.${table.name} AS t ORDER BY ${order}`)
  return {
    readyConsumers: () =>
      query(
        prepare(
          `SELECT DISTINCT tenant, consumer FROM ${schema}.work WHERE state = 'ready' ORDER BY tenant, consumer`,
        ),
      ),
    async workCounts() {
      const counts = Object.fromEntries(WORK_STATES.map((state) => [state, 0])) as Record<WorkState, number>
      const rows = await query(prepare(`SELECT state, count(*) AS count FROM ${schema}.work GROUP BY state`))
      for (const row of rows) counts[row.state as WorkState] = row.count
      return counts
    },
    async dump(): Promise<StoreDump> {
      const [events, work, attempts, ledger, deadLetters, records] = await snapshot([
        ordered(EVENT, 't.tenant, t.id'),
        ordered(WORK, 't.tenant, t.id'),
        ordered(ATTEMPT, 't.tenant, t.work, t.number, t.sequence', [...ATTEMPT_FIELDS, 'work']),
        ordered(LEDGER, 't.tenant, t.key'),
        ordered(DEAD_LETTER, 't.tenant, t.id'),
        ordered(RECORD, 't.tenant, t.kind, t.key'),
      ])
      return { events, work, attempts, ledger: ledger.map(readLedgerEntry), deadLetters, records }
    },
  }
}

function encodeCursor(table: Table, place: readonly Value[]): string {
  return Buffer.from(JSON.stringify([table.name, ...place])).toString('base64url')
}

function decodeCursor(table: Table, order: readonly string[], cursor: string): Value[] {
  const [name, ...place] = parseCursor(cursor)
  const fits = (value: unknown, index: number): value is Value =>
    table.columns[order[index] ?? ''] === 'text' ? typeof value === 'string' : Number.isSafeInteger(value)
  if (name === table.name && place.length === order.length && place.every(fits)) {
    // Decoding base64 forgives; only what was handed out is taken back.
    if (encodeCursor(table, place) === cursor) return place
  }
  throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
}

function parseCursor(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
