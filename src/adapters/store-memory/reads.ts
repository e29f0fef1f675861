// Reads: a tenant's own rows by keyset pages, and the few reads that cross tenants.

import type { EventId, TenantId, WorkId } from '../../core/ids/index.ts'
import type { WorkRow, WorkState } from '../../core/work/index.ts'
import { WORK_STATES } from '../../core/work/index.ts'
import type { Page, PageRequest, StoreDump, SystemReads, TenantReads } from '../../ports/store.ts'
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import { compareText, findWork, joinKey, type MemoryState } from './state.ts'

type Open = () => void

export function makeTenantReads(state: MemoryState, tenant: TenantId, assertOpen: Open): TenantReads {
  return {
    async event(id) {
      assertOpen()
      const row = state.events.get(id)
      return row?.tenant === tenant ? row : null
    },
    async events(query) {
      assertOpen()
      const { source, subject, unmatched } = query
      const isWanted = (row: { source: string; subject: string; matched: number }) =>
        (source === undefined || row.source === source) &&
        (subject === undefined || row.subject === subject) &&
        (unmatched === undefined || (row.matched === 0) === unmatched)
      const found = page('events', query, ownRows(state.events, tenant).filter(isWanted), byId)
      return { ...found, items: found.items.map(({ headers: _headers, data: _data, ...summary }) => summary) }
    },
    async work(id) {
      assertOpen()
      return findWork(state, tenant, id) ?? null
    },
    async workOfEvent(id) {
      assertOpen()
      return workOfEvent(state, tenant, id)
    },
    async workList(query) {
      assertOpen()
      const isWanted = (row: WorkRow) =>
        (query.state === undefined || row.state === query.state) &&
        (query.consumer === undefined || row.consumer === query.consumer) &&
        (query.class === undefined || row.class === query.class)
      return page('work', query, ownRows(state.work, tenant).filter(isWanted), byId)
    },
    async attempts(id) {
      assertOpen()
      return findWork(state, tenant, id) ? attemptsOf(state, id) : []
    },
    async ledger(key) {
      assertOpen()
      return state.ledger.get(joinKey(tenant, key)) ?? null
    },
    async ledgerList(query) {
      assertOpen()
      const rows = ownRows(state.ledger, tenant).filter(
        (row) => query.state === undefined || row.state === query.state,
      )
      return page('ledger', query, rows, (row) => [row.createdAt, row.key])
    },
    async deadLetter(id) {
      assertOpen()
      return state.deadLetters.get(joinKey(tenant, id)) ?? null
    },
    async deadLetters(query) {
      assertOpen()
      const rows = ownRows(state.deadLetters, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.consumer === undefined || row.consumer === query.consumer) &&
          (query.class === undefined || row.class === query.class) &&
          (query.eventId === undefined || row.eventId === query.eventId),
      )
      return page('deadLetters', query, rows, byId)
    },
    async record(kind, key) {
      assertOpen()
      const row = state.records.get(joinKey(tenant, kind, key))
      return row ? { version: row.version, body: row.body } : null
    },
  }
}

export function makeSystemReads(state: MemoryState, assertOpen: Open): SystemReads {
  return {
    async readyConsumers() {
      assertOpen()
      const first = [...state.ready.values()].flatMap(([id]) => (id && state.work.get(id)) ?? [])
      const consumers = first.map(({ tenant, consumer }) => ({ tenant, consumer }))
      return sortedBy(consumers, (row) => [row.tenant, row.consumer])
    },
    async workCounts() {
      assertOpen()
      const counts = Object.fromEntries(WORK_STATES.map((name) => [name, 0])) as Record<WorkState, number>
      for (const row of state.work.values()) counts[row.state] += 1
      return counts
    },
    async dump() {
      assertOpen()
      return dumpState(state)
    },
  }
}

/** Everything, in the order that every store keeps in a dump. */
export function dumpState(state: MemoryState): StoreDump {
  const work = sortedBy([...state.work.values()], (row) => [row.tenant, row.id])
  return {
    events: sortedBy([...state.events.values()], (row) => [row.tenant, row.id]),
    work,
    attempts: work.flatMap((row) =>
      attemptsOf(state, row.id).map((attempt) => ({ ...attempt, work: row.id })),
    ),
    ledger: sortedBy([...state.ledger.values()], (row) => [row.tenant, row.key]),
    deadLetters: sortedBy([...state.deadLetters.values()], (row) => [row.tenant, row.id]),
    records: sortedBy([...state.records.values()], (row) => [row.tenant, row.kind, row.key]),
  }
}

function ownRows<Row extends { readonly tenant: TenantId }>(
  table: ReadonlyMap<unknown, Row>,
  tenant: TenantId,
): Row[] {
  return [...table.values()].filter((row) => row.tenant === tenant)
}

function workOfEvent(state: MemoryState, tenant: TenantId, id: EventId): readonly WorkRow[] {
  const rows = (state.workOfEvent.get(id) ?? []).flatMap((work) => findWork(state, tenant, work) ?? [])
  return rows.sort((a, b) => compareText(a.id, b.id))
}

function attemptsOf(state: MemoryState, id: WorkId) {
  return [...(state.attempts.get(id) ?? [])].sort((a, b) => a.number - b.number)
}

function sortedBy<Row>(rows: Row[], keysOf: (row: Row) => readonly string[]): Row[] {
  return rows.sort((a, b) => {
    const others = keysOf(b)
    for (const [index, key] of keysOf(a).entries()) {
      const order = compareText(key, others[index] ?? '')
      if (order !== 0) return order
    }
    return 0
  })
}

const byId = (row: { readonly id: string }): Position => [0, row.id]

function comparePositions(a: Position, b: Position): number {
  return a[0] - b[0] || compareText(a[1], b[1])
}

function page<Row>(
  list: string,
  query: PageRequest,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
): Page<Row> {
  const after = query.cursor === null ? null : decodeCursor(list, query.cursor)
  const rest = rows
    .map((row) => ({ row, position: positionOf(row) }))
    .filter(({ position }) => after === null || comparePositions(position, after) < 0)
    .sort((a, b) => comparePositions(b.position, a.position))
  const items = rest.slice(0, query.limit)
  const last = items.at(-1)
  return {
    items: items.map(({ row }) => row),
    nextCursor: last && rest.length > items.length ? encodeCursor(list, last.position) : null,
  }
}
