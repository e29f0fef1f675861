// Reads as plain synchronous functions over one connection, which may be read-only. The reading thread and the inline
// store call these by name.

import { Buffer } from 'node:buffer'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { EventSummary, StoredEvent } from '../../core/events/event/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Escalation } from '../../core/failures/escalation/index.ts'
import type { Failure } from '../../core/failures/failure/index.ts'
import type {
  DeadLetterId,
  EscalationId,
  EventId,
  FailureId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import { endOfPrefix } from '../../core/foundation/text/index.ts'
import type { Attempt, WorkRow, WorkState } from '../../core/queue/work/index.ts'
import type {
  LaneRow,
  OpenCount,
  Page,
  RecordKind,
  StoreDump,
  StoredRecord,
  StoreOverview,
  TenantReads,
} from '../../ports/store.ts'
import {
  EVENT_COLUMNS,
  EVENT_SUMMARY_COLUMNS,
  INSTANCE_COLUMNS,
  LEDGER_COLUMNS,
  OF_EVENT,
  WORK_COLUMNS,
} from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { searchEvents } from './event-search.ts'
import { type FactReads, makeFactReads, toFact } from './facts.ts'
import { type InstanceReads, makeInstanceReads } from './instance-reads.ts'
import { toHistory, toInstance, toOrphan } from './instance-rows.ts'
import { listLedger } from './ledger-list.ts'
import { makeOutboxReads, type OutboxReads, toOutboxRow } from './outbox.ts'
import { type List, makePager, type Where } from './pages.ts'
import { makeReadAccess } from './read-connection.ts'
import {
  type Row,
  toAttempt,
  toDeadLetter,
  toEscalation,
  toEvent,
  toEventSummary,
  toFailure,
  toLane,
  toLedgerEntry,
  toWork,
} from './rows.ts'
import { makeRunReads, type RunReads, toRun } from './runs.ts'
import { WORK_STATE_OF } from './state-codes.ts'
import { countAllOpen, groupDeadLetters, readOldestReadyAt, readOverview } from './summaries.ts'
import { fromStored, type Stored, toStored } from './text-values.ts'
import { countOpen, inState, listWork } from './work-list.ts'

type Query<Name extends keyof TenantReads> = Parameters<TenantReads[Name]>[0]

export interface Reads extends InstanceReads, RunReads, FactReads, OutboxReads {
  event(tenant: TenantId, id: EventId): StoredEvent | null
  events(tenant: TenantId, query: Query<'events'>): Page<EventSummary>
  eventsAfter(tenant: TenantId, query: Query<'eventsAfter'>): readonly EventSummary[]
  causedBy(tenant: TenantId, id: EventId, limit: number): readonly EventSummary[]
  work(tenant: TenantId, id: WorkId): WorkRow | null
  workOfEvent(tenant: TenantId, id: EventId): readonly WorkRow[]
  workOfEvents(tenant: TenantId, ids: readonly EventId[]): readonly WorkRow[]
  workList(tenant: TenantId, query: Query<'workList'>): Page<WorkRow>
  openCounts(tenant: TenantId, consumers: readonly string[], cap: number): readonly OpenCount[]
  openTotal(tenant: TenantId, cap: number): number
  workMerged(tenant: TenantId, into: WorkId): readonly WorkRow[]
  lane(tenant: TenantId, consumer: string, key: string): LaneRow | null
  laneWaiting(tenant: TenantId, consumer: string, key: string, limit: number): readonly WorkRow[]
  laneHolders(tenant: TenantId, query: Query<'laneHolders'>): Page<WorkRow>
  attempts(tenant: TenantId, id: WorkId): readonly Attempt[]
  ledger(tenant: TenantId, key: string): LedgerEntry | null
  ledgerHistory(tenant: TenantId, key: string): readonly LedgerEntry[]
  ledgerList(tenant: TenantId, query: Query<'ledgerList'>): Page<LedgerEntry>
  ledgerOfWork(tenant: TenantId, id: WorkId): readonly LedgerEntry[]
  deadLetter(tenant: TenantId, id: DeadLetterId): DeadLetter | null
  deadLetters(tenant: TenantId, query: Query<'deadLetters'>): Page<DeadLetter>
  failure(tenant: TenantId, id: FailureId): Failure | null
  failures(tenant: TenantId, query: Query<'failures'>): Page<Failure>
  escalation(tenant: TenantId, id: EscalationId): Escalation | null
  escalations(tenant: TenantId, query: Query<'escalations'>): Page<Escalation>
  record(
    tenant: TenantId,
    kind: RecordKind,
    key: string,
  ): { readonly version: number; readonly body: string } | null
  records(tenant: TenantId, query: Query<'records'>): Page<StoredRecord>
  deadLetterGroups(
    tenant: TenantId,
    query: Query<'deadLetterGroups'>,
  ): Awaited<ReturnType<TenantReads['deadLetterGroups']>>
  overview(tenant: TenantId): StoreOverview
  oldestReadyAt(tenant: TenantId): number | null
  tenants(): readonly TenantId[]
  workCounts(): Record<WorkState, number>
  readyConsumers(): { tenant: TenantId; consumer: string }[]
  dump(): StoreDump
}

export type ReadName = keyof Reads

const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** All except `ledger` and `ledgerHistory`: only the writing side knows the newest keys. */
export function makeReads(db: DatabaseSyncInstance): Omit<Reads, 'ledger' | 'ledgerHistory'> {
  const access = makeReadAccess(db)
  const { sql, get, all, tenantNumber } = access
  const page = makePager(access)

  const tenantNames = () =>
    new Map(all('SELECT no, name FROM tenant').map((row) => [row.no, row.name as TenantId]))

  const ofEvent = (no: number, id: string) => {
    const event = get('SELECT seq FROM event WHERE id = ?2 AND tenant = ?1', no, id)
    if (event === undefined) return []
    return all(`SELECT ${WORK_COLUMNS} FROM work WHERE ${OF_EVENT} ORDER BY id`, event.seq as number)
  }
  const evidenceOf = (seq: unknown) =>
    all('SELECT body FROM evidence WHERE entry = ? ORDER BY seq', seq as number)
  const toEntry = (row: Row, tenant: TenantId) => toLedgerEntry(row, tenant, evidenceOf(row.seq))

  const works: List<WorkRow> = {
    name: 'work',
    columns: WORK_COLUMNS,
    table: 'work',
    toItem: toWork,
  }
  const letters: List<DeadLetter> = {
    name: 'deadLetters',
    columns: '*',
    table: 'dead_letter',
    toItem: toDeadLetter,
  }

  const holders: List<WorkRow> = { ...works, name: 'laneHolders', table: 'work INDEXED BY work_holder' }
  const failures: List<Failure> = {
    ...letters,
    name: 'failures',
    table: 'failure',
    toItem: toFailure,
  }
  const escalations: List<Escalation> = {
    ...letters,
    name: 'escalations',
    table: 'escalation',
    toItem: toEscalation,
  }

  return {
    ...makeInstanceReads(access, page),
    ...makeRunReads(access, page),
    ...makeFactReads(access),
    ...makeOutboxReads(access, tenantNames),
    event(tenant, id) {
      const row = get(
        `SELECT ${EVENT_COLUMNS} FROM event WHERE id = ?2 AND tenant = ?1`,
        tenantNumber(tenant),
        id,
      )
      return row === undefined ? null : toEvent(row, tenant)
    },
    events: (tenant, query) => searchEvents(access, tenant, query),
    eventsAfter(tenant, { after, below, limit }) {
      const text = `SELECT ${EVENT_SUMMARY_COLUMNS} FROM event WHERE tenant = ? AND id > ? AND id < ? ORDER BY id LIMIT ?`
      return all(text, tenantNumber(tenant), after, below, limit).map((row) => toEventSummary(row, tenant))
    },
    causedBy(tenant, id, limit) {
      const text =
        `SELECT ${EVENT_SUMMARY_COLUMNS} FROM event WHERE tenant = ? AND causation_id = ? AND causation_id IS NOT NULL` +
        ' ORDER BY id LIMIT ?'
      return all(text, tenantNumber(tenant), id, limit).map((row) => toEventSummary(row, tenant))
    },
    work(tenant, id) {
      const row = get(
        `SELECT ${WORK_COLUMNS} FROM work WHERE id = ?2 AND tenant = ?1`,
        tenantNumber(tenant),
        id,
      )
      return row === undefined ? null : toWork(row, tenant)
    },
    workOfEvent(tenant, id) {
      return ofEvent(tenantNumber(tenant), id).map((row) => toWork(row, tenant))
    },
    workOfEvents(tenant, ids) {
      // One look-up per event, inside one call: the list may be longer than a statement's limit of values.
      const no = tenantNumber(tenant)
      return [...new Set(ids)]
        .sort(compareBytes)
        .flatMap((id) => ofEvent(no, id).map((row) => toWork(row, tenant)))
    },
    workList: (tenant, query) => listWork(access, tenant, query),
    openCounts: (tenant, consumers, cap) => countOpen(access, tenant, consumers, cap),
    openTotal: (tenant, cap) => countAllOpen(access, tenant, cap),
    workMerged(tenant, into) {
      const text =
        `SELECT ${WORK_COLUMNS} FROM work WHERE into_work = ?2 AND into_work IS NOT NULL AND +tenant = ?1` +
        ' ORDER BY created_at, id'
      return all(text, tenantNumber(tenant), into).map((row) => toWork(row, tenant))
    },
    lane(tenant, consumer, key) {
      const text = 'SELECT * FROM lane WHERE tenant = ? AND consumer = ? AND key = ?'
      const row = get(text, tenantNumber(tenant), toStored(consumer), toStored(key))
      return row === undefined ? null : toLane(row)
    },
    laneWaiting(tenant, consumer, key, limit) {
      const text =
        `SELECT ${WORK_COLUMNS} FROM work WHERE state = 3 AND tenant = ? AND consumer = ? AND lane = ?` +
        ' ORDER BY created_at, id LIMIT ?'
      return all(text, tenantNumber(tenant), toStored(consumer), toStored(key), limit).map((row) =>
        toWork(row, tenant),
      )
    },
    laneHolders: (tenant, query) => page(holders, tenant, query, [['place = 1 AND state IN (6, 7)']]),
    attempts(tenant, id) {
      const text =
        'SELECT attempt.* FROM work JOIN attempt ON attempt.work = work.seq WHERE work.id = ?2 AND work.tenant = ?1' +
        ' ORDER BY attempt.number, attempt.seq'
      return all(text, tenantNumber(tenant), id).map(toAttempt)
    },
    ledgerList: (tenant, query) => listLedger(access, tenant, query, toEntry),
    ledgerOfWork(tenant, id) {
      // Worded like the partial index, so that the planner sees that it holds the rows.
      const text =
        `SELECT ${LEDGER_COLUMNS} FROM ledger WHERE work = ?2 AND state IN (1, 3) AND +tenant = ?1` +
        ' ORDER BY created_at, key'
      return all(text, tenantNumber(tenant), id).map((row) => toEntry(row, tenant))
    },
    deadLetter(tenant, id) {
      const row = get('SELECT * FROM dead_letter WHERE tenant = ? AND id = ?', tenantNumber(tenant), id)
      return row === undefined ? null : toDeadLetter(row, tenant)
    },
    deadLetters(tenant, query) {
      const wheres: Where[] = []
      if (query.state !== undefined) wheres.push(['state = ?', query.state])
      if (query.consumer !== undefined) wheres.push(['consumer = ?', toStored(query.consumer)])
      if (query.class !== undefined) wheres.push(['class = ?', query.class])
      if (query.reason !== undefined) wheres.push(['reason = ?', query.reason])
      if (query.eventId !== undefined) wheres.push(['event_id = ?', query.eventId])
      if (query.olderThan !== undefined) wheres.push(['id < ?', query.olderThan])
      return page(letters, tenant, query, wheres)
    },
    failure(tenant, id) {
      const row = get('SELECT * FROM failure WHERE tenant = ? AND id = ?', tenantNumber(tenant), id)
      return row === undefined ? null : toFailure(row, tenant)
    },
    failures(tenant, query) {
      const wheres: Where[] = []
      // Worded like the partial indexes, so that the planner sees which one holds the rows.
      if (query.state === 'resolved') wheres.push(["state = 'resolved'"])
      else if (query.state !== undefined) wheres.push([`state = '${query.state}' AND state <> 'resolved'`])
      if (query.consumer !== undefined) wheres.push(['consumer = ?', toStored(query.consumer)])
      if (query.class !== undefined) wheres.push(['class = ?', query.class])
      if (query.cause !== undefined) wheres.push(['cause = ? AND cause IS NOT NULL', toStored(query.cause)])
      return page(failures, tenant, query, wheres)
    },
    escalation(tenant, id) {
      const row = get('SELECT * FROM escalation WHERE tenant = ? AND id = ?', tenantNumber(tenant), id)
      return row === undefined ? null : toEscalation(row, tenant)
    },
    escalations(tenant, query) {
      const wheres: Where[] = []
      if (query.state !== undefined) wheres.push(['state = ?', query.state])
      if (query.consumer !== undefined) wheres.push(['consumer = ?', toStored(query.consumer)])
      if (query.unannounced) wheres.push(['announced = 0'])
      return page(escalations, tenant, query, wheres)
    },
    record(tenant, kind, key) {
      const text = 'SELECT version, body FROM record WHERE tenant = ? AND kind = ? AND key = ?'
      const row = get(text, tenantNumber(tenant), kind, toStored(key))
      if (row === undefined) return null
      return { version: row.version as number, body: fromStored(row.body as Stored) }
    },
    records(tenant, { kind, prefix = '', cursor, limit }) {
      const list = `records of ${kind}`
      const conditions: Where[] = [
        ['tenant = ?', tenantNumber(tenant)],
        ['kind = ?', kind],
      ]
      if (prefix !== '') {
        const end = endOfPrefix(prefix)
        conditions.push(['key >= ?', prefix])
        if (end !== null) conditions.push(['key < ?', end])
      }
      if (cursor !== null) conditions.push(['key > ?', toStored(decodeCursor(list, cursor)[1])])
      const rows = all(
        `SELECT key, version, body FROM record WHERE ${conditions.map(([text]) => text).join(' AND ')} ORDER BY key LIMIT ?`,
        ...conditions.flatMap(([, ...values]) => values),
        limit + 1,
      )
      const items = rows.slice(0, limit).map((row) => ({
        key: fromStored(row.key as Stored),
        version: row.version as number,
        body: fromStored(row.body as Stored),
      }))
      const last = items.at(-1)
      const isMore = last !== undefined && rows.length > items.length
      return { items, nextCursor: isMore ? encodeCursor(list, [0, last.key]) : null }
    },
    deadLetterGroups: (tenant, query) => groupDeadLetters(access, tenant, query.state),
    overview: (tenant) => readOverview(access, tenant),
    oldestReadyAt: (tenant) => readOldestReadyAt(access, tenant),
    tenants() {
      const text =
        "SELECT name FROM tenant WHERE EXISTS (SELECT 1 FROM record WHERE tenant = tenant.no AND kind = 'bundle')"
      return all(text)
        .map((row) => row.name as TenantId)
        .sort(compareBytes)
    },
    workCounts() {
      const count = (text: string) => get(text)?.n as number
      // Done jobs are by far the most, and in no partial index: their number is the rest.
      const counts = Object.fromEntries(WORK_STATE_OF.map((name) => [name, 0])) as Record<WorkState, number>
      let others = 0
      for (const [code, name] of WORK_STATE_OF.entries()) {
        if (code === 0) continue
        counts[name] = count(`SELECT count(*) AS n FROM work WHERE ${inState(name)}`)
        others += counts[name]
      }
      counts.done = count('SELECT count(*) AS n FROM work') - others
      return counts
    },
    readyConsumers() {
      // From one consumer to the next by the index, so that a long backlog of one costs no more than a short one. One column
      // at a time: a comparison of both at once would step over every row of the backlog.
      const within = sql(
        'SELECT tenant, consumer FROM work WHERE state = 2 AND tenant = ? AND consumer > ? ORDER BY consumer LIMIT 1',
      )
      const beyond = sql(
        'SELECT tenant, consumer FROM work WHERE state = 2 AND tenant > ? ORDER BY tenant, consumer LIMIT 1',
      )
      const found: { tenant: TenantId; consumer: string }[] = []
      const names = tenantNames()
      for (
        let row: Row | undefined = beyond.get(0);
        row !== undefined;
        row = within.get(row.tenant, row.consumer) ?? beyond.get(row.tenant)
      ) {
        found.push({
          tenant: names.get(row.tenant) as TenantId,
          consumer: fromStored(row.consumer as Stored),
        })
      }
      return found.sort((a, b) => compareBytes(a.tenant, b.tenant) || compareBytes(a.consumer, b.consumer))
    },
    dump() {
      const names = tenantNames()
      const nameOf = (row: Row) => names.get(row.tenant) as TenantId
      const table = (columns: string, name: string, order: string) =>
        all(
          `SELECT tenant.name AS tenant_name, ${name}.tenant, ${columns} FROM ${name}` +
            ` JOIN tenant ON tenant.no = ${name}.tenant ORDER BY tenant_name, ${order}`,
        )
      const qualified = (columns: string, name: string) =>
        columns
          .split(',')
          .map((column) => `${name}.${column.trim()}`)
          .join(', ')
      return {
        events: table(EVENT_COLUMNS, 'event', 'event.id').map((row) => toEvent(row, nameOf(row))),
        work: table(WORK_COLUMNS, 'work', 'work.id').map((row) => toWork(row, nameOf(row))),
        attempts: all(
          'SELECT attempt.*, work.id AS work_id FROM attempt JOIN work ON work.seq = attempt.work' +
            ' JOIN tenant ON tenant.no = work.tenant ORDER BY tenant.name, work.id, attempt.number, attempt.seq',
        ).map((row) => ({ ...toAttempt(row), work: row.work_id as WorkId })),
        ledger: table(qualified(LEDGER_COLUMNS, 'ledger'), 'ledger', 'ledger.key, ledger.generation').map(
          (row) => toEntry(row, nameOf(row)),
        ),
        deadLetters: table('dead_letter.*', 'dead_letter', 'dead_letter.id').map((row) =>
          toDeadLetter(row, nameOf(row)),
        ),
        failures: table('failure.*', 'failure', 'failure.id').map((row) => toFailure(row, nameOf(row))),
        escalations: table('escalation.*', 'escalation', 'escalation.id').map((row) =>
          toEscalation(row, nameOf(row)),
        ),
        lanes: table('lane.*', 'lane', 'lane.consumer, lane.key').map((row) => ({
          tenant: nameOf(row),
          ...toLane(row),
        })),
        instances: table(qualified(INSTANCE_COLUMNS, 'instance'), 'instance', 'instance.id').map((row) =>
          toInstance(row, nameOf(row)),
        ),
        history: table('history.*', 'history', 'history.instance, history.sequence').map((row) => ({
          ...toHistory(row),
          tenant: nameOf(row),
        })),
        correlations: table('correlation.*', 'correlation', 'CAST(correlation.key AS BLOB)').map((row) => ({
          tenant: nameOf(row),
          key: fromStored(row.key as Stored),
          version: row.version as number,
          body: fromStored(row.body as Stored),
        })),
        orphans: table('orphan.*', 'orphan', 'orphan.id').map((row) => toOrphan(row, nameOf(row))),
        runs: table('run.*', 'run', 'run.id').map((row) => toRun(row, nameOf(row))),
        records: table('record.*', 'record', 'record.kind, record.key').map((row) => ({
          tenant: nameOf(row),
          kind: row.kind as RecordKind,
          key: fromStored(row.key as Stored),
          version: row.version as number,
          body: fromStored(row.body as Stored),
        })),
        facts: table('fact.*', 'fact', 'fact.id').map((row) => toFact(row, nameOf(row))),
        outbox: table('outbox.*', 'outbox', 'CAST(outbox.id AS BLOB), outbox.position').map((row) => {
          const { position: _, ...kept } = toOutboxRow(row, nameOf(row))
          return kept
        }),
      }
    },
  }
}
