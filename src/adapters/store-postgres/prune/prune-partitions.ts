// Retention by whole partitions.
//
// A partition of events is dropped when it is over for every tenant that has events in it: its last day is older than
// the longest retention of any of their events. Rows that depend on its events are deleted in pieces, each event being
// checked as in the walk by rows; then the partition is dropped, if no work was added to any of them meanwhile and
// their number is the number checked. The first needed event stops that, and the rest is removed row by row: all events
// that lost their dependent rows have expired themselves.
//
// Attempts are partitioned by their job and history by its instance. When all jobs or instances of a week are gone, so
// is the week; while a few are left, the rows of those that are gone are removed row by row.
//
// If events are stored for less than four weeks, all of this happens row by row, and partitions are dropped when they are
// empty.

import type { QueryResult } from 'pg'
import { eventIdAt, instanceIdAt, workIdAt } from '../../../core/foundation/ids/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { WORK_STATES } from '../../../core/queue/work/index.ts'
import {
  CLOSED_DEAD_LETTERS,
  FINAL_WORK,
  type KeepTimes,
  longestKeepMs,
  OPEN_ENTRIES,
  OPEN_ORPHANS,
  pruneEnd,
  shortestKeepMs,
} from '../../../core/store/retention/index.ts'
import { prepare, type Statement } from '../connection.ts'
import { isTooSlow } from '../errors.ts'
import { escapeText } from '../parameters.ts'
import { dropPartition, isIn, listPartitions, type Partition } from '../partitions.ts'
import {
  addGone,
  endEvents,
  type GoneWithEvents,
  type HasLeft,
  NONE,
  quoted,
  READ,
  readOld,
} from './prune-events.ts'
import type { Walking } from './prune-instances.ts'
import { readUnlessGone } from './tenants-in.ts'

const WEEK_MS = 7 * DAY
/** For a shorter retention, one week more would be much. */
const WAITS_FROM_MS = 4 * WEEK_MS
/**
 * A piece of a partition is this many times one of the walk by rows: less is deleted for an event, and none is locked.
 */
const PIECE_TIMES = 4
/** How often a locked partition is tried, before it is left to the walk by rows. */
const DROP_TRIES = 20
/** Up to this many rows of a partition are counted one by one. */
const COUNTED_MAX = 1_000

export interface Partitions {
  /** Partitions of events that are over for every tenant with events in them. */
  readonly over: readonly Partition[]
  readonly overAttempts: readonly Partition[]
  readonly overHistory: readonly Partition[]
  /** Where the walk by rows ends. */
  readonly rowsEnd: string
  readonly hasLeftAttempts: HasLeft
  readonly hasLeftHistory: (instance: string) => boolean
}

export async function readPartitions(walking: Walking): Promise<Partitions> {
  const { pool, schema, request, now } = walking
  const until = now - longestKeepMs(request)
  const { event: events, attempt: attempts, history } = await listPartitions(pool, schema)
  const isOver = (end: string) => (partition: Partition) => partition.upper <= end
  const overAttempts = attempts.filter(isOver(workIdAt(until)))
  const overHistory = history.filter(isOver(instanceIdAt(until)))
  const hasWeeks = longestKeepMs(request) >= WAITS_FROM_MS
  return {
    ...(await findWeeks(walking, events, hasWeeks)),
    overAttempts,
    overHistory,
    hasLeftAttempts: (work) => hasWeeks && overAttempts.some((partition) => isIn(partition, work)),
    hasLeftHistory: (instance) => hasWeeks && overHistory.some((partition) => isIn(partition, instance)),
  }
}

/**
 * If all tenants' events are stored about as long, and for weeks, they wait for their partition. Otherwise each is
 * removed by itself.
 */
async function findWeeks(
  walking: Walking,
  events: readonly Partition[],
  hasWeeks: boolean,
): Promise<Pick<Partitions, 'over' | 'rowsEnd'>> {
  const { request, now, tenantsIn } = walking
  const over: Partition[] = []
  const end = pruneEnd(request, now)
  let rowsEnd: string = end
  for (const partition of events) {
    if ((partition.lower ?? '') >= end) break
    const tenants = await tenantsIn(partition, request.after === null)
    if (tenants === null) continue
    const times = tenants.map((tenant) => timesOf(walking, tenant))
    const known = times.filter((one) => one !== null)
    if (known.length < times.length || (known.length > 0 && !hasWeeks)) continue
    const longestMs = Math.max(longestKeepMs(request), ...known.map(longestKeepMs))
    if (partition.upper <= eventIdAt(now - longestMs)) {
      // A partition that still has events belongs to the tenants that own them.
      if (tenants.length === 0 || tenants.includes(request.tenant)) over.push(partition)
      continue
    }
    const isAlike = longestMs - Math.min(...known.map(shortestKeepMs)) <= WEEK_MS
    if (partition.lower !== null && isAlike && tenants.includes(request.tenant)) {
      rowsEnd = partition.lower
      break
    }
  }
  return { over, rowsEnd }
}

/** Null: that tenant's retention is unknown. */
function timesOf({ request }: Walking, tenant: string): KeepTimes | null {
  if (tenant === request.tenant) return request
  const { byTenant } = request
  return byTenant !== undefined && Object.hasOwn(byTenant, tenant) ? (byTenant[tenant] as KeepTimes) : null
}

/** The progress of a partition: `empty` or `drop`, its upper end, how many events were checked, and the position. */
const PLACE = /^(empty|drop) (\S+) (\d+) (\S*) (.*)$/s

export const isPlaceOfPartitions = (after: string | null) => after === null || PLACE.test(after)

/** One piece; `next` is null when no partition is left that could be dropped. */
export async function prunePartitions(
  walking: Walking,
  { over, hasLeftAttempts }: Partitions,
  scanMax: number,
): Promise<{ readonly gone: GoneWithEvents; readonly next: string | null }> {
  const { pool, schema, request } = walking
  const max = scanMax * PIECE_TIMES
  const [, begun = 'empty', at = '', counted = '0', from = '', whose = ''] =
    PLACE.exec(request.after ?? '') ?? []
  let gone = NONE
  for (const partition of over.filter(({ upper }) => upper >= at)) {
    const isBegun = partition.upper === at
    const { name, upper } = partition
    let count = isBegun ? Number(counted) : 0
    if (!isBegun && (await isWanted(walking, partition))) continue
    if (!isBegun || begun === 'empty') {
      const rows = await readUnlessGone(
        pool,
        prepare(
          `SELECT t.tenant, ${READ} FROM ${schema}.${name} AS t WHERE (t.tenant, t.id) > ($1::text, $2::text) ` +
            'ORDER BY t.tenant, t.id LIMIT $3::int8',
          [escapeText(isBegun ? whose : ''), escapeText(isBegun ? from : ''), max + 1],
        ),
      )
      if (rows === null) continue
      const seen = rows.slice(0, max)
      const ended = await endPiece(walking, partition, seen, hasLeftAttempts)
      gone = addGone(gone, ended.gone)
      if (!ended.isFree) continue
      count += seen.length
      const last = seen.at(-1)
      if (rows.length > seen.length) {
        return { gone, next: `empty ${upper} ${count} ${last?.id ?? ''} ${last?.tenant ?? ''}` }
      }
      if (seen.length > 0) return { gone, next: `drop ${upper} ${count} 1 ` }
    }
    const dropped = await dropEvents(walking, partition, count)
    // Dropping an empty one is not a piece, and may as well happen another time.
    if (count === 0) continue
    if (dropped === 'dropped') {
      return { gone: { ...gone, events: gone.events + count }, next: `drop ${upper} 0 1 ` }
    }
    const tried = isBegun && begun === 'drop' ? Number(from) : 1
    if (dropped === 'busy' && tried < DROP_TRIES) {
      return { gone, next: `drop ${upper} ${count} ${tried + 1} ` }
    }
  }
  return { gone, next: null }
}

/** Removes the rows that depend on these events, tenant by tenant, as long as none of a tenant's events is needed. */
async function endPiece(
  walking: Walking,
  partition: Partition,
  seen: QueryResult['rows'],
  hasLeft: HasLeft,
): Promise<{ readonly gone: GoneWithEvents; readonly isFree: boolean }> {
  const { pool, schema, now } = walking
  let gone = NONE
  for (const tenant of new Set<string>(seen.map((row) => row.tenant))) {
    const rows = seen.filter((row) => row.tenant === tenant)
    const times = timesOf(walking, tenant)
    const old = times === null ? [] : readOld({ ...times, tenant }, now, rows)
    if (old.length < rows.length) return { gone, isFree: false }
    const ended = await endEvents(pool, schema, tenant, now, old, { partition, hasLeft })
    gone = addGone(gone, ended.gone)
    if (ended.free < old.length) return { gone, isFree: false }
  }
  return { gone, isFree: true }
}

const OPEN_WORK = WORK_STATES.filter((state) => !FINAL_WORK.includes(state))

/**
 * Whether something is open that resulted from an event in it: then it is pointless to start. Open rows are few, and
 * have their own indexes, so that the query for jobs does not use the index by event, where it would pass all that is
 * over.
 */
async function isWanted({ pool, schema }: Walking, { lower, upper }: Partition): Promise<boolean> {
  const within = (event: string) => `${event} >= $1::text AND ${event} < $2::text`
  const questions = [
    `${schema}.instance AS t WHERE t.state = 'active' AND ${within('t.event_id')}`,
    `${schema}.orphan AS t WHERE t.state IN (${quoted(OPEN_ORPHANS)}) AND ${within('t.event_id')}`,
    `${schema}.outbox AS t WHERE t.event IS NOT NULL AND ${within('t.event')}`,
    `${schema}.dead_letter AS t WHERE t.state NOT IN (${quoted(CLOSED_DEAD_LETTERS)}) AND ${within('(t.event_id COLLATE "C")')}`,
    `${schema}.ledger AS t WHERE t.state IN (${quoted(OPEN_ENTRIES)}) AND ${within('(t.event_id COLLATE "C")')}`,
    ...OPEN_WORK.map(
      (state) => `${schema}.work AS t WHERE t.state = '${state}' AND ${within("(t.event_id || '')")}`,
    ),
  ]
  try {
    const asked = questions.map((question) => `EXISTS (SELECT FROM ${question})`).join(' OR ')
    const { rows } = await pool.query(prepare(`SELECT ${asked} AS wanted`, [lower ?? '', upper]))
    return rows[0].wanted
  } catch (error) {
    if (isTooSlow(error)) return true
    throw error
  }
}

/** If it has exactly the events that were checked, and no jobs. */
function dropEvents({ pool, schema }: Walking, partition: Partition, count: number) {
  const { name, lower, upper } = partition
  const isWhole = prepare(`SELECT count(*) = $1::int8 AS free FROM ${schema}.${name}`, [count])
  const isFree = prepare(
    `SELECT NOT EXISTS (SELECT FROM ${schema}.work AS w WHERE w.event_id >= $1::text AND w.event_id < $2::text) AS free`,
    [lower ?? '', upper],
  )
  return dropPartition(pool, schema, 'event', partition, { isWhole, isFree })
}

/** Whether a tenant has a row with an id of the week; from one tenant to the next, because rows are found by tenant and id. */
const existsWithin = (table: string) =>
  `WITH RECURSIVE tenants AS (
     (SELECT i.tenant FROM ${table} AS i ORDER BY i.tenant LIMIT 1)
     UNION ALL
     SELECT next.tenant FROM tenants AS b CROSS JOIN LATERAL (
       SELECT i.tenant FROM ${table} AS i WHERE i.tenant > b.tenant ORDER BY i.tenant LIMIT 1) AS next)
   SELECT FROM tenants AS b CROSS JOIN LATERAL (
     SELECT FROM ${table} AS i WHERE i.tenant = b.tenant AND i.id >= $1::text AND i.id < $2::text LIMIT 1) AS found`

const OWNERS = {
  attempts: {
    table: 'attempt',
    owner: (schema: string) => existsWithin(`${schema}.work`),
    orphan: (schema: string) => `SELECT FROM ${schema}.work AS o WHERE o.tenant = t.tenant AND o.id = t.work`,
  },
  history: {
    table: 'history',
    owner: (schema: string) => existsWithin(`${schema}.instance`),
    orphan: (schema: string) =>
      `SELECT FROM ${schema}.instance AS o WHERE o.tenant = t.tenant AND o.id = t.instance`,
  },
} as const

/** Only reported: a large number is the planner's estimate. */
function countAbout(schema: string, { name }: Partition): Statement {
  const table = `${schema}.${name}`
  return prepare(
    `SELECT CASE WHEN few.count < $1::int8 THEN few.count ELSE greatest(few.count, c.reltuples::int8) END AS count ` +
      `FROM pg_class AS c, (SELECT count(*) FROM (SELECT FROM ${table} LIMIT $1::int8) AS t) AS few ` +
      `WHERE c.oid = '${table}'::regclass`,
    [COUNTED_MAX],
  )
}

/** Rows that belong to jobs or instances that are gone, of any tenant. */
export async function pruneOwned(
  { pool, schema }: Walking,
  kind: keyof typeof OWNERS,
  over: readonly Partition[],
  max: number,
): Promise<{ readonly gone: number; readonly isMore: boolean }> {
  const { table, owner, orphan } = OWNERS[kind]
  let gone = 0
  for (const partition of over) {
    const from = `${schema}.${partition.name} AS t`
    const isFree = prepare(`SELECT NOT EXISTS (${owner(schema)}) AS free`, [
      partition.lower ?? '',
      partition.upper,
    ])
    const [state] = (await pool.query(isFree)).rows
    if (state.free) {
      const counted = await readUnlessGone(pool, countAbout(schema, partition))
      if (counted === null) continue
      const dropped = await dropPartition(pool, schema, table, partition, { isFree })
      if (dropped === 'dropped') gone += counted[0].count
      continue
    }
    const left = Math.max(1, max - gone)
    const deleted = await readUnlessGone(
      pool,
      prepare(
        `DELETE FROM ${schema}.${partition.name} WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM ${from} ` +
          `WHERE NOT EXISTS (${orphan(schema)}) LIMIT $1::int8)) RETURNING 1`,
        [left],
      ),
    )
    const count = deleted?.length ?? 0
    gone += count
    if (count === left) return { gone, isMore: true }
  }
  return { gone, isMore: false }
}
