// Reads: a tenant's own rows by keyset pages, and the few reads that cross tenants, on connections that only read.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import { WORK_STATES, type WorkState } from '../../../core/queue/work/index.ts'
import type { Page, PageRequest, StoreDump, SystemReads, TenantReads } from '../../../ports/store.ts'
import { INSTANCE_WORK_MAX } from '../../../ports/store.ts'
import { hashKey, laneKey } from '../commit/keys.ts'
import { readLedgerEntry } from '../commit/lock-rows.ts'
import { prepare, type Query, type Statement } from '../connection.ts'
import { makeOutboxReads } from '../outbox.ts'
import { type ColumnType, escapeText, makeArray } from '../parameters.ts'
import { readRun, runsWhere } from '../runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  ESCALATION,
  eventList,
  eventSummaryList,
  FACT,
  FAILURE,
  HISTORY,
  INSTANCE,
  LANE,
  LEDGER,
  LEDGER_ALL,
  LISTED,
  ORPHAN,
  OUTBOX,
  RECORD,
  RUN,
  readEvent,
  selectList,
  type Table,
  toColumn,
  WORK,
} from '../tables.ts'
import { decodeCursor, encodeCursor, type Value } from './cursor.ts'
import { searchEvents } from './event-search.ts'
import { countInstances, listInstances, readInstance, workOfInstanceSql } from './instance-reads.ts'
import { listRecords } from './records.ts'
import { countAllOpen, groupDeadLetters, readOldestReadyAt, readOverview } from './summaries.ts'
import { countOpen, listWork } from './work-list.ts'

const all = (table: Table) => selectList('t', Object.keys(table.columns))
const fieldsBut = (table: Table, names: readonly string[]) =>
  Object.keys(table.columns).filter((name) => !names.includes(name))
const ATTEMPT_FIELDS = fieldsBut(ATTEMPT, ['tenant', 'work'])
const HISTORY_FIELDS = fieldsBut(HISTORY, ['tenant'])

/** The field is omitted if no response is stored. */
// biome-ignore lint/suspicious/noExplicitAny: rows are what the statements name; the port's types say which.
function readAttempt({ response, ...row }: any) {
  return response === null ? row : { ...row, response }
}

type Filters = Readonly<Record<string, string | undefined>>

export function makeTenantReads(query: Query, schema: string, tenant: TenantId): TenantReads {
  const one = async (table: Table, where: string, values: readonly string[]) => {
    const sql = `SELECT ${all(table)} FROM ${schema}.${table.name} AS t WHERE t.tenant = $1::text AND ${where}`
    const rows = await query(prepare(sql, [tenant, ...values].map(escapeText)))
    return rows[0] ?? null
  }

  const laneHash = (consumer: string, key: string) => hashKey(laneKey(tenant, consumer, key)).toString('hex')

  /** Newest first. `order` names the columns of the position in the list; the last one is unique. */
  const page = async <Row>(
    table: Table,
    request: PageRequest,
    filters: Filters,
    options: {
      order?: readonly string[]
      olderThan?: string | undefined
      /** A further condition on the rows, in SQL; the list then has its own name. */
      only?: { readonly list: string; readonly where: string } | undefined
      read?: (row: Record<string, unknown>) => Row
    } = {},
  ): Promise<Page<Row>> => {
    const order = options.order ?? ['id']
    const list = options.only?.list ?? table.name
    const values: Value[] = [escapeText(tenant)]
    const parameter = (value: Value, type: string) => `$${values.push(value)}::${type}`
    const where = ['t.tenant = $1::text', ...('id' in table.columns ? [`t.${LISTED}`] : [])]
    for (const [name, value] of Object.entries(filters)) {
      if (value !== undefined) where.push(`t."${toColumn(name)}" = ${parameter(escapeText(value), 'text')}`)
    }
    if (options.only !== undefined) where.push(options.only.where)
    if (options.olderThan !== undefined)
      where.push(`t.id < ${parameter(escapeText(options.olderThan), 'text')}`)
    if (request.cursor !== null) {
      const place = decodeCursor(list, typesOf(table, order), request.cursor).map((value, index) =>
        parameter(
          typeof value === 'string' ? escapeText(value) : value,
          table.columns[order[index] as string] as string,
        ),
      )
      where.push(`(${order.map((name) => `t."${toColumn(name)}"`).join(', ')}) < (${place.join(', ')})`)
    }
    const sql =
      `SELECT ${all(table)} FROM ${schema}.${table.name} AS t WHERE ${where.join(' AND ')} ORDER BY ` +
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
              list,
              order.map((name) => last[name]),
            )
          : null,
    }
  }

  return {
    async event(id) {
      const [row] = await query(
        prepare(
          `SELECT ${eventList(schema, 't')} FROM ${schema}.event AS t WHERE t.tenant = $1::text AND t.id = $2::text`,
          [tenant, id].map(escapeText),
        ),
      )
      return row === undefined ? null : readEvent(row)
    },
    events: (request) => searchEvents(query, schema, tenant, request),
    eventsAfter: ({ after, below, limit }) =>
      query(
        prepare(
          `SELECT ${eventSummaryList(schema, 't')} FROM ${schema}.event AS t WHERE t.tenant = $1::text ` +
            'AND t.id > $2::text AND t.id < $3::text ORDER BY t.id LIMIT $4::int8',
          [escapeText(tenant), escapeText(after), escapeText(below), limit],
        ),
      ),
    facts: ({ after, below, limit, order }) =>
      query(
        prepare(
          `SELECT ${selectList('t', Object.keys(FACT.columns))} FROM ${schema}.fact AS t WHERE t.tenant = $1::text ` +
            `AND t.id > $2::text AND t.id < $3::text ORDER BY t.id${order === 'oldest' ? '' : ' DESC'} LIMIT $4::int8`,
          [escapeText(tenant), escapeText(after), escapeText(below), limit],
        ),
      ),
    causedBy: (id, limit) =>
      query(
        prepare(
          `SELECT ${eventSummaryList(schema, 't')} FROM ${schema}.event AS t WHERE t.tenant = $1::text ` +
            'AND t.causation_id COLLATE "C" = $2::text AND t.causation_id IS NOT NULL ORDER BY t.id LIMIT $3::int8',
          [escapeText(tenant), escapeText(id), limit],
        ),
      ),
    work: (id) => one(WORK, 't.id = $2::text', [id]),
    workOfEvent: (id) =>
      query(
        prepare(
          `SELECT ${all(WORK)} FROM ${schema}.work AS t WHERE t.tenant = $1::text AND t.event_id = $2::text ORDER BY t.id`,
          [tenant, id].map(escapeText),
        ),
      ),
    workOfEvents: (ids) =>
      query(
        prepare(
          `SELECT ${all(WORK)} FROM ${schema}.work AS t WHERE t.tenant = $1::text ` +
            'AND t.event_id = ANY ($2::text[]) ORDER BY t.event_id, t.id',
          [escapeText(tenant), makeArray('text', ids)],
        ),
      ),
    workList: (request) => listWork(query, schema, tenant, request),
    openCounts: (consumers, cap) => countOpen(query, schema, tenant, consumers, cap),
    openTotal: (cap) => countAllOpen(query, schema, tenant, cap),
    workMerged: (into) =>
      query(
        prepare(
          `SELECT ${all(WORK)} FROM ${schema}.work AS t WHERE t.tenant = $1::text AND t."into" = $2::text ` +
            'ORDER BY t.created_at, t.id',
          [tenant, into].map(escapeText),
        ),
      ),
    async lane(consumer, key) {
      const fields = selectList('t', fieldsBut(LANE, ['hash', 'tenant']))
      const sql = `SELECT ${fields} FROM ${schema}.lane AS t WHERE t.hash = $1::uuid AND t.tenant = $2::text`
      const [row] = await query(prepare(sql, [laneHash(consumer, key), escapeText(tenant)]))
      return row ?? null
    },
    laneWaiting: (consumer, key, limit) =>
      query(
        prepare(
          `SELECT ${all(WORK)} FROM ${schema}.work AS t WHERE t.lane_hash = $1::uuid AND t.tenant = $2::text ` +
            "AND t.state = 'waiting' ORDER BY t.created_at, t.id LIMIT $3::int8",
          [laneHash(consumer, key), escapeText(tenant), limit],
        ),
      ),
    laneHolders: (request) =>
      page(
        WORK,
        request,
        {},
        { only: { list: 'holders', where: "t.has_place AND t.state IN ('parked', 'dead')" } },
      ),
    async attempts(id) {
      const rows = await query(
        prepare(
          `SELECT ${selectList('t', ATTEMPT_FIELDS)} FROM ${schema}.attempt AS t ` +
            'WHERE t.tenant = $1::text AND t.work = $2::text ORDER BY t.number, t.sequence',
          [tenant, id].map(escapeText),
        ),
      )
      return rows.map(readAttempt)
    },
    async ledger(key) {
      const hash = hashKey(joinKey(tenant, key)).toString('hex')
      const row = await one(LEDGER, 't.hash = $2::uuid AND t.key = $3::text', [hash, key])
      return row === null ? null : readLedgerEntry(row)
    },
    async ledgerHistory(key) {
      const rows = await query(
        prepare(
          `SELECT ${all(LEDGER_ALL)} FROM ${schema}.ledger_all AS t WHERE t.hash = $1::uuid AND t.tenant = $2::text ` +
            'ORDER BY t.generation',
          [hashKey(joinKey(tenant, key)).toString('hex'), escapeText(tenant)],
        ),
      )
      return rows.map(readLedgerEntry)
    },
    ledgerList: ({ state, consumer, ...request }) =>
      page(
        LEDGER_ALL,
        request,
        { state, consumer },
        { order: ['createdAt', 'key', 'generation'], read: readLedgerEntry },
      ),
    async ledgerOfWork(id) {
      const rows = await query(
        prepare(
          `SELECT ${all(LEDGER_ALL)} FROM ${schema}.ledger_all AS t WHERE t.tenant = $1::text AND t.work = $2::text ` +
            "AND t.state IN ('reserved', 'unknown') ORDER BY t.created_at, t.key, t.generation",
          [tenant, id].map(escapeText),
        ),
      )
      return rows.map(readLedgerEntry)
    },
    deadLetter: (id) => one(DEAD_LETTER, 't.id = $2::text', [id]),
    deadLetters: ({ state, consumer, class: failure, reason, eventId, olderThan, ...request }) =>
      page(DEAD_LETTER, request, { state, consumer, class: failure, reason, eventId }, { olderThan }),
    deadLetterGroups: ({ state }) => groupDeadLetters(query, schema, tenant, state),
    failure: (id) => one(FAILURE, 't.id = $2::text', [id]),
    failures: ({ state, consumer, class: failure, cause, ...request }) =>
      page(FAILURE, request, { state, consumer, class: failure, cause }),
    escalation: (id) => one(ESCALATION, 't.id = $2::text', [id]),
    escalations: ({ state, consumer, unannounced, ...request }) =>
      page(
        ESCALATION,
        request,
        { state, consumer },
        { only: unannounced && { list: ESCALATION.name, where: 'NOT t.is_announced' } },
      ),
    async instance(id) {
      const row = await one(INSTANCE, 't.id = $2::text', [id])
      return row === null ? null : readInstance(row)
    },
    instances: (request) => listInstances(query, schema, tenant, request),
    instanceHistory: (id, { after, limit }) =>
      query(
        prepare(
          `SELECT ${selectList('t', HISTORY_FIELDS)} FROM ${schema}.history AS t WHERE t.tenant = $1::text ` +
            'AND t.instance = $2::text AND t.sequence > $3::int8 ORDER BY t.sequence LIMIT $4::int8',
          [escapeText(tenant), escapeText(id), after, limit],
        ),
      ),
    workOfInstance: (id, { all: isAll }) =>
      query(
        prepare(workOfInstanceSql(schema, isAll), [escapeText(tenant), escapeText(id), INSTANCE_WORK_MAX]),
      ),
    instanceCounts: (workflow) => countInstances(query, schema, tenant, workflow),
    async correlation(key) {
      const hash = hashKey(joinKey(tenant, key)).toString('hex')
      const row = await one(CORRELATION, 't.hash = $2::uuid AND t.key = $3::text', [hash, key])
      return row === null ? null : { version: row.version, body: row.body }
    },
    orphan: (id) => one(ORPHAN, 't.id = $2::text', [id]),
    orphans: ({ state, workflow, ...request }) => page(ORPHAN, request, { state, workflow }),
    async run(id) {
      const row = await one(RUN, 't.id = $2::text', [id])
      return row === null ? null : readRun(row)
    },
    runs: ({ connection, workId, ...request }) =>
      page(
        RUN,
        request,
        { connection, workId },
        { only: { list: RUN.name, where: runsWhere(request) }, read: readRun },
      ),
    async record(kind, key) {
      const row = await one(RECORD, 't.kind = $2::text AND t.key = $3::text', [kind, key])
      return row === null ? null : { version: row.version, body: row.body }
    },
    records: (request) => listRecords(query, schema, tenant, request),
    overview: () => readOverview(query, schema, tenant),
    oldestReadyAt: () => readOldestReadyAt(query, schema, tenant),
  }
}

function typesOf(table: Table, order: readonly string[]): readonly ColumnType[] {
  return order.map((name) => table.columns[name] as ColumnType)
}

/** Results of one snapshot. */
type Snapshot = (statements: readonly Statement[]) => ReturnType<Query>

export function makeSystemReads(query: Query, snapshot: Snapshot, schema: string): SystemReads {
  const ordered = (table: Table, order: string, fields = Object.keys(table.columns)) =>
    prepare(`SELECT ${selectList('t', fields)} FROM ${schema}.${table.name} AS t ORDER BY ${order}`)
  return {
    readyConsumers: () =>
      query(
        prepare(
          // From one consumer to the next by the index, so that a long backlog of one costs no more than a short one.
          `WITH RECURSIVE found AS (
             (SELECT tenant, consumer FROM ${schema}.work WHERE state = 'ready' ORDER BY tenant, consumer LIMIT 1)
             UNION ALL
             SELECT next.tenant, next.consumer FROM found CROSS JOIN LATERAL (
               SELECT w.tenant, w.consumer FROM ${schema}.work AS w
               WHERE w.state = 'ready' AND (w.tenant, w.consumer) > (found.tenant, found.consumer)
               ORDER BY w.tenant, w.consumer LIMIT 1) AS next)
           SELECT tenant, consumer FROM found ORDER BY tenant, consumer`,
        ),
      ),
    async tenants() {
      const rows = await query(
        prepare(`SELECT DISTINCT tenant FROM ${schema}.record WHERE kind = 'bundle' ORDER BY tenant`),
      )
      return rows.map((row) => row.tenant)
    },
    async workCounts() {
      const counts = Object.fromEntries(WORK_STATES.map((state) => [state, 0])) as Record<WorkState, number>
      const rows = await query(prepare(`SELECT state, count(*) AS count FROM ${schema}.work GROUP BY state`))
      for (const row of rows) counts[row.state as WorkState] = row.count
      return counts
    },
    ...makeOutboxReads(query, snapshot, schema),
    async dump(): Promise<StoreDump> {
      const [events, work, attempts, ledger, deadLetters, failures, escalations, lanes, ...others] =
        await snapshot([
          prepare(`SELECT ${eventList(schema, 't')} FROM ${schema}.event AS t ORDER BY t.tenant, t.id`),
          ordered(WORK, 't.tenant, t.id'),
          ordered(ATTEMPT, 't.tenant, t.work, t.number, t.sequence', [...ATTEMPT_FIELDS, 'work']),
          ordered(LEDGER_ALL, 't.tenant, t.key, t.generation'),
          ordered(DEAD_LETTER, 't.tenant, t.id'),
          ordered(FAILURE, 't.tenant, t.id'),
          ordered(ESCALATION, 't.tenant, t.id'),
          ordered(LANE, 't.tenant, t.consumer, t.key', fieldsBut(LANE, ['hash'])),
          ordered(INSTANCE, 't.tenant, t.id'),
          ordered(HISTORY, 't.tenant, t.instance, t.sequence'),
          ordered(CORRELATION, 't.tenant, t.key', fieldsBut(CORRELATION, ['hash'])),
          ordered(ORPHAN, 't.tenant, t.id'),
          ordered(RUN, 't.tenant, t.id'),
          ordered(RECORD, 't.tenant, t.kind, t.key'),
          ordered(FACT, 't.tenant, t.id'),
          ordered(OUTBOX, 't.tenant, t.id, t.position'),
        ])
      const [instances, history, correlations, orphans, runs, records, facts, outbox] = others
      return {
        events: events.map(readEvent),
        work,
        attempts: attempts.map(readAttempt),
        ledger: ledger.map(readLedgerEntry),
        deadLetters,
        failures,
        escalations,
        lanes,
        instances: instances.map(readInstance),
        history,
        correlations,
        orphans,
        runs: runs.map(readRun),
        records,
        facts,
        outbox,
      }
    },
  }
}
