// Retention: one call continues the walk where the previous call ended, over whole partitions of events, then events,
// ledger entries, lanes, escalations, instances, orphans, runs and facts, then partitions of attempts and history.
//
// Rows to remove are locked without waiting, and checked once more under their lock; rows that another session holds
// are left to the next walk.

import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../../core/store/retention/index.ts'
import { keepMsOf, longestKeepMs, OPEN_ENTRIES, youngestEntry } from '../../../core/store/retention/index.ts'
import { nowSql } from '../clock.ts'
import { type Pool, prepare } from '../connection.ts'
import { classifyError, toStoreError } from '../errors.ts'
import { pruneFacts } from '../facts.ts'
import { escapeText, makeArray } from '../parameters.ts'
import { makePartitions } from '../partitions.ts'
import { pruneRuns } from '../runs.ts'
import { pruneEvents } from './prune-events.ts'
import { pruneInstances, type Walking } from './prune-instances.ts'
import { isPlaceOfPartitions, pruneOwned, prunePartitions, readPartitions } from './prune-partitions.ts'
import { makeTenantsIn, type TenantsIn } from './tenants-in.ts'

type Gone = { -readonly [Name in keyof Omit<Pruned, 'next'>]: number }

const TRIES = 3

/** Walked after events and ledger, in this order. */
const OTHERS = [
  'lanes',
  'escalations',
  'instances',
  'orphans',
  'runs',
  'facts',
  'attempts',
  'history',
] as const

export function makePrune(pool: Pool, schema: string): (request: PruneRequest) => Promise<Pruned> {
  const tenantsIn = makeTenantsIn(pool, schema)
  return (request) => pruneRows(pool, schema, request, tenantsIn)
}

/** Deleting is idempotent, so a call whose response was lost is repeated. */
async function pruneRows(
  pool: Pool,
  schema: string,
  request: PruneRequest,
  tenantsIn: TenantsIn,
): Promise<Pruned> {
  for (let tried = 1; ; tried += 1) {
    try {
      const [clock] = (await pool.query(prepare(nowSql(schema)))).rows
      return await walk({ pool, schema, request, now: clock.now, tenantsIn })
    } catch (error) {
      const failure = classifyError(error)
      if (tried >= TRIES || (failure !== 'lost' && failure !== 'again')) throw toStoreError(error)
    }
  }
}

/** A position is an event's id, or the name of another part of the walk and its position. */
async function walk(walking: Walking): Promise<Pruned> {
  const { request } = walking
  const gone: Gone = {
    ...{ events: 0, work: 0, attempts: 0, deadLetters: 0, dedup: 0, failures: 0 },
    ...{ ledger: 0, lanes: 0, escalations: 0, instances: 0, history: 0, orphans: 0, runs: 0, facts: 0 },
  }
  const [, name = 'events', place = request.after ?? ''] =
    /^(events|ledger|lanes|escalations|instances|orphans|runs|facts|attempts|history) (.*)$/s.exec(
      request.after ?? '',
    ) ?? []
  let left = request.scanMax
  const partitions = await readPartitions(walking)
  if (isPlaceOfPartitions(request.after)) {
    if (request.after === null) await makePartitions(walking.pool, walking.schema)
    const weeks = await prunePartitions(walking, partitions, left)
    Object.assign(gone, weeks.gone)
    if (weeks.next !== null) return { ...gone, next: weeks.next }
  }
  if (name === 'events') {
    const events = await pruneEvents(walking, {
      after: isPlaceOfPartitions(request.after) ? '' : place,
      max: left,
      end: partitions.rowsEnd,
      hasLeft: partitions.hasLeftAttempts,
    })
    Object.assign(gone, events.gone)
    left -= events.seen
    if (events.last !== null) return { ...gone, next: events.last === '' ? null : events.last }
  }
  if (name === 'events' || name === 'ledger') {
    const entries = await pruneLedger(walking, name === 'ledger' ? place : '', left)
    gone.ledger = entries.gone
    left -= entries.seen
    if (entries.last !== null) return { ...gone, next: `ledger ${entries.last}` }
  }
  for (const kind of OTHERS.slice(Math.max(0, OTHERS.indexOf(name as (typeof OTHERS)[number])))) {
    if (kind === 'instances') {
      const { last, seen, ...counts } = await pruneInstances(
        walking,
        name === kind ? place : '',
        left,
        partitions.hasLeftHistory,
      )
      Object.assign(gone, counts)
      left -= seen
      if (last !== null) return { ...gone, next: `instances ${last}` }
      continue
    }
    if (kind === 'runs') {
      const { last, seen, runs } = await pruneRuns(walking, name === kind ? place : '', left)
      gone.runs += runs
      left -= seen
      if (last !== null) return { ...gone, next: `runs ${last}` }
      continue
    }
    if (kind === 'facts') {
      const { last, seen, facts } = await pruneFacts(walking, name === kind ? place : '', left)
      gone.facts = facts
      left -= seen
      if (last !== null) return { ...gone, next: `facts ${last}` }
      continue
    }
    if (kind === 'attempts' || kind === 'history') {
      const over = kind === 'attempts' ? partitions.overAttempts : partitions.overHistory
      const owned = await pruneOwned(walking, kind, over, left)
      gone[kind] += owned.gone
      left -= owned.gone
      if (owned.isMore) return { ...gone, next: `${kind} ` }
      continue
    }
    const idle = await pruneIdle(walking, kind, left)
    gone[kind] = idle.gone
    left -= idle.gone
    if (idle.isMore) return { ...gone, next: `${kind} ` }
  }
  return { ...gone, next: null }
}

/**
 * By age. A key is removed as a whole, by its latest generation: if only that one were removed, an earlier one would
 * stand for the key.
 */
async function pruneLedger(
  { pool, schema, request, now }: Walking,
  place: string,
  max: number,
): Promise<{ readonly gone: number; readonly seen: number; readonly last: string | null }> {
  const keep = request.ledger
  if (keep === undefined) return { gone: 0, seen: 0, last: null }
  const [, at = '-1', key = ''] = /^(\d+) (.*)$/s.exec(place) ?? []
  const { rows } = await pool.query(
    prepare(
      'SELECT t.hash, t.key, t.consumer, t.state, t.created_at AS "createdAt", t.settled_at AS "settledAt" ' +
        `FROM ${schema}.ledger AS t WHERE t.tenant = $1::text AND t.created_at <= $2::int8 ` +
        'AND t.created_at >= $3::int8 AND (t.created_at, t.key) > ($3::int8, $4::text) ' +
        'ORDER BY t.created_at, t.key LIMIT $5::int8',
      [escapeText(request.tenant), youngestEntry(keep, now), at, escapeText(key), max + 1],
    ),
  )
  const seen = rows.slice(0, max)
  const old = seen.filter(
    (row) =>
      !OPEN_ENTRIES.includes(row.state) &&
      (row.settledAt ?? row.createdAt) + keepMsOf(keep, row.consumer) <= now,
  )
  const last = seen.at(-1)
  return {
    gone: old.length === 0 ? 0 : await deleteEntries(pool, schema, old),
    seen: seen.length,
    last: rows.length > seen.length ? (last === undefined ? place : `${last.createdAt} ${last.key}`) : null,
  }
}

interface OldEntry {
  readonly hash: string
  readonly settledAt: Instant | null
}

/** Unchanged since they were read, and with their event gone. */
async function deleteEntries(pool: Pool, schema: string, old: readonly OldEntry[]): Promise<number> {
  const open = OPEN_ENTRIES.map((state) => `'${state}'`).join(', ')
  const { rows } = await pool.query(
    prepare(
      `WITH going AS MATERIALIZED (
         SELECT t.hash FROM unnest($1::uuid[], $2::int8[]) AS k(hash, settled_at)
         JOIN ${schema}.ledger AS t ON t.hash = k.hash
         WHERE t.state NOT IN (${open}) AND t.settled_at IS NOT DISTINCT FROM k.settled_at
           AND NOT EXISTS (SELECT FROM ${schema}.event AS e WHERE e.tenant = t.tenant AND e.id = t.event_id COLLATE "C")
           AND NOT EXISTS (SELECT FROM ${schema}.ledger_past AS p WHERE p.hash = t.hash AND p.state IN (${open}))
         FOR UPDATE OF t SKIP LOCKED
       ), past AS (
         DELETE FROM ${schema}.ledger_past AS p USING going AS g WHERE p.hash = g.hash RETURNING p.hash
       ), latest AS (
         DELETE FROM ${schema}.ledger AS l USING going AS g WHERE l.hash = g.hash RETURNING l.hash
       )
       SELECT (SELECT count(*) FROM past) + (SELECT count(*) FROM latest) AS count`,
      [
        makeArray(
          'uuid',
          old.map(({ hash }) => Buffer.from(hash.replaceAll('-', ''), 'hex')),
        ),
        makeArray(
          'int8',
          old.map(({ settledAt }) => settledAt),
        ),
      ],
    ),
  )
  return rows[0].count
}

const IDLE = {
  lanes: { table: 'lane', key: 'hash', where: 't.places = 0 AND t.waiting = 0', order: 't.consumer, t.key' },
  escalations: { table: 'escalation', key: 'id', where: "t.state = 'acknowledged'", order: 't.id' },
  orphans: { table: 'orphan', key: 'id', where: "t.state IN ('correlated', 'discarded')", order: 't.id' },
} as const

/** Rows that were not touched for as long as any event is stored, by age: all of them are removed. */
async function pruneIdle(
  { pool, schema, request, now }: Walking,
  kind: keyof typeof IDLE,
  max: number,
): Promise<{ readonly gone: number; readonly isMore: boolean }> {
  const { table, key, where, order } = IDLE[kind]
  const idle = `FROM ${schema}.${table} AS t WHERE t.tenant = $1::text AND ${where} AND t.updated_at <= $2::int8`
  const values = [escapeText(request.tenant), now - longestKeepMs(request)]
  const { rowCount } = await pool.query(
    prepare(
      `WITH going AS MATERIALIZED (SELECT t.tenant, t.${key} ${idle} ORDER BY t.updated_at, ${order} ` +
        `LIMIT $3::int8 FOR UPDATE SKIP LOCKED) DELETE FROM ${schema}.${table} AS d USING going AS g ` +
        `WHERE d.tenant = g.tenant AND d.${key} = g.${key}`,
      [...values, max],
    ),
  )
  const gone = rowCount ?? 0
  if (gone < max) return { gone, isMore: false }
  const { rows } = await pool.query(prepare(`SELECT EXISTS (SELECT ${idle}) AS "isMore"`, values))
  return { gone, isMore: rows[0].isMore }
}
