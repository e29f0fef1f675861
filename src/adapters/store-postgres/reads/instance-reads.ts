// Lists and counts of instances, combined from ranges of two indexes: (workflow, state), and for active ones (workflow,
// definition, marking). A range is read by id from its newest end, as far as the page needs; the number of instances
// does not matter, only the number of ranges, which are few: workflows, definitions and markings in use.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { FINAL_WORK } from '../../../core/store/retention/index.ts'
import type { InstanceRow, Marking } from '../../../core/workflows/instance/index.ts'
import {
  hasToken,
  INSTANCE_STATES,
  markingText,
  parseMarking,
  sumGroups,
} from '../../../core/workflows/instance/index.ts'
import type { Page, TenantReads } from '../../../ports/store.ts'
import { MARKINGS_MAX, OVERVIEW_COUNT_MAX } from '../../../ports/store.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText, makeArray } from '../parameters.ts'
import { INSTANCE, LISTED, selectList, WORK } from '../tables.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

type InstanceQuery = Parameters<TenantReads['instances']>[0]
type InstanceCounts = Awaited<ReturnType<TenantReads['instanceCounts']>>

/** A range of the active ones. */
interface Group {
  readonly workflow: string
  readonly definition: string
  readonly marking: Marking
}

export function readInstance(row: Record<string, unknown>): InstanceRow {
  return { ...row, marking: parseMarking(row.marking as string) } as unknown as InstanceRow
}

/** From one to the next by the index of the active ones; `columns` are its first columns after the tenant. */
function distinctActive(schema: string, columns: readonly string[], where: string): string {
  const list = (from: string) => columns.map((column) => `${from}.${column}`).join(', ')
  const next = (behind: string) =>
    `SELECT ${list('t')} FROM ${schema}.instance AS t WHERE t.tenant = $1::text AND t.state = 'active' AND ${where}` +
    `${behind} ORDER BY ${list('t')} LIMIT 1`
  return (
    `WITH RECURSIVE found AS ((${next('')}) UNION ALL SELECT n.* FROM found AS f CROSS JOIN LATERAL ` +
    `(${next(` AND (${list('t')}) > (${list('f')})`)}) AS n) SELECT ${list('found')} FROM found`
  )
}

const RANGE = ['workflow', 'definition', 'marking'] as const

export async function listInstances(
  query: Query,
  schema: string,
  tenant: TenantId,
  request: InstanceQuery,
): Promise<Page<InstanceRow>> {
  const { workflow, state, place, definition, attention, parent, cursor, limit } = request
  const values: unknown[] = [escapeText(tenant)]
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`
  const where = ['t.tenant = $1::text']
  const isEqual = (column: string, value: string) =>
    where.push(`t.${column} = ${parameter(escapeText(value), 'text')}`)
  if (cursor !== null) {
    const [id] = decodeCursor(INSTANCE.name, ['text'], cursor)
    where.push(`t.id < ${parameter(escapeText(id as string), 'text')}`)
  }
  if (attention !== undefined) where.push("t.state = 'active' AND t.attention IS NOT NULL")
  if (attention !== undefined && attention !== 'any') isEqual('attention', attention)
  if (parent !== undefined) isEqual('parent', parent)

  let ranges: string | null = null
  if (place !== undefined || definition !== undefined) {
    const groups = await findGroups(query, schema, tenant, workflow)
    const wanted = groups.filter(
      (group) =>
        (definition === undefined || group.definition === definition) &&
        (place === undefined || hasToken(group.marking, place)),
    )
    if (wanted.length === 0 || (state ?? 'active') !== 'active') return { items: [], nextCursor: null }
    where.push("t.state = 'active'")
    ranges = rangesOf(wanted, parameter)
    where.push(RANGE.map((column) => `t.${column} = r.${column}`).join(' AND '))
  } else if (parent !== undefined || attention !== undefined) {
    // They have their own indexes.
    if (workflow !== undefined) isEqual('workflow', workflow)
    if (state !== undefined) isEqual('state', state)
  } else if (workflow !== undefined || state !== undefined) {
    const states = state === undefined ? INSTANCE_STATES : [state]
    const workflows =
      workflow === undefined ? workflowsSql(schema) : `VALUES (${parameter(escapeText(workflow), 'text')})`
    ranges = `(${workflows}) AS w(workflow) CROSS JOIN unnest(${parameter(makeArray('text', states), 'text[]')}) AS r(state)`
    where.push(`t.workflow = w.workflow AND t.state = r.state AND t.${LISTED}`)
  }

  const page =
    `SELECT t.id FROM ${schema}.instance AS t WHERE ${where.join(' AND ')} ` +
    `ORDER BY t.id DESC LIMIT ${parameter(limit + 1, 'int8')}`
  const ids = ranges === null ? page : `SELECT p.id FROM ${ranges} CROSS JOIN LATERAL (${page}) AS p`
  const rows = await query(
    prepare(
      `SELECT ${selectList('i', Object.keys(INSTANCE.columns))} FROM (SELECT n.id FROM (${ids}) AS n ` +
        `ORDER BY n.id DESC LIMIT ${parameter(limit + 1, 'int8')}) AS n JOIN ${schema}.instance AS i ` +
        'ON i.tenant = $1::text AND i.id = n.id ORDER BY i.id DESC',
      values,
    ),
  )
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  const isMore = last !== undefined && rows.length > items.length
  return {
    items: items.map(readInstance),
    nextCursor: isMore ? encodeCursor(INSTANCE.name, [last.id]) : null,
  }
}

/** Workflows with instances, from one to the next by the index. */
function workflowsSql(schema: string): string {
  const next = (behind: string) =>
    `SELECT t.workflow FROM ${schema}.instance AS t WHERE t.tenant = $1::text AND t.${LISTED}${behind} ORDER BY t.workflow LIMIT 1`
  return (
    `WITH RECURSIVE found AS ((${next('')}) UNION ALL SELECT n.workflow FROM found AS f CROSS JOIN LATERAL ` +
    `(${next(' AND t.workflow > f.workflow')}) AS n) SELECT found.workflow FROM found`
  )
}

/** Every definition and marking of active instances. */
async function findGroups(
  query: Query,
  schema: string,
  tenant: TenantId,
  workflow: string | undefined,
): Promise<readonly Group[]> {
  // A given column is not part of the step to the next one: every step would read the index from its start.
  const rows =
    workflow === undefined
      ? await query(prepare(distinctActive(schema, RANGE, 'true'), [escapeText(tenant)]))
      : await query(
          prepare(
            distinctActive(schema, RANGE.slice(1), 't.workflow = $2::text'),
            [tenant, workflow].map(escapeText),
          ),
        )
  return rows.map((row) => ({ workflow, ...row, marking: parseMarking(row.marking) }))
}

function rangesOf(groups: readonly Group[], parameter: (value: unknown, type: string) => string): string {
  const arrays = RANGE.map((column) =>
    parameter(
      makeArray(
        'text',
        groups.map((group) => (column === 'marking' ? markingText(group.marking) : group[column])),
      ),
      'text[]',
    ),
  )
  return `unnest(${arrays.join(', ')}) AS r(${RANGE.join(', ')})`
}

/** How many active instances match, up to the limit of the count. */
function countActive(schema: string, where: string): string {
  return (
    `SELECT count(*) AS count FROM (SELECT 1 FROM ${schema}.instance AS t WHERE t.tenant = $1::text ` +
    `AND t.workflow = $2::text AND t.state = 'active' AND ${where} LIMIT ${OVERVIEW_COUNT_MAX}) AS counted`
  )
}

export async function countInstances(
  query: Query,
  schema: string,
  tenant: TenantId,
  workflow: string,
): Promise<InstanceCounts> {
  const values = [tenant, workflow].map(escapeText)
  const ofGroup = 't.definition = g.definition AND t.marking = g.marking'
  const groups = distinctActive(schema, RANGE.slice(1), 't.workflow = $2::text')
  const [found, [withAttention]] = await Promise.all([
    query(
      prepare(
        'SELECT g.definition, g.marking, l.version, l.id AS "lastId", c.count ' +
          `FROM (${groups} LIMIT ${MARKINGS_MAX}) AS g CROSS JOIN LATERAL (` +
          `SELECT t.version, t.id FROM ${schema}.instance AS t WHERE t.tenant = $1::text AND t.workflow = $2::text ` +
          `AND t.state = 'active' AND ${ofGroup} ORDER BY t.id DESC LIMIT 1) AS l ` +
          `CROSS JOIN LATERAL (${countActive(schema, ofGroup)}) AS c ORDER BY g.definition, g.marking`,
        values,
      ),
    ),
    query(prepare(countActive(schema, 't.attention IS NOT NULL'), values)),
  ])
  return { ...sumGroups(found), attention: withAttention.count }
}

const FINAL = FINAL_WORK.map((state) => `'${state}'`).join(', ')

/** Finished jobs have no index by their instance: they are among the jobs of the event that it started with. */
export function workOfInstanceSql(schema: string, isAll: boolean): string {
  const fields = selectList('t', Object.keys(WORK.columns))
  const own = `FROM ${schema}.work AS t WHERE t.tenant = $1::text AND t.instance = $2::text`
  const over =
    ` UNION ALL SELECT t.* FROM ${schema}.instance AS i JOIN ${schema}.work AS t ON t.event_id = i.event_id ` +
    `WHERE i.tenant = $1::text AND i.id = $2::text AND t.tenant = $1::text AND t.instance = $2::text ` +
    `AND t.state IN (${FINAL})`
  return (
    `SELECT ${fields} FROM (SELECT t.* ${own} AND t.state NOT IN (${FINAL})${isAll ? over : ''}) AS t ` +
    'ORDER BY t.created_at, t.id LIMIT $3::int8'
  )
}
