// Retention by whole partitions.
//
// A partition of events goes when its last week is older than the longest time that events are kept, when it holds one tenant, and
// when nothing needs any event in it. That is looked at in pieces first; then what hangs on the events is deleted in pieces; then
// the partition is dropped, if nobody has added work to any of its events meanwhile and there are as many as were looked at. One
// that cannot go is left to the walk by rows. So until the drop every event is whole but for what is over of it.
//
// Attempts lie by their work item and history by its instance. When all items or instances of a week are gone, so does the week;
// while a few are left, what belongs to those that are gone goes row by row.
//
// Where events are kept for less than four weeks, all of this goes row by row, and partitions when they are empty.

import type { QueryResult } from 'pg'
import { eventIdAt, instanceIdAt, workIdAt } from '../../core/ids/index.ts'
import { longestKeepMs, pruneEnd } from '../../core/retention/index.ts'
import { DAY } from '../../core/time/index.ts'
import { type Pool, prepare, type Statement } from './connection.ts'
import { isGone } from './errors.ts'
import { escapeText } from './parameters.ts'
import { dropPartition, isIn, listPartitions, type Partition } from './partitions.ts'
import { endEvents, type GoneWithEvents, type HasLeft, NONE, READ, readOld } from './prune-events.ts'
import type { Walking } from './prune-instances.ts'

const WEEK_MS = 7 * DAY
/** Where events are kept for less, a week more would be much. */
const WAITS_FROM_MS = 4 * WEEK_MS
/** A partition that somebody has in hand is asked for this often, then left to the walk by rows. */
const DROP_TRIES = 20
/** Rows of a partition that are counted one by one. */
const COUNTED_MAX = 1_000

export interface Partitions {
  /** Of events, that are older than any event is kept. */
  readonly over: readonly Partition[]
  readonly overAttempts: readonly Partition[]
  readonly overHistory: readonly Partition[]
  /** Where the walk by rows ends. */
  readonly rowsEnd: string
  readonly hasLeftAttempts: HasLeft
  readonly hasLeftHistory: (instance: string) => boolean
}

export async function readPartitions({ pool, schema, request, now }: Walking): Promise<Partitions> {
  const until = now - longestKeepMs(request)
  const { event: events, attempt: attempts, history } = await listPartitions(pool, schema)
  const isOver = (end: string) => (partition: Partition) => partition.upper <= end
  const overAttempts = attempts.filter(isOver(workIdAt(until)))
  const overHistory = history.filter(isOver(instanceIdAt(until)))
  const hasWeeks = longestKeepMs(request) >= WAITS_FROM_MS
  const over = events.filter(isOver(eventIdAt(until)))
  const next = events.find(({ lower, upper }) => lower !== null && upper > eventIdAt(until))
  return {
    over,
    rowsEnd: await findRowsEnd({ pool, schema, request, now }, next),
    overAttempts,
    overHistory,
    hasLeftAttempts: (work) => hasWeeks && overAttempts.some((partition) => isIn(partition, work)),
    hasLeftHistory: (instance) => hasWeeks && overHistory.some((partition) => isIn(partition, instance)),
  }
}

/** Where all events are kept about as long, and for weeks, they wait for their partition. Otherwise each goes by itself. */
async function findRowsEnd(walking: Walking, next: Partition | undefined): Promise<string> {
  const { request, now } = walking
  const end = pruneEnd(request, now)
  const longestMs = longestKeepMs(request)
  const shortestMs = Math.min(request.otherwiseMs, ...Object.values(request.keepMs))
  if (next?.lower == null || next.lower >= end) return end
  if (longestMs < WAITS_FROM_MS || longestMs - shortestMs > WEEK_MS) return end
  return (await isShared(walking, next)) ? end : next.lower
}

async function isShared({ pool, schema, request }: Walking, { name }: Partition): Promise<boolean> {
  const other = (sign: string) =>
    `EXISTS (SELECT FROM ${schema}.${name} AS t WHERE t.tenant ${sign} $1::text)`
  const sql = `SELECT ${other('<')} OR ${other('>')} AS shared`
  const rows = await readUnlessGone(pool, prepare(sql, [escapeText(request.tenant)]))
  return rows?.[0].shared ?? true
}

/** Null if another node has dropped the partition in the meantime. */
async function readUnlessGone(pool: Pool, statement: Statement): Promise<QueryResult['rows'] | null> {
  try {
    return (await pool.query(statement)).rows
  } catch (error) {
    if (isGone(error)) return null
    throw error
  }
}

/** What is done of a partition: `look`, `empty` and `drop`, its upper end, how many events it has, and where that stands. */
const PLACE = /^(look|empty|drop) (\S+) (\d+) (.*)$/s

export const isPlaceOfPartitions = (after: string | null) => after === null || PLACE.test(after)

/** One piece; `next` is null when no partition is left that could go. */
export async function prunePartitions(
  walking: Walking,
  { over, hasLeftAttempts }: Partitions,
  max: number,
): Promise<{ readonly gone: GoneWithEvents; readonly next: string | null }> {
  const { pool, schema, request, now } = walking
  const hasWeeks = longestKeepMs(request) >= WAITS_FROM_MS
  const [, begun = 'look', at = '', counted = '0', from = ''] = PLACE.exec(request.after ?? '') ?? []
  let gone = NONE
  for (const partition of over.filter(({ upper }) => upper >= at)) {
    const isBegun = partition.upper === at
    let phase = isBegun ? begun : 'look'
    let count = isBegun ? Number(counted) : 0
    let place = isBegun ? from : ''
    const placeAt = () => `${phase} ${partition.upper} ${count} ${place}`
    if (phase === 'look' && (await isShared(walking, partition))) continue
    if (phase !== 'drop') {
      const rows = await readUnlessGone(
        pool,
        prepare(
          `SELECT ${READ} FROM ${schema}.${partition.name} AS t WHERE t.tenant = $1::text AND t.id > $2::text ` +
            'ORDER BY t.id LIMIT $3::int8',
          [escapeText(request.tenant), escapeText(place), max + 1],
        ),
      )
      if (rows === null) continue
      const seen = rows.slice(0, max)
      const old = readOld(request, now, seen)
      if (old.length < seen.length || (seen.length > 0 && !hasWeeks)) continue
      const isLook = phase === 'look'
      const ending = { partition, isLook, hasLeft: hasLeftAttempts }
      const ended = await endEvents(pool, schema, request.tenant, now, old, ending)
      if (isLook && ended.events < old.length) continue
      if (!isLook) gone = ended
      count += isLook ? seen.length : 0
      place = seen.at(-1)?.id ?? ''
      if (rows.length > seen.length) return { gone, next: placeAt() }
      phase = isLook && seen.length > 0 ? 'empty' : 'drop'
      place = ''
      if (seen.length > 0) return { gone, next: placeAt() }
    }
    const dropped = await dropEvents(walking, partition, count)
    // An empty one is no piece of work, and may as well go another time.
    if (count === 0) continue
    if (dropped === 'dropped') {
      return { gone: { ...gone, events: count }, next: `drop ${partition.upper} 0 ` }
    }
    const tries = Number(place) + 1
    if (dropped === 'busy' && tries < DROP_TRIES) {
      place = String(tries)
      return { gone, next: placeAt() }
    }
  }
  return { gone, next: null }
}

/** If it has the events that were looked at and no others, and no work. */
function dropEvents({ pool, schema }: Walking, partition: Partition, count: number) {
  const { name, lower, upper } = partition
  const isWhole = prepare(`SELECT count(*) = $1::int8 AS free FROM ${schema}.${name}`, [count])
  const isFree = prepare(
    `SELECT NOT EXISTS (SELECT FROM ${schema}.work AS w WHERE w.event_id >= $1::text AND w.event_id < $2::text) AS free`,
    [lower ?? '', upper],
  )
  return dropPartition(pool, schema, 'event', partition, { isWhole, isFree })
}

const OWNERS = {
  attempts: {
    table: 'attempt',
    owner: (schema: string) => `SELECT FROM ${schema}.work AS o WHERE o.id >= $1::text AND o.id < $2::text`,
    orphan: (schema: string) => `SELECT FROM ${schema}.work AS o WHERE o.id = t.work`,
  },
  history: {
    table: 'history',
    // From one tenant to the next: an instance is found by tenant and id.
    owner: (schema: string) =>
      `WITH RECURSIVE tenants AS (
         (SELECT i.tenant FROM ${schema}.instance AS i ORDER BY i.tenant LIMIT 1)
         UNION ALL
         SELECT next.tenant FROM tenants AS b CROSS JOIN LATERAL (
           SELECT i.tenant FROM ${schema}.instance AS i WHERE i.tenant > b.tenant ORDER BY i.tenant LIMIT 1) AS next)
       SELECT FROM tenants AS b CROSS JOIN LATERAL (
         SELECT FROM ${schema}.instance AS i WHERE i.tenant = b.tenant AND i.id >= $1::text AND i.id < $2::text LIMIT 1) AS found`,
    orphan: (schema: string) =>
      `SELECT FROM ${schema}.instance AS o WHERE o.tenant = t.tenant AND o.id = t.instance`,
  },
} as const

/** Told, and of no other use: many are as many as the planner thinks. */
function countAbout(schema: string, { name }: Partition): Statement {
  const table = `${schema}.${name}`
  return prepare(
    `SELECT CASE WHEN few.count < $1::int8 THEN few.count ELSE greatest(few.count, c.reltuples::int8) END AS count ` +
      `FROM pg_class AS c, (SELECT count(*) FROM (SELECT FROM ${table} LIMIT $1::int8) AS t) AS few ` +
      `WHERE c.oid = '${table}'::regclass`,
    [COUNTED_MAX],
  )
}

/** What belongs to items or instances that are gone, of any tenant. */
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
