// The file as an archive: reads every row that carries the promise once, while no process runs on it. The file is not
// changed.
//
// Only the index of the keys knows whether an event holds its key's window, and whether a ledger entry is the latest of
// its key.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import {
  type ArchiveRows,
  type ArchiveTable,
  COUNTER_NAMES,
  inPages,
} from '../../core/store/archive/index.ts'
import type { ArchiveSource } from '../../ports/archive.ts'
import { StoreError } from '../../ports/store.ts'
import { EVENT_COLUMNS, WORK_COLUMNS } from './columns.ts'
import { findOwnHash, locateLedger } from './commit/keys.ts'
import { openForReading } from './connection.ts'
import { toStoreError } from './errors.ts'
import { toFact } from './facts.ts'
import { toHistory, toInstance, toOrphan } from './instance-rows.ts'
import { FOLD_AT } from './key-index.ts'
import { readLedgerEntry } from './ledger.ts'
import { takeLock } from './lock.ts'
import { requireCurrent } from './migrate.ts'
import { isMoved, markMoved } from './moved-marker.ts'
import { refuseHoles } from './opening.ts'
import { toOutboxRow } from './outbox.ts'
import {
  type Row,
  toAttempt,
  toDeadLetter,
  toEscalation,
  toEvent,
  toFailure,
  toLane,
  toWork,
} from './rows.ts'
import { toRun } from './runs.ts'
import { makeSession, type Session } from './session.ts'
import { fromStored, type Stored } from './text-values.ts'

const text = (value: unknown) => fromStored(value as Stored)

interface Reading {
  readonly session: Session
  nameOf(row: Row): TenantId
}

interface Piece<Table extends ArchiveTable> {
  /** In the order in which they were written. */
  readonly rows: string
  /** null: the row is not part of this table's archive. */
  read(row: Row, reading: Reading): ArchiveRows[Table] | null
  /** Omitted: as many as are read. */
  readonly count?: string
}

const whole = (table: string) => ({
  rows: `SELECT * FROM ${table} ORDER BY seq`,
  count: `SELECT count(*) AS n FROM ${table}`,
})

const PIECES: { readonly [Table in ArchiveTable]: Piece<Table> } = {
  counters: {
    rows:
      "SELECT 'incarnation' AS name, max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'incarnation'), 0)," +
      ' coalesce((SELECT max(owner) FROM incarnation), 0)) AS last UNION ALL ' +
      "SELECT 'outbox', max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)," +
      ' coalesce((SELECT max(position) FROM outbox), 0))',
    read: ({ name, last }) => ({
      name: name as ArchiveRows['counters']['name'],
      last: last as number,
    }),
    count: `SELECT ${COUNTER_NAMES.length} AS n`,
  },
  incarnations: {
    rows: 'SELECT owner, node, until FROM incarnation ORDER BY owner',
    read: (row) => ({
      owner: row.owner as ArchiveRows['incarnations']['owner'],
      node: text(row.node),
      until: row.until as number,
      isFenced: true,
    }),
    count: 'SELECT count(*) AS n FROM incarnation',
  },
  records: {
    ...whole('record'),
    read: (row, { nameOf }) => ({
      tenant: nameOf(row),
      kind: row.kind as string,
      key: text(row.key),
      version: row.version as number,
      body: text(row.body),
    }),
  },
  events: {
    ...whole('event'),
    rows: `SELECT event.tenant, ${EVENT_COLUMNS} FROM event ORDER BY event.seq`,
    read(row, { nameOf }) {
      const { sensitive: _, ...event } = toEvent(row, nameOf(row))
      return event
    },
  },
  dedup: {
    rows: 'SELECT seq, tenant, id, source, dedup_key, dedup_until FROM event ORDER BY seq',
    read(row, { session, nameOf }) {
      const [source, key] = [text(row.source), text(row.dedup_key)]
      const hash = findOwnHash(session, row.tenant as number, source, key, row.seq as number)
      if (hash === null) return null
      const event = row.id as ArchiveRows['dedup']['event']
      return { tenant: nameOf(row), source, key, event, until: row.dedup_until as number }
    },
  },
  lanes: {
    rows: 'SELECT * FROM lane',
    count: 'SELECT count(*) AS n FROM lane',
    read: (row, { nameOf }) => ({ tenant: nameOf(row), ...toLane(row) }),
  },
  work: {
    ...whole('work'),
    rows: `SELECT tenant, ${WORK_COLUMNS} FROM work ORDER BY seq`,
    read: (row, { nameOf }) => toWork(row, nameOf(row)),
  },
  attempts: {
    rows:
      'SELECT attempt.*, work.tenant, work.id AS work_id, (SELECT count(*) FROM attempt AS b WHERE b.work = attempt.work' +
      ' AND b.number = attempt.number AND b.seq < attempt.seq) AS turn' +
      ' FROM attempt CROSS JOIN work ON work.seq = attempt.work ORDER BY attempt.seq',
    count: 'SELECT count(*) AS n FROM attempt',
    read: (row, { nameOf }) => ({
      tenant: nameOf(row),
      ...toAttempt(row),
      work: row.work_id as WorkId,
      turn: row.turn as number,
    }),
  },
  ledger: {
    ...whole('ledger'),
    read(row, { session, nameOf }) {
      const entry = readLedgerEntry(session, row, nameOf(row))
      const latest = locateLedger(session, row.tenant as number, entry.key).row
      return { ...entry, isLatest: latest?.seq === row.seq }
    },
  },
  deadLetters: { ...whole('dead_letter'), read: (row, { nameOf }) => toDeadLetter(row, nameOf(row)) },
  failures: { ...whole('failure'), read: (row, { nameOf }) => toFailure(row, nameOf(row)) },
  escalations: { ...whole('escalation'), read: (row, { nameOf }) => toEscalation(row, nameOf(row)) },
  instances: { ...whole('instance'), read: (row, { nameOf }) => toInstance(row, nameOf(row)) },
  history: {
    rows: 'SELECT * FROM history',
    count: 'SELECT count(*) AS n FROM history',
    read: (row, { nameOf }) => ({ tenant: nameOf(row), ...toHistory(row) }),
  },
  correlations: {
    ...whole('correlation'),
    read: (row, { nameOf }) => ({
      tenant: nameOf(row),
      key: text(row.key),
      version: row.version as number,
      body: text(row.body),
    }),
  },
  orphans: { ...whole('orphan'), read: (row, { nameOf }) => toOrphan(row, nameOf(row)) },
  runs: { ...whole('run'), read: (row, { nameOf }) => toRun(row, nameOf(row)) },
  facts: {
    rows: 'SELECT * FROM fact',
    count: 'SELECT count(*) AS n FROM fact',
    read: (row, { nameOf }) => toFact(row, nameOf(row)),
  },
  outbox: {
    rows: 'SELECT * FROM outbox ORDER BY position',
    count: 'SELECT count(*) AS n FROM outbox',
    read: (row, { nameOf }) => toOutboxRow(row, nameOf(row)),
  },
}

/** Refuses, without a change: a file that does not exist, that a process uses, or that another version wrote. */
export async function openSqliteArchive(given: string): Promise<ArchiveSource> {
  const file = resolve(given)
  if (!existsSync(file)) {
    throw new StoreError('unavailable', `there is no data file ${file}: name the one that the node had`)
  }
  const lock = takeLock(file)
  let db: DatabaseSyncInstance | null = null
  try {
    refuseHoles(file)
    db = openForReading(file)
    requireCurrent(db, file)
    return makeArchive(file, db, lock)
  } catch (error) {
    db?.close()
    lock[Symbol.dispose]()
    throw toStoreError(error, 'no')
  }
}

function makeArchive(file: string, db: DatabaseSyncInstance, lock: Disposable): ArchiveSource {
  const session = makeSession(db, FOLD_AT)
  const names = new Map([...session.tenants].map(([name, no]) => [no, name]))
  const reading: Reading = {
    session,
    nameOf(row) {
      const name = names.get(row.tenant as number)
      if (name === undefined)
        throw new StoreError('corrupt', `${file} has rows of a tenant that it does not know`)
      return name
    },
  }
  // Kept referenced: the driver frees an unreferenced statement even while its rows are being read, and the process
  // dies of it.
  const held: StatementSyncInstance[] = []
  function* rowsOf<Table extends ArchiveTable>(table: Table): Generator<ArchiveRows[Table]> {
    const { rows, read } = PIECES[table] as Piece<Table>
    const statement = db.prepare(rows)
    held.push(statement)
    for (const row of statement.iterate()) {
      const given = read(row as Row, reading)
      if (given !== null) yield given
    }
  }
  return {
    name: file,
    isMarked: isMoved(file),
    mark: (to) => markMoved(file, to),
    async count(table) {
      const { count } = PIECES[table]
      if (count !== undefined) return db.prepare(count).get().n
      let rows = 0
      for (const _ of rowsOf(table)) rows += 1
      return rows
    },
    async *pages(table) {
      try {
        yield* inPages(rowsOf(table))
      } catch (error) {
        throw toStoreError(error, 'no')
      }
    },
    async [Symbol.asyncDispose]() {
      held.length = 0
      db.close()
      lock[Symbol.dispose]()
    },
  }
}
