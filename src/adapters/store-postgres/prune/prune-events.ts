// Retention of events: those that nothing needs any more are removed, with everything that depends on them.
//
// Rows to remove are locked first, and rows that another session holds are skipped: this never waits, so it blocks no
// one. A new job for an event needs the event's row, so once that is locked the rest is stable. An instance or an
// orphan results from a job of its event, in the commit that ends the job: they are looked for last, so that everything
// made by a job that is seen as ended is seen too.

import type { QueryResult } from 'pg'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { KeepTimes, Pruned } from '../../../core/store/retention/index.ts'
import {
  CLOSED_DEAD_LETTERS,
  FINAL_WORK,
  keeperOf,
  keepMsOf,
  OPEN_ENTRIES,
  OPEN_ORPHANS,
} from '../../../core/store/retention/index.ts'
import { hashKey } from '../commit/keys.ts'
import { type Pool, prepare, sendAll } from '../connection.ts'
import { escapeText, makeArray } from '../parameters.ts'
import { isIn, type Partition } from '../partitions.ts'
import type { Walking } from './prune-instances.ts'

export interface OldEvent {
  readonly id: string
  readonly keeper: string | null
  readonly hash: Buffer
}

export type GoneWithEvents = Pick<
  Pruned,
  'events' | 'work' | 'attempts' | 'deadLetters' | 'dedup' | 'failures' | 'runs'
>

export const NONE: GoneWithEvents = {
  events: 0,
  work: 0,
  attempts: 0,
  deadLetters: 0,
  dedup: 0,
  failures: 0,
  runs: 0,
}

export function addGone(one: GoneWithEvents, other: GoneWithEvents): GoneWithEvents {
  const names = Object.keys(NONE) as (keyof GoneWithEvents)[]
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as GoneWithEvents
}

/** Scans `max` events from `after` on, up to `end`; `last` is the position if there are more. */
export async function pruneEvents(
  { pool, schema, request, now }: Walking,
  {
    after,
    max,
    end,
    hasLeft,
  }: { readonly after: string; readonly max: number; readonly end: string; readonly hasLeft: HasLeft },
): Promise<{ readonly gone: GoneWithEvents; readonly seen: number; readonly last: string | null }> {
  const { rows } = await pool.query(
    prepare(
      `SELECT ${READ} FROM ${schema}.event AS t WHERE t.tenant = $1::text AND t.id > $2::text AND t.id < $3::text ` +
        'ORDER BY t.id LIMIT $4::int8',
      [escapeText(request.tenant), escapeText(after), end, max + 1],
    ),
  )
  const seen = rows.slice(0, max)
  const old = readOld(request, now, seen)
  const { gone } =
    old.length === 0 ? { gone: NONE } : await endEvents(pool, schema, request.tenant, now, old, { hasLeft })
  return { gone, seen: seen.length, last: rows.length > seen.length ? (seen.at(-1)?.id ?? after) : null }
}

/** What `readOld` needs of an event. */
export const READ =
  't.id, t.source, t.causation_id AS "causationId", t.dedup_key AS "dedupKey", t.received_at AS "receivedAt"'

/** The events whose time is up. */
export function readOld(
  times: KeepTimes & { readonly tenant: string },
  now: Instant,
  rows: QueryResult['rows'],
): readonly OldEvent[] {
  return rows
    .filter((row) => row.receivedAt + keepMsOf(times, row.source) <= now)
    .map((row) => ({
      id: row.id,
      keeper: keeperOf(row),
      hash: hashKey(joinKey(times.tenant, row.source, row.dedupKey)),
    }))
}

/** Whether the attempts of this job are removed with their partition, and not with the job. */
export type HasLeft = (work: string) => boolean

export interface Ending {
  /**
   * They are dropped with this partition, together: only dependent rows are deleted, if all of the events can go, and
   * no row of an event is locked.
   */
  readonly partition?: Partition
  readonly hasLeft: HasLeft
}

interface Deletion {
  readonly of?: keyof GoneWithEvents
  readonly from: string
  readonly using?: string
  readonly where: string
  readonly values: readonly (string | Buffer)[]
}

export interface Ended {
  readonly gone: GoneWithEvents
  /** How many of the given ones nothing needs any more. */
  readonly free: number
}

/** Of the given ones, those that nothing needs any more. */
export async function endEvents(
  pool: Pool,
  schema: string,
  tenant: string,
  now: Instant,
  old: readonly OldEvent[],
  { partition, hasLeft }: Ending,
): Promise<Ended> {
  const lock = ' FOR UPDATE SKIP LOCKED'
  const ids = [
    escapeText(tenant),
    makeArray(
      'text',
      old.map(({ id }) => id),
    ),
  ]
  const keepers = makeArray(
    'text',
    // An event earlier in the partition was scanned before, and goes with it.
    old.flatMap(({ id, keeper }) =>
      keeper === null || (isIn(partition, keeper) && keeper < id) ? [] : keeper,
    ),
  )
  const hashes = makeArray(
    'uuid',
    old.map(({ hash }) => hash),
  )
  const locked = (what: string, table: string) =>
    prepare(
      `SELECT ${what} FROM ${schema}.${table} AS t WHERE t.tenant = $1::text AND t.event_id = ANY ($2::text[]) ` +
        `ORDER BY t.id${lock}`,
      ids,
    )
  const counted = (table: string) =>
    prepare(
      `SELECT t.event_id AS event, count(*) AS count FROM ${schema}.${table} AS t ` +
        'WHERE t.tenant = $1::text AND t.event_id = ANY ($2::text[]) GROUP BY t.event_id',
      ids,
    )
  const client = await pool.connect()
  try {
    const [, causes, events, known, dedup, work, workCounts, letters, deadLetterCounts, entries, wanted] =
      await sendAll(client, [
        prepare('BEGIN'),
        prepare(
          `SELECT t.id FROM ${schema}.event AS t WHERE t.tenant = $1::text AND t.id = ANY ($2::text[])`,
          [escapeText(tenant), keepers],
        ),
        prepare(
          `SELECT t.id FROM ${schema}.event AS t WHERE t.tenant = $1::text AND t.id = ANY ($2::text[]) ` +
            `ORDER BY t.id${partition === undefined ? lock : ''}`,
          ids,
        ),
        prepare(`SELECT t.hash, t.event FROM ${schema}.dedup AS t WHERE t.hash = ANY ($1::uuid[])`, [hashes]),
        prepare(
          `SELECT t.hash, t.event, t.until FROM ${schema}.dedup AS t WHERE t.hash = ANY ($1::uuid[]) ` +
            `ORDER BY t.hash${lock}`,
          [hashes],
        ),
        locked('t.id, t.event_id AS event, t.state, t.has_place AS "hasPlace"', 'work'),
        counted('work'),
        locked('t.id, t.event_id AS event, t.state', 'dead_letter'),
        counted('dead_letter'),
        prepare(
          `SELECT DISTINCT t.event_id AS event FROM ${schema}.work AS t JOIN ${schema}.ledger_all AS l ` +
            `ON l.work = t.id COLLATE "default" AND l.tenant = t.tenant AND l.state IN (${quoted(OPEN_ENTRIES)}) ` +
            'WHERE t.tenant = $1::text AND t.event_id = ANY ($2::text[])',
          ids,
        ),
        prepare(
          `SELECT t.event_id AS event FROM ${schema}.instance AS t WHERE t.tenant = $1::text ` +
            `AND t.event_id = ANY ($2::text[]) AND t.state = 'active' UNION ALL ` +
            `SELECT t.event_id FROM ${schema}.orphan AS t WHERE t.tenant = $1::text ` +
            `AND t.event_id = ANY ($2::text[]) AND t.state IN (${quoted(OPEN_ORPHANS)}) UNION ALL ` +
            `SELECT t.event FROM ${schema}.outbox AS t WHERE t.tenant = $1::text AND t.event = ANY ($2::text[])`,
          ids,
        ),
      ])
    const windows = byHash(rowsOf(dedup))
    const owned = byHash(rowsOf(known))
    const present = new Set(rowsOf(events).map((row) => row.id))
    const open = new Set([
      ...rowsOf(entries).map((row) => row.event),
      ...rowsOf(wanted).map((row) => row.event),
      ...openOnes(rowsOf(work), rowsOf(workCounts), FINAL_WORK),
      ...openOnes(rowsOf(letters), rowsOf(deadLetterCounts), CLOSED_DEAD_LETTERS),
    ])
    const there = new Set(rowsOf(causes).map((row) => row.id))
    // By id: a cause comes before what it caused, and is removed with it if possible.
    const going = old.filter(({ id, keeper, hash }) => {
      const key = hash.toString('hex')
      // A key of its own that another session holds is being read right now: a duplicate may be arriving.
      const isFree = owned.get(key)?.event !== id || (windows.get(key)?.until ?? now + 1) <= now
      const canGo = present.has(id) && !open.has(id) && isFree && !(keeper !== null && there.has(keeper))
      if (canGo) there.delete(id)
      return canGo
    })
    if (going.length === 0 || (partition !== undefined && going.length < old.length)) {
      await client.query(prepare('ROLLBACK'))
      client.release()
      return { gone: NONE, free: going.length }
    }
    const goingIds = going.map(({ id }) => id)
    const isGoing = new Set(goingIds)
    const idsOf = (rows: QueryResult['rows']): string[] =>
      rows.filter((row) => isGoing.has(row.event)).map((row) => row.id)
    const goingWork = idsOf(rowsOf(work))
    const tried = goingWork.filter((id) => !hasLeft(id))
    const goingDeadLetters = idsOf(rowsOf(letters))
    const own = (column: string) => `t.tenant = $1::text AND t.${column} = ANY ($2::text[])`
    const ofOwn = (named: readonly string[]) => [escapeText(tenant), makeArray('text', named)]
    // Rows that do not exist are not deleted.
    const deletes: readonly (Deletion | false)[] = [
      tried.length > 0 && { of: 'attempts', from: 'attempt', where: own('work'), values: ofOwn(tried) },
      goingWork.length > 0 && { of: 'work', from: 'work', where: own('id'), values: ofOwn(goingWork) },
      goingWork.length > 0 && { of: 'runs', from: 'run', where: own('work_id'), values: ofOwn(goingWork) },
      goingDeadLetters.length > 0 && {
        ...{ of: 'deadLetters', from: 'dead_letter', where: own('id'), values: ofOwn(goingDeadLetters) },
      },
      { of: 'failures', from: 'failure', where: own('event_id'), values: ofOwn(goingIds) },
      {
        of: 'dedup',
        from: 'dedup',
        using: 'unnest($1::uuid[], $2::text[]) AS k(hash, event)',
        where: 't.hash = k.hash AND t.event = k.event',
        values: [
          makeArray(
            'uuid',
            going.map(({ hash }) => hash),
          ),
          makeArray('text', goingIds),
        ],
      },
      { from: 'event_repeat', where: 't.event = ANY ($1::text[])', values: [makeArray('text', goingIds)] },
      partition === undefined && { of: 'events', from: 'event', where: own('id'), values: ofOwn(goingIds) },
    ]
    const asked = deletes.filter((one) => one !== false)
    const answers = await sendAll(client, [
      ...asked.map(({ from, using, where, values }) =>
        prepare(
          `DELETE FROM ${schema}.${from} AS t${using === undefined ? '' : ` USING ${using}`} WHERE ${where}`,
          [...values],
        ),
      ),
      prepare('COMMIT'),
    ])
    client.release()
    const gone = { ...NONE }
    for (const [index, { of }] of asked.entries()) {
      if (of !== undefined) gone[of] = answers[index]?.rowCount ?? 0
    }
    return { gone, free: going.length }
  } catch (error) {
    // The transaction may still be open: the server ends it with the connection.
    client.release(true)
    throw error
  }
}

const rowsOf = (answer: QueryResult | undefined): QueryResult['rows'] => answer?.rows ?? []

const byHash = (rows: QueryResult['rows']) => new Map(rows.map((row) => [row.hash.replaceAll('-', ''), row]))

export const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ')

/** Events with a row that is not closed, that has a lane position, or that another session holds. */
function openOnes(
  rows: QueryResult['rows'],
  counts: QueryResult['rows'],
  closed: readonly string[],
): string[] {
  const left = new Map<string, number>(counts.map((row) => [row.event, row.count]))
  for (const { event, state, hasPlace } of rows) {
    if (closed.includes(state) && hasPlace !== true) left.set(event, (left.get(event) ?? 0) - 1)
  }
  return [...left].filter(([, count]) => count !== 0).map(([event]) => event)
}
