// Retention of events: those that nothing needs any more go, with everything that hangs on them.
//
// What is about to go is locked first, and whatever somebody else holds is passed over: this never waits, so it stands in
// nobody's way. New work for an event needs the event's row, so once that is locked the rest can be counted on. An instance or an
// orphan comes of work for its event, in the commit that ends it: they are looked for last, so whoever is seen to have ended has
// left what it made where it is seen too.

import type { QueryResult } from 'pg'
import type { Pruned, PruneRequest } from '../../core/retention/index.ts'
import {
  CLOSED_LETTERS,
  FINAL_WORK,
  keeperOf,
  keepMsOf,
  OPEN_ENTRIES,
  OPEN_ORPHANS,
} from '../../core/retention/index.ts'
import { joinKey } from '../../core/text/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { type Pool, prepare, sendAll } from './connection.ts'
import { hashKey } from './keys.ts'
import { escapeText, makeArray } from './parameters.ts'
import { isIn, type Partition } from './partitions.ts'
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

/** Looks at `max` events from `after` on, up to `end`; `last` is where it stands if there are more. */
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
  const gone = old.length === 0 ? NONE : await endEvents(pool, schema, request.tenant, now, old, { hasLeft })
  return { gone, seen: seen.length, last: rows.length > seen.length ? (seen.at(-1)?.id ?? after) : null }
}

/** What `readOld` needs of an event. */
export const READ =
  't.id, t.source, t.causation_id AS "causationId", t.dedup_key AS "dedupKey", t.received_at AS "receivedAt"'

/** Those whose time is up. */
export function readOld(request: PruneRequest, now: Instant, rows: QueryResult['rows']): readonly OldEvent[] {
  return rows
    .filter((row) => row.receivedAt + keepMsOf(request, row.source) <= now)
    .map((row) => ({
      id: row.id,
      keeper: keeperOf(row),
      hash: hashKey(joinKey(request.tenant, row.source, row.dedupKey)),
    }))
}

/** Whether the attempts of this work item go with their partition, and not with it. */
export type HasLeft = (work: string) => boolean

export interface Ending {
  /** They go with this partition, together: only what hangs on them is deleted, and no row of an event is locked. */
  readonly partition?: Partition
  /** Nothing is deleted: the answer counts the events that could go. */
  readonly isLook?: boolean
  readonly hasLeft: HasLeft
}

/** Of the given ones, those that nothing needs any more. */
export async function endEvents(
  pool: Pool,
  schema: string,
  tenant: string,
  now: Instant,
  old: readonly OldEvent[],
  { partition, isLook = false, hasLeft }: Ending,
): Promise<GoneWithEvents> {
  const lock = isLook ? '' : ' FOR UPDATE SKIP LOCKED'
  const ids = [
    escapeText(tenant),
    makeArray(
      'text',
      old.map(({ id }) => id),
    ),
  ]
  const keepers = makeArray(
    'text',
    old.flatMap(({ keeper }) => (keeper === null || isIn(partition, keeper) ? [] : keeper)),
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
    const [, causes, events, known, dedup, work, workCounts, letters, letterCounts, entries, wanted] =
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
    const own = new Set(rowsOf(events).map((row) => row.id))
    const open = new Set([
      ...rowsOf(entries).map((row) => row.event),
      ...rowsOf(wanted).map((row) => row.event),
      ...openOnes(rowsOf(work), rowsOf(workCounts), FINAL_WORK),
      ...openOnes(rowsOf(letters), rowsOf(letterCounts), CLOSED_LETTERS),
    ])
    const there = new Set(rowsOf(causes).map((row) => row.id))
    // By id: a cause is before what it caused, and goes with it if it can.
    const going = old.filter(({ id, keeper, hash }) => {
      const key = hash.toString('hex')
      // A key of its own that somebody else holds is being looked at right now: it may be a duplicate that arrives.
      const isFree = owned.get(key)?.event !== id || (windows.get(key)?.until ?? now + 1) <= now
      const isGoing = own.has(id) && !open.has(id) && isFree && !(keeper !== null && there.has(keeper))
      if (isGoing) there.delete(id)
      return isGoing
    })
    if (isLook) {
      await client.query(prepare('ROLLBACK'))
      client.release()
      return { ...NONE, events: going.length }
    }
    const goingIds = new Set(going.map(({ id }) => id))
    const idsOf = (rows: QueryResult['rows']): string[] =>
      rows.filter((row) => goingIds.has(row.event)).map((row) => row.id)
    const gone = makeArray(
      'text',
      going.map(({ id }) => id),
    )
    const goingWork = idsOf(rowsOf(work))
    const workIds = makeArray('text', goingWork)
    const tried = makeArray(
      'text',
      goingWork.filter((id) => !hasLeft(id)),
    )
    const drop = (table: string, where: string, values: readonly (string | Buffer)[]) =>
      prepare(`DELETE FROM ${schema}.${table} WHERE ${where}`, [...values])
    const answers = await sendAll(client, [
      drop('attempt', 'tenant = $1::text AND work = ANY ($2::text[])', [escapeText(tenant), tried]),
      drop('work', 'id = ANY ($1::text[])', [workIds]),
      drop('dead_letter', 'tenant = $1::text AND id = ANY ($2::text[])', [
        escapeText(tenant),
        makeArray('text', idsOf(rowsOf(letters))),
      ]),
      drop('failure', 'tenant = $1::text AND event_id = ANY ($2::text[])', [escapeText(tenant), gone]),
      drop('dedup', 'hash = ANY ($1::uuid[]) AND event = ANY ($2::text[])', [
        makeArray(
          'uuid',
          going.map(({ hash }) => hash),
        ),
        gone,
      ]),
      drop('event_repeat', 'event = ANY ($1::text[])', [gone]),
      drop('event', 'tenant = $1::text AND id = ANY ($2::text[])', [
        escapeText(tenant),
        partition === undefined ? gone : makeArray('text', []),
      ]),
      drop('run', 'tenant = $1::text AND work_id = ANY ($2::text[])', [escapeText(tenant), workIds]),
      prepare('COMMIT'),
    ])
    client.release()
    const [attempts, works, deadLetters, failures, keys, , deleted, runs] = answers.map(
      ({ rowCount }) => rowCount ?? 0,
    )
    return {
      events: deleted ?? 0,
      work: works ?? 0,
      attempts: attempts ?? 0,
      deadLetters: deadLetters ?? 0,
      failures: failures ?? 0,
      dedup: keys ?? 0,
      runs: runs ?? 0,
    }
  } catch (error) {
    // The transaction may be open still: the server ends it with the connection.
    client.release(true)
    throw error
  }
}

const rowsOf = (answer: QueryResult | undefined): QueryResult['rows'] => answer?.rows ?? []

const byHash = (rows: QueryResult['rows']) => new Map(rows.map((row) => [row.hash.replaceAll('-', ''), row]))

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ')

/** Events with a row that is not closed, that has a place in a lane, or that somebody else holds. */
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
