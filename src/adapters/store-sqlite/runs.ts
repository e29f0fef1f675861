// Runs in the database: written twice by every call on a connection, listed by what they are about, and removed by
// retention.

import type { NewRun, Run } from '../../core/effects/integration-run/index.ts'
import type { RunId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { attemptsText } from '../../core/store/commit/index.ts'
import { longestKeepMs, type PruneRequest, pruneRunsEnd } from '../../core/store/retention/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import type { List, Pager, Where } from './pages.ts'
import { type Piece, walkClosed } from './prune/prune-others.ts'
import type { ReadAccess } from './read-connection.ts'
import type { Row } from './rows.ts'
import type { Session } from './session.ts'
import { RUN_CODE, RUN_STATE_OF } from './state-codes.ts'
import { fromStored, fromStoredOrNull, type Stored, toStored, toStoredOrNull } from './text-values.ts'

export function putRun(session: Session, now: Instant, tenant: number, row: NewRun): void {
  session.sql.putRun.run(
    tenant,
    row.id,
    toStored(row.connection),
    row.purpose,
    row.workId,
    now,
    row.eventId,
    toStored(row.provider),
    toStored(row.operation),
    toStored(row.correlationId),
    toStored(row.traceId),
    row.replayOf,
    RUN_CODE[row.state],
    now,
    toStoredOrNull(row.key),
    row.attemptCount,
    row.class,
    row.httpStatus,
    row.durationMs,
    toStoredOrNull(row.error),
    toStoredOrNull(row.externalRef),
    attemptsText(row.attempts),
  )
}

const text = (value: unknown) => fromStored(value as Stored)
const textOrNull = (value: unknown) => fromStoredOrNull(value as Stored | null)

export function toRun(row: Row, tenant: TenantId): Run {
  return {
    id: row.id as RunId,
    tenant,
    state: RUN_STATE_OF[row.state as number] as Run['state'],
    purpose: row.purpose as Run['purpose'],
    connection: text(row.connection),
    provider: text(row.provider),
    operation: text(row.operation),
    workId: row.work_id as WorkId | null,
    eventId: row.event_id as Run['eventId'],
    correlationId: text(row.correlation_id),
    traceId: text(row.trace_id),
    key: textOrNull(row.key),
    attemptCount: row.attempt_count as number,
    attempts: JSON.parse(row.attempts as string) as Run['attempts'],
    class: row.class as Run['class'],
    httpStatus: row.http_status as number | null,
    durationMs: row.duration_ms as number | null,
    error: textOrNull(row.error),
    externalRef: textOrNull(row.external_ref),
    replayOf: row.replay_of as RunId | null,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}

type RunQuery = Parameters<TenantReads['runs']>[0]

export interface RunReads {
  run(tenant: TenantId, id: RunId): Run | null
  runs(tenant: TenantId, query: RunQuery): Page<Run>
}

const RUNS: Omit<List<Run>, 'table'> = {
  name: 'runs',
  columns: '*',
  toItem: toRun,
}

/** The index that skips the fewest rows. */
function indexOf({ connection, state, purpose, workId }: RunQuery): string {
  if (workId !== undefined) return 'run_work'
  if (purpose !== undefined && purpose !== 'work') return 'run_other'
  if (state === 'running') return 'run_running'
  if (state !== undefined && state !== 'completed') {
    return connection === undefined ? 'run_held' : 'run_connection_held'
  }
  return connection === undefined ? 'run_id' : 'run_connection'
}

export function makeRunReads({ get, tenantNumber }: ReadAccess, page: Pager): RunReads {
  return {
    run(tenant, id) {
      const found = get('SELECT * FROM run WHERE tenant = ? AND id = ?', tenantNumber(tenant), id)
      return found === undefined ? null : toRun(found, tenant)
    },
    runs(tenant, query) {
      const { connection, state, purpose, workId } = query
      // Worded like the partial indexes, so that the planner sees that they hold the rows.
      const wheres: Where[] = []
      if (workId !== undefined) wheres.push(['work_id = ? AND work_id IS NOT NULL', workId])
      if (purpose === 'work') wheres.push([`purpose = 'work'`])
      else if (purpose !== undefined) wheres.push([`purpose = ? AND purpose <> 'work'`, purpose])
      if (state !== undefined) {
        const code = RUN_CODE[state]
        wheres.push([code > 1 ? `state = ${code} AND state > 1` : `state = ${code}`])
      }
      if (connection !== undefined) wheres.push(['connection = ?', toStored(connection)])
      return page({ ...RUNS, table: `run INDEXED BY ${indexOf(query)}` }, tenant, query, wheres)
    },
  }
}

/** Runs without a job that were untouched for as long as any event is stored. */
export function walkRuns(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const rows: Row[] = session.sql.someRuns.all(tenant, after, pruneRunsEnd(request, now), scanMax + 1)
  const isOver = ({ is_of_work }: Row) => is_of_work === 0
  return walkClosed(rows, { after, scanMax, until: now - longestKeepMs(request), isOver }, (gone, row) => {
    gone.runs += Number(session.sql.pruneRun.run(row.seq).changes)
  })
}
