// Lists of jobs, newest first, and how much of a consumer is open. Queries without an index scan a bounded number of
// rows, so that an unknown consumer costs a page as little as one that has every job.

import { workIdSpan } from '../../../core/events/event/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { SUBSCRIPTION_PREFIX, type WorkRow, type WorkState } from '../../../core/queue/work/index.ts'
import type { OpenCount, Page, TenantReads } from '../../../ports/store.ts'
import { SCAN_ROWS_MAX } from '../../../ports/store.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText, makeArray } from '../parameters.ts'
import { selectList, WORK } from '../tables.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { findScanEnd, makeParameters, type Parameter } from './scan.ts'

type WorkQuery = Parameters<TenantReads['workList']>[0]
type Condition = (parameter: Parameter) => string

/** Worded like the partial indexes, so that the planner sees that they hold the rows. */
const OF_SUBSCRIPTION: Condition = () => "t.consumer >= 'subscription:' AND t.consumer < 'subscription;'"

interface Base {
  /** What an index holds, in the order of ids. */
  readonly wheres: readonly Condition[]
  /** Further conditions on the rows. */
  readonly others: readonly Condition[]
  /** So few that all are read and sorted. */
  readonly isFew?: boolean
}

export async function listWork(
  query: Query,
  schema: string,
  tenant: TenantId,
  request: WorkQuery,
): Promise<Page<WorkRow>> {
  const { limit, scanMax = SCAN_ROWS_MAX } = request
  const after = request.cursor === null ? null : decodeCursor(WORK.name, ['text'], request.cursor)[0]
  const base = await chooseBase(query, schema, tenant, request, scanMax)
  const span = workIdSpan(request.from, request.to)
  const place: Condition[] = []
  if (after != null) place.push((parameter) => `t.id < ${parameter(after, 'text')}`)
  for (const [sign, id] of [['>=', span.atLeast] as const, ['<', span.below] as const]) {
    if (id !== null) place.push((parameter) => `t.id ${sign} ${parameter(id, 'text')}`)
  }
  const ofTenant: Condition = (parameter) => `t.tenant = ${parameter(escapeText(tenant), 'text')}`
  const indexed = [ofTenant, ...base.wheres]
  const others = [...base.others, ...filtersOf(request)]
  const isScan = others.length > 0 && base.isFew !== true
  const looked = [...indexed, ...place]
  const end = isScan
    ? await findScanEnd(
        query,
        `${schema}.work`,
        (parameter) => looked.map((condition) => condition(parameter)),
        scanMax,
      )
    : null
  if (end !== null) place.push((parameter) => `t.id >= ${parameter(end, 'text')}`)

  const { values, parameter } = makeParameters()
  const join = (conditions: readonly Condition[]) =>
    conditions.map((condition) => condition(parameter)).join(' AND ') || 'true'
  const columns = selectList('t', Object.keys(WORK.columns))
  const order = (count: string) => `ORDER BY t.id DESC LIMIT ${count}`
  // Few rows are fetched by their condition, and never by scanning everything in the order of ids.
  const sql = base.isFew
    ? `WITH few AS MATERIALIZED (SELECT * FROM ${schema}.work AS t WHERE ${join(indexed)}) ` +
      `SELECT ${columns} FROM few AS t WHERE ${join([...place, ...others])} ${order(parameter(limit + 1, 'int8'))}`
    : `SELECT ${columns} FROM ${schema}.work AS t WHERE ${join([...indexed, ...place, ...others])} ` +
      order(parameter(limit + 1, 'int8'))
  const rows = await query(prepare(sql, values))
  const items: WorkRow[] = rows.slice(0, limit)
  const last = rows.length > items.length ? (items.at(-1)?.id ?? null) : end
  return { items, nextCursor: last === null ? null : encodeCursor(WORK.name, [last]) }
}

const inState =
  (state: WorkState): Condition =>
  () =>
    `t.state = '${state}'`

async function chooseBase(
  query: Query,
  schema: string,
  tenant: TenantId,
  { state, consumer }: WorkQuery,
  scanMax: number,
): Promise<Base> {
  const ofConsumer: Condition[] =
    consumer === undefined ? [] : [(parameter) => `t.consumer = ${parameter(escapeText(consumer), 'text')}`]
  const ofState = state === undefined ? [] : [inState(state)]
  const own = [...ofConsumer, ...ofState]
  // As many as the nodes have slots.
  if (state === 'leased') return { wheres: own, others: [], isFew: true }
  if (state === 'ready' && (await isFewReady(query, schema, tenant, consumer, scanMax))) {
    return { wheres: own, others: [], isFew: true }
  }
  if (state === 'waiting') return { wheres: own, others: [] }
  const isHeld = state !== undefined && state !== 'ready' && state !== 'done'
  if (consumer?.startsWith(SUBSCRIPTION_PREFIX)) {
    const ofSubscription = [OF_SUBSCRIPTION, ...ofConsumer]
    return isHeld
      ? { wheres: [...ofSubscription, ...ofState], others: [] }
      : { wheres: ofSubscription, others: ofState }
  }
  return isHeld ? { wheres: ofState, others: ofConsumer } : { wheres: [], others: own }
}

async function isFewReady(
  query: Query,
  schema: string,
  tenant: TenantId,
  consumer: string | undefined,
  max: number,
): Promise<boolean> {
  const of = consumer === undefined ? '' : ' AND consumer = $3::text'
  const sql =
    `SELECT count(*) AS count FROM (SELECT FROM ${schema}.work WHERE state = 'ready' AND tenant = $1::text${of} ` +
    'LIMIT $2::int8) AS counted'
  const named = consumer === undefined ? [] : [escapeText(consumer)]
  const [row] = await query(prepare(sql, [escapeText(tenant), max + 1, ...named]))
  return row.count <= max
}

function filtersOf({ kind, class: failure, from, to }: WorkQuery): Condition[] {
  const conditions: Condition[] = []
  if (kind !== undefined) conditions.push((parameter) => `t.kind = ${parameter(kind, 'text')}`)
  if (failure !== undefined) conditions.push((parameter) => `t.class = ${parameter(failure, 'text')}`)
  if (from !== undefined) {
    conditions.push((parameter) => `t.created_at >= ${parameter(Math.ceil(from), 'int8')}`)
  }
  if (to !== undefined) conditions.push((parameter) => `t.created_at < ${parameter(Math.ceil(to), 'int8')}`)
  return conditions
}

export function countOpen(
  query: Query,
  schema: string,
  tenant: TenantId,
  consumers: readonly string[],
  cap: number,
): Promise<readonly OpenCount[]> {
  const count = (state: WorkState) =>
    `(SELECT count(*) FROM (SELECT FROM ${schema}.work AS w WHERE w.tenant = $1::text AND w.consumer = k.consumer ` +
    `AND w.state = '${state}' LIMIT $3::int8) AS counted) AS ${state}`
  const sql =
    `SELECT k.consumer, ${count('ready')}, ${count('waiting')}, ${count('leased')} ` +
    'FROM unnest($2::text[]) WITH ORDINALITY AS k(consumer, position) ORDER BY k.position'
  return query(prepare(sql, [escapeText(tenant), makeArray('text', consumers), cap]))
}
