// Reads of instances, their history, correlations and orphans.
//
// An index holds active instances in groups of one workflow, definition and marking. A query for the instances in a
// place goes from group to group, takes the newest of each matching group and merges them: instances elsewhere, and
// ended ones, cost nothing.

import type { InstanceId, OrphanId, TenantId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { HistoryRow, InstanceGroup, InstanceRow } from '../../core/workflows/instance/index.ts'
import { hasToken, markingText, parseMarking, sumGroups } from '../../core/workflows/instance/index.ts'
import type { Orphan } from '../../core/workflows/orphan/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import { INSTANCE_WORK_MAX, MARKINGS_MAX, OVERVIEW_COUNT_MAX } from '../../ports/store.ts'
import { CORRELATION_BY_HASH, INSTANCE_COLUMNS, OF_EVENT, WORK_COLUMNS } from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { toHistory, toInstance, toOrphan } from './instance-rows.ts'
import type { List, Pager, Where } from './pages.ts'
import type { ReadAccess } from './read-connection.ts'
import { type Row, toWork } from './rows.ts'
import { INSTANCE_CODE } from './state-codes.ts'
import { correlationHash, fromStored, type Stored, toStored } from './text-values.ts'

type Query<Name extends keyof TenantReads> = Parameters<TenantReads[Name]>[0]
type Answer<Name extends keyof TenantReads> = Awaited<ReturnType<TenantReads[Name]>>

export interface InstanceReads {
  instance(tenant: TenantId, id: InstanceId): InstanceRow | null
  instances(tenant: TenantId, query: Query<'instances'>): Page<InstanceRow>
  instanceHistory(
    tenant: TenantId,
    id: InstanceId,
    query: { readonly after: number; readonly limit: number },
  ): readonly HistoryRow[]
  workOfInstance(tenant: TenantId, id: InstanceId, query: { readonly all: boolean }): readonly WorkRow[]
  instanceCounts(tenant: TenantId, workflow: string): Answer<'instanceCounts'>
  correlation(tenant: TenantId, key: string): Answer<'correlation'>
  orphan(tenant: TenantId, id: OrphanId): Orphan | null
  orphans(tenant: TenantId, query: Query<'orphans'>): Page<Orphan>
}

/** A group's columns as they are in the index. */
interface Group {
  readonly workflow: Stored
  readonly definition: string
  readonly marking: Stored
}

const instances: List<InstanceRow> = {
  name: 'instances',
  columns: INSTANCE_COLUMNS,
  table: 'instance',
  toItem: toInstance,
}
const orphans: List<Orphan> = {
  name: 'orphans',
  columns: '*',
  table: 'orphan',
  toItem: toOrphan,
}

const ACTIVE = 'instance INDEXED BY instance_active WHERE state = 0 AND tenant = ?'
const IN_GROUP = `${ACTIVE} AND workflow = ? AND definition = ? AND marking = ?`

export function makeInstanceReads(access: ReadAccess, page: Pager): InstanceReads {
  const { get, all, tenantNumber } = access

  /** From one group to the next by the index, one column at a time; of one workflow, or of all. */
  function* groupsOf(no: number, workflow: string | undefined): Generator<Group> {
    const columns = 'SELECT workflow, definition, marking FROM'
    const first =
      workflow === undefined
        ? get(`${columns} ${ACTIVE} ORDER BY workflow, definition, marking LIMIT 1`, no)
        : get(
            `${columns} ${ACTIVE} AND workflow = ? ORDER BY definition, marking LIMIT 1`,
            no,
            toStored(workflow),
          )
    for (let group = first as Group | undefined; group !== undefined; ) {
      yield group
      const next: Row | undefined =
        get(
          `${columns} ${ACTIVE} AND workflow = ? AND definition = ? AND marking > ? ORDER BY marking LIMIT 1`,
          no,
          group.workflow,
          group.definition,
          group.marking,
        ) ??
        get(
          `${columns} ${ACTIVE} AND workflow = ? AND definition > ? ORDER BY definition, marking LIMIT 1`,
          no,
          group.workflow,
          group.definition,
        ) ??
        (workflow === undefined
          ? get(
              `${columns} ${ACTIVE} AND workflow > ? ORDER BY workflow, definition, marking LIMIT 1`,
              no,
              group.workflow,
            )
          : undefined)
      group = next as Group | undefined
    }
  }

  const row = (no: number, id: string) =>
    get(`SELECT ${INSTANCE_COLUMNS} FROM instance WHERE tenant = ? AND id = ?`, no, id)

  /** The newest of the matching groups, merged. */
  const activePage = (tenant: TenantId, query: Query<'instances'>): Page<InstanceRow> => {
    const { workflow, place, definition, limit } = query
    const no = tenantNumber(tenant)
    // After every id, and before every id.
    const before = query.cursor === null ? '~' : decodeCursor(instances.name, query.cursor)[1]
    let least = ''
    let ids: string[] = []
    for (const group of groupsOf(no, workflow)) {
      if (definition !== undefined && group.definition !== definition) continue
      if (place !== undefined && !hasToken(parseMarking(fromStored(group.marking)), place)) continue
      const newest = all(
        `SELECT id FROM ${IN_GROUP} AND id < ? AND id > ? ORDER BY id DESC LIMIT ?`,
        no,
        group.workflow,
        group.definition,
        group.marking,
        before,
        least,
        limit + 1,
      )
      ids = [...ids, ...newest.map((found) => found.id as string)]
        .sort((a, b) => (a < b ? 1 : -1))
        .slice(0, limit + 1)
      if (ids.length > limit) least = ids.at(-1) as string
    }
    const items = ids.slice(0, limit).map((id) => toInstance(row(no, id) as Row, tenant))
    const last = items.at(-1)
    return {
      items,
      nextCursor: last && ids.length > items.length ? encodeCursor(instances.name, [0, last.id]) : null,
    }
  }

  const toGroup = (no: number, group: Group): InstanceGroup => {
    const values = [no, group.workflow, group.definition, group.marking] as const
    const count = get(
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${IN_GROUP} LIMIT ?)`,
      ...values,
      OVERVIEW_COUNT_MAX,
    )
    const last = get(`SELECT id, version FROM ${IN_GROUP} ORDER BY id DESC LIMIT 1`, ...values)
    return {
      definition: group.definition,
      version: fromStored(last?.version as Stored),
      marking: fromStored(group.marking),
      count: count?.n as number,
      lastId: last?.id as string,
    }
  }

  return {
    instance(tenant, id) {
      const found = row(tenantNumber(tenant), id)
      return found === undefined ? null : toInstance(found, tenant)
    },
    instances(tenant, query) {
      const { workflow, state, place, definition, attention, parent } = query
      const onlyActive = place !== undefined || definition !== undefined || attention !== undefined
      if (onlyActive && state !== undefined && state !== 'active') return { items: [], nextCursor: null }
      const isActive = onlyActive || state === 'active'
      if (isActive && attention === undefined && parent === undefined) return activePage(tenant, query)
      const wheres: Where[] = []
      let table = workflow === undefined ? 'instance' : 'instance INDEXED BY instance_workflow'
      if (isActive) wheres.push(['state = 0'])
      else if (state !== undefined) {
        const code = INSTANCE_CODE[state]
        if (code > 1) table = 'instance INDEXED BY instance_failed'
        wheres.push([code > 1 ? `state = ${code} AND state > 1` : `state = ${code}`])
      }
      if (attention !== undefined) {
        table = 'instance INDEXED BY instance_attention'
        wheres.push(['attention IS NOT NULL'])
        if (attention !== 'any') wheres.push(['attention = ?', attention])
      }
      if (parent !== undefined) {
        table = 'instance INDEXED BY instance_parent'
        wheres.push(['parent = ? AND parent IS NOT NULL', parent])
      }
      if (workflow !== undefined) wheres.push(['workflow = ?', toStored(workflow)])
      if (definition !== undefined) wheres.push(['definition = ?', definition])
      if (place !== undefined) {
        const name = markingText({ [place]: 1 })
        wheres.push([
          "(instr(',' || marking || ',', ?) > 0 OR instr(',' || marking, ?) > 0)",
          `,${name},`,
          `,${name}*`,
        ])
      }
      return page({ ...instances, table }, tenant, query, wheres)
    },
    instanceHistory(tenant, id, { after, limit }) {
      const text =
        'SELECT instance, sequence, type, at, body FROM history WHERE tenant = ? AND instance = ? AND sequence > ?' +
        ' ORDER BY sequence LIMIT ?'
      return all(text, tenantNumber(tenant), id, after, limit).map(toHistory)
    },
    workOfInstance(tenant, id, query) {
      const no = tenantNumber(tenant)
      const open = all(
        `SELECT ${WORK_COLUMNS} FROM work INDEXED BY work_instance WHERE instance = ?2 AND instance IS NOT NULL` +
          ' AND state IN (1, 2, 3, 5, 6) AND +tenant = ?1 ORDER BY created_at, id LIMIT ?3',
        no,
        id,
        INSTANCE_WORK_MAX,
      )
      // Finished jobs are in no index: they lie with the others of their event.
      const event = query.all
        ? get(
            'SELECT event.seq FROM instance CROSS JOIN event ON event.id = instance.event_id' +
              ' AND event.tenant = instance.tenant WHERE instance.tenant = ? AND instance.id = ?',
            no,
            id,
          )
        : undefined
      const final =
        event === undefined
          ? []
          : all(
              `SELECT ${WORK_COLUMNS} FROM work WHERE ${OF_EVENT} AND +instance = ?2 AND +state IN (0, 4, 7, 8)` +
                ' ORDER BY created_at, id LIMIT ?3',
              event.seq as number,
              id,
              INSTANCE_WORK_MAX,
            )
      return [...open, ...final]
        .map((found) => toWork(found, tenant))
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
        .slice(0, INSTANCE_WORK_MAX)
    },
    instanceCounts(tenant, workflow) {
      const no = tenantNumber(tenant)
      const groups: InstanceGroup[] = []
      for (const group of groupsOf(no, workflow)) {
        if (groups.length === MARKINGS_MAX) break
        groups.push(toGroup(no, group))
      }
      const attention = get(
        'SELECT count(*) AS n FROM (SELECT 1 FROM instance INDEXED BY instance_attention WHERE state = 0' +
          ' AND attention IS NOT NULL AND tenant = ? AND workflow = ? LIMIT ?)',
        no,
        toStored(workflow),
        OVERVIEW_COUNT_MAX,
      )
      return { ...sumGroups(groups), attention: attention?.n as number }
    },
    correlation(tenant, key) {
      const no = tenantNumber(tenant)
      const found = get(CORRELATION_BY_HASH, correlationHash(no, key), no, toStored(key))
      if (found === undefined) return null
      return { version: found.version as number, body: fromStored(found.body as Stored) }
    },
    orphan(tenant, id) {
      const found = get('SELECT * FROM orphan WHERE tenant = ? AND id = ?', tenantNumber(tenant), id)
      return found === undefined ? null : toOrphan(found, tenant)
    },
    orphans(tenant, query) {
      const wheres: Where[] = []
      if (query.state !== undefined) wheres.push(['state = ?', query.state])
      if (query.workflow !== undefined) wheres.push(['workflow = ?', toStored(query.workflow)])
      return page(orphans, tenant, query, wheres)
    },
  }
}
