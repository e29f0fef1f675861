// The rows of a group: as found under its locks, and as they will be. Pure.
//
// The commits of a group share lanes and escalations, and may share jobs that a lane moves; a commit sees each of those
// as the commits before left it.

import type { Run } from '../../../core/effects/integration-run/index.ts'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { Fact } from '../../../core/events/canonical/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import type { Escalation } from '../../../core/failures/escalation/index.ts'
import type { Failure } from '../../../core/failures/failure/index.ts'
import type { EventId, Incarnation, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Attempt, Counters, Note, WorkRow } from '../../../core/queue/work/index.ts'
import type { LaneRows, LaneState } from '../../../core/store/commit/index.ts'
import type { OutboxRow } from '../../../core/store/outbox/index.ts'
import type { InstanceRow } from '../../../core/workflows/instance/index.ts'
import type { Orphan } from '../../../core/workflows/orphan/index.ts'
import type { StoreDump } from '../../../ports/store.ts'
import { laneKey } from './keys.ts'

/** The part of a work row that a decision needs; every change except a move in its lane writes the rest. */
export type WorkHead = Pick<
  WorkRow,
  | 'tenant'
  | 'id'
  | 'consumer'
  | 'lane'
  | 'state'
  | 'owner'
  | 'epoch'
  | 'dueAt'
  | 'alone'
  | 'createdAt'
  | 'expiresAt'
  | 'processedAt'
  | 'hasPlace'
  | 'isFrozen'
  | 'into'
>
type ChangedWork = WorkHead & Counters & Note
type DedupRow = { readonly event: EventId; readonly until: Instant }
type CorrelationRow = StoreDump['correlations'][number]
type RecordRow = StoreDump['records'][number]

/** The rows as they are under the group's locks, by `joinKey` of their keys. */
export interface Loaded {
  readonly now: Instant
  readonly owners: ReadonlyMap<Incarnation, { readonly until: Instant; readonly fenced: boolean }>
  /** The jobs that the group names, and of each lane that it touches the waiting ones that may get a position. */
  readonly work: ReadonlyMap<string, WorkHead>
  readonly lanes: ReadonlyMap<string, LaneState>
  /** Those that exist. */
  readonly events: ReadonlySet<string>
  readonly dedup: ReadonlyMap<string, DedupRow>
  readonly ledger: ReadonlyMap<string, LedgerEntry>
  readonly deadLetters: ReadonlyMap<string, Pick<DeadLetter, 'version' | 'createdAt'>>
  readonly failures: ReadonlyMap<string, Pick<Failure, 'createdAt'>>
  readonly escalations: ReadonlyMap<string, Escalation>
  readonly instances: ReadonlyMap<string, Pick<InstanceRow, 'revision' | 'createdAt' | 'endedAt'>>
  readonly correlations: ReadonlyMap<string, Pick<CorrelationRow, 'version'>>
  readonly orphans: ReadonlyMap<string, Pick<Orphan, 'version' | 'createdAt'>>
  readonly records: ReadonlyMap<string, Pick<RecordRow, 'version'>>
}

/** The rows as they will be. */
export interface Changes {
  readonly events: Omit<StoredEvent, 'duplicates' | 'lastDuplicateAt'>[]
  readonly repeats: Map<string, { readonly event: EventId; readonly count: number; readonly lastAt: Instant }>
  readonly matches: Map<string, Pick<StoredEvent, 'tenant' | 'id' | 'matched'>>
  readonly dedup: Map<string, DedupRow>
  readonly newWork: Map<string, WorkRow>
  readonly work: Map<string, ChangedWork>
  /** Changed only by a step of their lane. */
  readonly moves: Map<string, WorkHead>
  readonly lanes: Map<string, LaneState>
  readonly attempts: (Attempt & { readonly tenant: TenantId; readonly work: WorkId })[]
  readonly ledger: Map<string, LedgerEntry>
  /** Entries that a new generation replaced. */
  readonly pastLedger: Map<string, LedgerEntry>
  readonly deadLetters: Map<string, DeadLetter>
  readonly failures: Map<string, Failure>
  readonly escalations: Map<string, Escalation>
  readonly instances: Map<string, InstanceRow>
  readonly history: StoreDump['history'][number][]
  /** `body` null: it is removed. */
  readonly correlations: Map<string, Omit<CorrelationRow, 'body'> & { readonly body: string | null }>
  readonly orphans: Map<string, Orphan>
  readonly runs: Map<string, Run>
  /** `body` null: the record is removed. */
  readonly records: Map<string, Omit<RecordRow, 'body'> & { readonly body: string | null }>
  readonly facts: Fact[]
  readonly outbox: Omit<OutboxRow, 'position'>[]
  readonly told: Pick<OutboxRow, 'tenant' | 'position'>[]
}

/** What the group has found and done so far. */
export interface View {
  readonly loaded: Loaded
  readonly changes: Changes
  /** By lane: jobs that wait, or waited. */
  readonly waiting: Map<string, Set<string>>
}

export function makeView(loaded: Loaded): View {
  const view: View = {
    loaded,
    changes: {
      events: [],
      repeats: new Map(),
      matches: new Map(),
      dedup: new Map(),
      newWork: new Map(),
      work: new Map(),
      moves: new Map(),
      lanes: new Map(),
      attempts: [],
      ledger: new Map(),
      pastLedger: new Map(),
      deadLetters: new Map(),
      failures: new Map(),
      escalations: new Map(),
      instances: new Map(),
      history: [],
      correlations: new Map(),
      orphans: new Map(),
      runs: new Map(),
      records: new Map(),
      facts: [],
      outbox: [],
      told: [],
    },
    waiting: new Map(),
  }
  for (const [key, row] of loaded.work) noteWaiting(view, key, row)
  return view
}

export function hasChanges(changes: Changes): boolean {
  return Object.values(changes).some(
    (rows: { size?: number; length?: number }) => (rows.size ?? rows.length) !== 0,
  )
}

export function findWork({ changes, loaded }: View, tenant: TenantId, id: WorkId): WorkHead | undefined {
  const key = joinKey(tenant, id)
  return changes.newWork.get(key) ?? changes.work.get(key) ?? changes.moves.get(key) ?? loaded.work.get(key)
}

/** The rows of lanes for src/core/store/commit/lane-rows.ts. */
export function laneRows(view: View, tenant: TenantId): LaneRows<WorkHead> {
  const { changes, loaded } = view
  const keyOf = (consumer: string, key: string) => laneKey(tenant, consumer, key)
  return {
    findItem: (id) => findWork(view, tenant, id),
    putItem: (item) => putWork(view, item),
    findLane: (consumer, key) =>
      changes.lanes.get(keyOf(consumer, key)) ?? loaded.lanes.get(keyOf(consumer, key)),
    putLane: (lane) => void changes.lanes.set(keyOf(lane.consumer, lane.key), lane),
    findOldestWaiting: (consumer, key) => findOldest(view, keyOf(consumer, key)),
  }
}

/** For a row that existed: with its progress, or only moved in its lane. */
function putWork(view: View, row: WorkHead | ChangedWork): void {
  const { changes } = view
  const key = joinKey(row.tenant, row.id)
  if (changes.newWork.has(key)) changes.newWork.set(key, row as WorkRow)
  else if ('attempts' in row) {
    changes.work.set(key, row)
    changes.moves.delete(key)
  } else changes.moves.set(key, row)
  noteWaiting(view, key, row)
}

export function putNewWork(view: View, row: WorkRow): void {
  const { newWork } = view.changes
  const key = joinKey(row.tenant, row.id)
  // Two rows of one id in one commit: the second is to collide with the first in the table, so that the commit is
  // refused.
  newWork.set(newWork.has(key) ? `${key} again` : key, row)
  noteWaiting(view, key, row)
}

function noteWaiting({ waiting }: View, key: string, { state, tenant, consumer, lane }: WorkHead): void {
  if (state !== 'waiting' || lane === null) return
  const joined = laneKey(tenant, consumer, lane)
  const keys = waiting.get(joined)
  if (keys) keys.add(key)
  else waiting.set(joined, new Set([key]))
}

/** The oldest job that waits in the lane. */
function findOldest(view: View, lane: string): WorkHead | undefined {
  const { changes, loaded } = view
  let oldest: WorkHead | undefined
  for (const key of view.waiting.get(lane) ?? []) {
    const row =
      changes.newWork.get(key) ?? changes.work.get(key) ?? changes.moves.get(key) ?? loaded.work.get(key)
    if (row?.state === 'waiting' && (oldest === undefined || isElder(row, oldest))) oldest = row
  }
  return oldest
}

function isElder(a: WorkHead, b: WorkHead): boolean {
  return a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.id < b.id)
}

export function findEscalation({ changes, loaded }: View, key: string): Escalation | undefined {
  return changes.escalations.get(key) ?? loaded.escalations.get(key)
}

export function findRaised(view: View, tenant: TenantId, cause: string): Escalation | undefined {
  const { changes, loaded } = view
  const isIt = (row: Escalation) => row.tenant === tenant && row.cause === cause && row.state === 'raised'
  for (const row of changes.escalations.values()) if (isIt(row)) return row
  for (const [key, row] of loaded.escalations) if (isIt(row) && !changes.escalations.has(key)) return row
  return undefined
}
