// The state of a memory store: maps of frozen rows, and the few indexes that claims and reclaims need.
//
// The state may outlive a store object, as a file outlives a process. Rows are replaced whole and never changed, so
// that rows a reader has stay as they were.

import type { Run } from '../../core/effects/integration-run/index.ts'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { Fact } from '../../core/events/canonical/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Escalation } from '../../core/failures/escalation/index.ts'
import type { Failure } from '../../core/failures/failure/index.ts'
import type { EventId, Incarnation, NodeId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Attempt, WorkRow } from '../../core/queue/work/index.ts'
import type { OutboxRow } from '../../core/store/outbox/index.ts'
import type { InstanceRow } from '../../core/workflows/instance/index.ts'
import type { Orphan } from '../../core/workflows/orphan/index.ts'
import type { StoreDump } from '../../ports/store.ts'

export interface IncarnationRow {
  readonly node: NodeId
  readonly until: Instant
  readonly fenced: boolean
}

export type RecordRow = StoreDump['records'][number]
export type LaneState = StoreDump['lanes'][number]
export type HistoryState = StoreDump['history'][number]
export type CorrelationRow = StoreDump['correlations'][number]

export interface MemoryState {
  lastIncarnation: number
  readonly incarnations: Map<Incarnation, IncarnationRow>
  readonly events: Map<EventId, StoredEvent>
  /** By `joinKey(tenant, source, dedup key)`. */
  readonly dedup: Map<string, { readonly event: EventId; readonly until: Instant }>
  readonly work: Map<WorkId, WorkRow>
  readonly workOfEvent: Map<EventId, readonly WorkId[]>
  readonly attempts: Map<WorkId, readonly Attempt[]>
  /** The latest generation, by `joinKey(tenant, key)`. */
  readonly ledger: Map<string, LedgerEntry>
  /** The earlier generations, oldest first, by `joinKey(tenant, key)`. */
  readonly ledgerBefore: Map<string, readonly LedgerEntry[]>
  /** By `joinKey(tenant, id)`. */
  readonly deadLetters: Map<string, DeadLetter>
  /** By `joinKey(tenant, id)`. */
  readonly failures: Map<string, Failure>
  /** By `joinKey(tenant, id)`. */
  readonly escalations: Map<string, Escalation>
  /** By `laneKey`. */
  readonly lanes: Map<string, LaneState>
  /** By `joinKey(tenant, id)`. */
  readonly instances: Map<string, InstanceRow>
  /** By `joinKey(tenant, instance)`. */
  readonly history: Map<string, readonly HistoryState[]>
  /** By `joinKey(tenant, key)`. */
  readonly correlations: Map<string, CorrelationRow>
  /** By `joinKey(tenant, id)`. */
  readonly orphans: Map<string, Orphan>
  /** By `joinKey(tenant, id)`. */
  readonly runs: Map<string, Run>
  /** By `joinKey(tenant, id)`. */
  readonly facts: Map<string, Fact>
  /** By `joinKey(tenant, kind, key)`. */
  readonly records: Map<string, RecordRow>
  /** By position. */
  readonly outbox: Map<number, OutboxRow>
  lastPosition: number
  /** Index: ready jobs by `joinKey(tenant, consumer)`. */
  readonly ready: Map<string, Set<WorkId>>
  /** Index: leased jobs by owner. */
  readonly leased: Map<Incarnation, Set<WorkId>>
  /** Index: leased jobs by `joinKey(tenant, consumer)`. */
  readonly leasedOf: Map<string, Set<WorkId>>
  /** Index: waiting jobs by `laneKey`. */
  readonly waiting: Map<string, Set<WorkId>>
  /** Index: jobs by `joinKey(tenant, instance)`. */
  readonly ofInstance: Map<string, Set<WorkId>>
}

export function makeMemoryState(): MemoryState {
  return {
    lastIncarnation: 0,
    incarnations: new Map(),
    events: new Map(),
    dedup: new Map(),
    work: new Map(),
    workOfEvent: new Map(),
    attempts: new Map(),
    ledger: new Map(),
    ledgerBefore: new Map(),
    deadLetters: new Map(),
    failures: new Map(),
    escalations: new Map(),
    lanes: new Map(),
    instances: new Map(),
    history: new Map(),
    correlations: new Map(),
    orphans: new Map(),
    runs: new Map(),
    facts: new Map(),
    records: new Map(),
    outbox: new Map(),
    lastPosition: 0,
    ready: new Map(),
    leased: new Map(),
    leasedOf: new Map(),
    waiting: new Map(),
    ofInstance: new Map(),
  }
}

export function laneKey(tenant: TenantId, consumer: string, key: string): string {
  return joinKey(tenant, consumer, key)
}

/** Order of the UTF-8 bytes, as databases sort text: UTF-16 units, except that surrogates come last. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left === right) continue
    const isLeftSurrogate = (left & 0xf800) === 0xd800
    const isRightSurrogate = (right & 0xf800) === 0xd800
    if (isLeftSurrogate !== isRightSurrogate) return isLeftSurrogate ? 1 : -1
    return left - right
  }
  return a.length - b.length
}

export function isAlive(state: MemoryState, owner: Incarnation, now: Instant): boolean {
  const row = state.incarnations.get(owner)
  return row !== undefined && !row.fenced && now < row.until
}

/** The job, if it is the tenant's. */
export function findWork(state: MemoryState, tenant: TenantId, id: WorkId): WorkRow | undefined {
  const row = state.work.get(id)
  return row?.tenant === tenant ? row : undefined
}

/** The only function that changes a work row: it keeps the indexes consistent. `null` removes the row. */
export function putWork(state: MemoryState, id: WorkId, row: WorkRow | null): void {
  const before = state.work.get(id)
  if (before) unindexWork(state, before)
  if (row === null) {
    state.work.delete(id)
    return
  }
  state.work.set(id, Object.freeze(row))
  changeIndexes(state, row, addTo)
}

function unindexWork(state: MemoryState, row: WorkRow): void {
  changeIndexes(state, row, removeFrom)
}

type Index = Map<unknown, Set<WorkId>>

function changeIndexes(
  state: MemoryState,
  row: WorkRow,
  change: (index: Index, key: unknown, id: WorkId) => void,
): void {
  const { id, tenant } = row
  if (row.state === 'ready') change(state.ready as Index, joinKey(tenant, row.consumer), id)
  else if (row.state === 'waiting')
    change(state.waiting as Index, laneKey(tenant, row.consumer, row.lane ?? ''), id)
  else if (row.state === 'leased') {
    change(state.leased as Index, row.owner, id)
    change(state.leasedOf as Index, joinKey(tenant, row.consumer), id)
  }
  if (row.instance !== null) change(state.ofInstance as Index, joinKey(tenant, row.instance), id)
}

function addTo(index: Index, key: unknown, id: WorkId): void {
  const ids = index.get(key)
  if (ids) ids.add(id)
  else index.set(key, new Set([id]))
}

function removeFrom(index: Index, key: unknown, id: WorkId): void {
  const ids = index.get(key)
  if (ids?.delete(id) && ids.size === 0) index.delete(key)
}
