// Lists of jobs, newest first, and how much of a consumer is open. Queries without an index scan a bounded number of
// rows, so that an unknown consumer costs a page as little as one that has every job.

import { workIdSpan } from '../../core/events/event/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { SUBSCRIPTION_PREFIX, type WorkRow, type WorkState } from '../../core/queue/work/index.ts'
import type { OpenCount, Page, TenantReads } from '../../ports/store.ts'
import { SCAN_ROWS_MAX } from '../../ports/store.ts'
import { WORK_COLUMNS } from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Where } from './pages.ts'
import type { ReadAccess, Value } from './read-connection.ts'
import { toWork } from './rows.ts'
import { WORK_CODE } from './state-codes.ts'
import { fromStored, type Stored, toStored } from './text-values.ts'

export type WorkQuery = Parameters<TenantReads['workList']>[0]

const LIST = 'work'
/** Worded like the partial indexes: the planner accepts no other wording. */
const OF_SUBSCRIPTION = "consumer >= 'subscription:' AND consumer < 'subscription;'"

interface Base {
  readonly index: string
  /** What the index holds. */
  readonly wheres: readonly Where[]
  /** Further conditions on the rows. */
  readonly others: readonly Where[]
  /** So few that all are read and sorted. */
  readonly isFew?: boolean
}

export function listWork(access: ReadAccess, tenant: TenantId, query: WorkQuery): Page<WorkRow> {
  const { limit, scanMax = SCAN_ROWS_MAX } = query
  const after = query.cursor === null ? null : decodeCursor(LIST, query.cursor)[1]
  const no = access.tenantNumber(tenant)
  const base = chooseBase(access, no, query, scanMax)
  const table = `work INDEXED BY ${base.index}`
  const wheres: Where[] = [['tenant = ?', no], ...base.wheres]
  const span = workIdSpan(query.from, query.to)
  if (after !== null) wheres.push(['id < ?', after])
  if (span.atLeast !== null) wheres.push(['id >= ?', span.atLeast])
  if (span.below !== null) wheres.push(['id < ?', span.below])
  const others = [...base.others, ...filtersOf(query)]
  const isScan = others.length > 0 && base.isFew !== true
  const end = isScan ? findEnd(access, table, wheres, scanMax) : null
  if (end !== null) wheres.push(['id >= ?', end])
  const [where, values] = join([...wheres, ...others])
  const text = `SELECT ${WORK_COLUMNS} FROM ${table} WHERE ${where} ORDER BY id DESC LIMIT ?`
  const rows = access.all(text, ...values, limit + 1)
  const items = rows.slice(0, limit).map((row) => toWork(row, tenant))
  const last = rows.length > items.length ? (items.at(-1)?.id ?? null) : end
  return { items, nextCursor: last === null ? null : encodeCursor(LIST, [0, last]) }
}

/** Whether the list may skip rows that it does not return, or counts many. */
export function isWorkScan({ state, consumer, kind, class: failure, from, to }: WorkQuery): boolean {
  if ([kind, failure, from, to].some((filter) => filter !== undefined)) return true
  return (
    consumer !== undefined && (!isSubscription(toStored(consumer)) || state === 'done' || state === 'ready')
  )
}

const isSubscription = (consumer: Stored | undefined): consumer is string =>
  typeof consumer === 'string' && consumer.startsWith(SUBSCRIPTION_PREFIX)

/** The state as a literal, so that the planner can see which partial index holds it. */
export function inState(state: WorkState): string {
  const code = WORK_CODE[state]
  return code > 2 ? `state = ${code} AND state > 2` : `state = ${code}`
}

function chooseBase(
  access: ReadAccess,
  tenant: number,
  { state, consumer: name }: WorkQuery,
  scanMax: number,
): Base {
  const consumer = name === undefined ? undefined : toStored(name)
  const ofConsumer: Where[] = consumer === undefined ? [] : [['consumer = ?', consumer]]
  const ofState: Where[] = state === undefined ? [] : [[inState(state)]]
  // As many as the nodes have slots.
  if (state === 'leased') return { index: 'work_leased', wheres: ofState, others: ofConsumer, isFew: true }
  if (state === 'ready' && countReady(access, tenant, consumer, scanMax + 1) <= scanMax) {
    return { index: 'work_ready', wheres: [...ofState, ...ofConsumer], others: [], isFew: true }
  }
  const isHeld = state !== undefined && WORK_CODE[state] > 2
  if (isSubscription(consumer)) {
    const own: Where[] = [[OF_SUBSCRIPTION], ...ofConsumer]
    return isHeld
      ? { index: 'work_delivery_held', wheres: [...own, ...ofState], others: [] }
      : { index: 'work_delivery', wheres: own, others: ofState }
  }
  if (isHeld) return { index: 'work_held', wheres: ofState, others: ofConsumer }
  return { index: 'work_id', wheres: [], others: [...ofConsumer, ...ofState] }
}

function filtersOf({ kind, class: failure, from, to }: WorkQuery): Where[] {
  const wheres: Where[] = []
  if (kind !== undefined) wheres.push(['kind = ?', kind])
  if (failure !== undefined) wheres.push(['class = ?', failure])
  if (from !== undefined) wheres.push(['created_at >= ?', from])
  if (to !== undefined) wheres.push(['created_at < ?', to])
  return wheres
}

/** The last row to scan, if there are more after it: from the index alone. */
function findEnd({ all }: ReadAccess, table: string, wheres: readonly Where[], scanMax: number) {
  const [where, values] = join(wheres)
  const text = `SELECT id FROM ${table} WHERE ${where} ORDER BY id DESC LIMIT 2 OFFSET ?`
  const [end, next] = all(text, ...values, scanMax - 1)
  return next === undefined ? null : (end?.id as string)
}

function countReady({ get }: ReadAccess, tenant: number, consumer: Stored | undefined, cap: number): number {
  const from = 'SELECT 1 FROM work INDEXED BY work_ready WHERE state = 2 AND tenant = ?'
  const of = consumer === undefined ? [] : [consumer]
  const text = `SELECT count(*) AS n FROM (${from}${consumer === undefined ? '' : ' AND consumer = ?'} LIMIT ?)`
  return get(text, tenant, ...of, cap)?.n as number
}

export function countOpen(
  access: ReadAccess,
  tenant: TenantId,
  consumers: readonly string[],
  cap: number,
): OpenCount[] {
  const no = access.tenantNumber(tenant)
  const held = access.all(
    'SELECT consumer, count(*) AS n FROM work INDEXED BY work_leased WHERE state = 1 AND tenant = ? GROUP BY consumer',
    no,
  )
  const leased = new Map(held.map((row) => [fromStored(row.consumer as Stored), row.n as number]))
  const waiting =
    'SELECT count(*) AS n FROM (SELECT 1 FROM work INDEXED BY work_waiting' +
    ' WHERE state = 3 AND tenant = ? AND consumer = ? LIMIT ?)'
  return consumers.map((consumer) => ({
    consumer,
    ready: countReady(access, no, toStored(consumer), cap),
    waiting: access.get(waiting, no, toStored(consumer), cap)?.n as number,
    leased: Math.min(cap, leased.get(consumer) ?? 0),
  }))
}

function join(wheres: readonly Where[]): readonly [string, readonly Value[]] {
  return [wheres.map(([condition]) => condition).join(' AND '), wheres.flatMap(([, ...values]) => values)]
}
