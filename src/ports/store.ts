// The store: the one interface that carries the promise.
//
// A commit is plain data: guards, then unconditional writes, applied all or not at all. A refused guard is a result, not an
// exception, and writes nothing. Commits that arrive together share one durable transaction; each has its own result, and none
// is returned before the transaction is on disk.
//
// A commit writes each row at most once, except for jobs that it adds and settles. One that adds an id that exists already is a
// caller's bug: it is rejected and writes nothing, and the rest of its group is not affected. docs/spec/store.md has every
// rule.
//
// Only the store's clock decides leases, due times and windows: callers pass durations, the store turns them into instants with
// the `now` of the transaction.
//
// Throwing means infrastructure: `StoreError.applied` says whether the commit may have been applied. Adapters settle an
// indeterminate COMMIT themselves by looking for the group's id, so callers see `indeterminate` only when looking was
// impossible too.

import type { Run, RunPurpose, RunState } from '../core/effects/integration-run/index.ts'
import type { LedgerEntry, LedgerState } from '../core/effects/ledger/index.ts'
import type { Fact } from '../core/events/canonical/index.ts'
import type { EventSummary, StoredEvent } from '../core/events/event/index.ts'
import type {
  DeadLetter,
  DeadLetterGroup,
  DeadLetterReason,
  DeadLetterState,
} from '../core/failures/dead-letter/index.ts'
import type { Escalation, EscalationState } from '../core/failures/escalation/index.ts'
import type { Failure, FailureClass, FailureState } from '../core/failures/failure/index.ts'
import type {
  DeadLetterId,
  EscalationId,
  EventId,
  FailureId,
  Incarnation,
  InstanceId,
  NodeId,
  OrphanId,
  RunId,
  TenantId,
  WorkId,
} from '../core/foundation/ids/index.ts'
import type { Instant } from '../core/foundation/time/index.ts'
import type { Attempt, WorkKind, WorkRow, WorkState } from '../core/queue/work/index.ts'
import type { RecordKind, Write } from '../core/store/commit/index.ts'
import type { OutboxRow } from '../core/store/outbox/index.ts'
import type { Pruned, PruneRequest } from '../core/store/retention/index.ts'
import type {
  Attention,
  HistoryRow,
  InstanceRow,
  InstanceState,
  Marking,
} from '../core/workflows/instance/index.ts'
import type { Orphan, OrphanState } from '../core/workflows/orphan/index.ts'

export type { RecordKind, Write } from '../core/store/commit/index.ts'

/** All guards of a commit are checked, in order, before any of its writes. */
export type Guard =
  /** Holds while the job is leased by this owner at this epoch and the owner is not fenced. */
  | { readonly g: 'lease'; readonly work: WorkId; readonly owner: Incarnation; readonly epoch: number }
  /** Holds while the job is in this state at this epoch: for operators' decisions about a job without an owner. */
  | { readonly g: 'work'; readonly work: WorkId; readonly state: WorkState; readonly epoch: number }
  /** Holds while no event of the source has this key within its window. */
  | { readonly g: 'dedup'; readonly source: string; readonly key: string }
  /** Holds while the ledger has no entry for the key. */
  | { readonly g: 'unreserved'; readonly key: string }
  /** Holds while the entry is in this state, made by this job at this epoch. */
  | {
      readonly g: 'ledger'
      readonly key: string
      readonly state: LedgerState
      readonly work: WorkId
      readonly epoch: number
    }
  /** Holds while the row has this version; 0 means that it is absent. */
  | {
      readonly g: 'version'
      /** `correlation`: by its key. `instance`: its revision. */
      readonly of: RecordKind | 'deadLetter' | 'escalation' | 'instance' | 'correlation' | 'orphan'
      readonly key: string
      readonly version: number
    }

export interface Commit {
  readonly tenant: TenantId
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/** What the guard found instead, by the guard's kind. */
export type Found =
  | {
      readonly f: 'work'
      readonly state: WorkState
      readonly owner: Incarnation | null
      readonly epoch: number
    }
  | { readonly f: 'event'; readonly id: EventId }
  | { readonly f: 'ledger'; readonly entry: LedgerEntry }
  | { readonly f: 'version'; readonly version: number }

export type CommitResult =
  | {
      readonly ok: true
      readonly at: Instant
      /** The jobs of this commit that were leased on insert. */
      readonly leased: readonly WorkId[]
    }
  | {
      readonly ok: false
      readonly at: Instant
      /** Index of the first guard that did not hold. */
      readonly guard: number
      /** null: the row that the guard names does not exist. */
      readonly found: Found | null
    }

export interface ClaimRequest {
  readonly owner: Incarnation
  /** Free slots, most urgent consumer first. */
  readonly slots: readonly {
    readonly tenant: TenantId
    readonly consumer: string
    readonly max: number
    /** No more than this many of the consumer's jobs may be leased at once, by all owners together. */
    readonly limit?: number
  }[]
  /** At most this many jobs in all. */
  readonly max: number
  /** At most this many isolated jobs: those that a crash left behind twice (they run one at a time). */
  readonly maxIsolated: number
  /** Code that this node can load; jobs that need other code are left. */
  readonly codeHashes: readonly string[]
}

export interface ClaimedWork {
  readonly work: WorkRow
  readonly event: StoredEvent
}

export interface ClaimResult {
  readonly items: readonly ClaimedWork[]
  /** The earliest instant at which a ready job of the requested slots is due that was not claimed now. */
  readonly nextDueAt: Instant | null
  readonly now: Instant
}

export interface Page<Row> {
  readonly items: readonly Row[]
  /** Pass it to get the next page; null at the end. */
  readonly nextCursor: string | null
}

export interface PageRequest {
  readonly cursor: string | null
  readonly limit: number
}

/** How many rows one page of events reads if a filter has no index. */
export const SCAN_ROWS_MAX = 20_000

/** How many bytes of payloads one page of a text search reads: its cost grows with them, not with rows. */
export const SCAN_BYTES_MAX = 8 * 1_024 * 1_024

/** Counts of the overview stop here: beyond it, "many" is all that a user needs. */
export const OVERVIEW_COUNT_MAX = 10_000

/** How many dead letters are read for their groups, the newest first, and how many groups are returned. */
export const GROUPED_DEAD_LETTERS_MAX = 50_000
export const GROUPS_MAX = 200

/** How many jobs of one instance are returned; how many pairs of definition and marking of a workflow are counted. */
export const INSTANCE_WORK_MAX = 1_000
export const MARKINGS_MAX = 1_000

export interface StoredRecord {
  readonly key: string
  readonly version: number
  readonly body: string
}

/** The state of a lane. */
export interface LaneRow {
  readonly consumer: string
  readonly key: string
  /** Of the latest job. */
  readonly width: number
  /** Of the latest job that had one; null: none did. */
  readonly version: string | null
  /** Jobs that have a position. */
  readonly places: number
  readonly waiting: number
  readonly updatedAt: Instant
}

export interface OpenCount {
  readonly consumer: string
  readonly ready: number
  readonly waiting: number
  readonly leased: number
}

export interface OverviewCounts {
  readonly ready: number
  readonly leased: number
  readonly parked: number
  /** In the state `open`. */
  readonly openDeadLetters: number
  /** In the state `raised`. */
  readonly raisedEscalations: number
  /** In the state `open`: still retried. */
  readonly openFailures: number
  /** In the state `active`. */
  readonly activeInstances: number
  /** Active, and needing a user's attention. */
  readonly instancesWithAttention: number
  /** In the state `open`. */
  readonly openOrphans: number
  readonly unmatched: number
}

export interface StoreOverview {
  /** Each stops at `cappedAt`. */
  readonly counts: OverviewCounts
  readonly cappedAt: number
  /** The smallest `dueAt` of a ready job. */
  readonly oldestReadyAt: Instant | null
}

/**
 * Pages are newest first, except `records`, which are ordered by key; `workOfEvent`, `causedBy` and `attempts` are oldest
 * first. A cursor is opaque; a malformed one throws `StoreError` with code `invalid_cursor`.
 */
export interface TenantReads {
  event(id: EventId): Promise<StoredEvent | null>
  /**
   * `q` is a part of the id, subject, source, object id, correlation id, dedup key or payload text; A to Z count as a to z. A
   * whole event id or work id finds that one event. `from` (inclusive) and `to` (exclusive) are about `receivedAt`; the rows
   * are found by the time in their ids, so an event whose id was made more than ten minutes off the store's clock may be missed
   * near the ends. A filter other than `unmatched: true` has no index: a page then reads `scanMax` rows (by default
   * `SCAN_ROWS_MAX`) and may contain fewer items than requested with a cursor that continues after them. With `q` it also ends
   * with the row by which `scanBytesMax` of payload (by default `SCAN_BYTES_MAX`) were read.
   */
  events(
    query: PageRequest & {
      readonly source?: string
      /** None of this source. */
      readonly sourceNot?: string
      readonly subject?: string
      readonly unmatched?: boolean
      readonly objectId?: string
      readonly correlationId?: string
      readonly from?: Instant
      readonly to?: Instant
      readonly q?: string
      readonly scanMax?: number
      readonly scanBytesMax?: number
    },
  ): Promise<Page<EventSummary>>
  /**
   * A walk over the events, by id, the oldest first: those after `after`, which need not exist, and before `below`. Each call
   * reads no more rows than it returns.
   */
  eventsAfter(query: {
    readonly after: EventId
    readonly below: EventId
    readonly limit: number
  }): Promise<readonly EventSummary[]>
  /** Facts by id: those after `after` and before `below`, the oldest or the newest first. A call reads no more rows than it returns. */
  facts(query: {
    readonly after: EventId
    readonly below: EventId
    readonly limit: number
    readonly order: 'oldest' | 'newest'
  }): Promise<readonly Fact[]>
  /** The events that name this one as their cause. */
  causedBy(id: EventId, limit: number): Promise<readonly EventSummary[]>
  work(id: WorkId): Promise<WorkRow | null>
  workOfEvent(id: EventId): Promise<readonly WorkRow[]>
  /** The jobs of all these events in one call, ordered by event and id. */
  workOfEvents(ids: readonly EventId[]): Promise<readonly WorkRow[]>
  /**
   * `from` (inclusive) and `to` (exclusive) are about `createdAt`, the store's instant of the job's creation; the rows are
   * found by the time in their ids, as events are. By `state` alone, by a consumer `subscription:…`, and by such a consumer
   * with a state other than `done`, the list has an index. Any other filter reads `scanMax` rows a page (by default
   * `SCAN_ROWS_MAX`): the page may contain fewer items than requested, even none, with a cursor that continues after them. The
   * list ends where `nextCursor` is null, and nowhere else.
   */
  workList(
    query: PageRequest & {
      readonly state?: WorkState
      readonly consumer?: string
      readonly kind?: WorkKind
      readonly class?: FailureClass
      readonly from?: Instant
      readonly to?: Instant
      readonly scanMax?: number
    },
  ): Promise<Page<WorkRow>>
  /** How many jobs of each consumer are not settled, in the order requested; each count stops at `cap`. */
  openCounts(consumers: readonly string[], cap: number): Promise<readonly OpenCount[]>
  /** How many jobs have not ended, and how many dead letters wait for a decision, together; it stops at `cap`. */
  openTotal(cap: number): Promise<number>
  /** The members of a batch, by creation. */
  workMerged(into: WorkId): Promise<readonly WorkRow[]>
  lane(consumer: string, key: string): Promise<LaneRow | null>
  /** Those that wait for a position, the oldest first. */
  laneWaiting(consumer: string, key: string, limit: number): Promise<readonly WorkRow[]>
  /** Jobs that are parked or dead and hold their lane up. */
  laneHolders(query: PageRequest): Promise<Page<WorkRow>>
  attempts(id: WorkId): Promise<readonly Attempt[]>
  ledger(key: string): Promise<LedgerEntry | null>
  /** All generations of the key, the first one first. */
  ledgerHistory(key: string): Promise<readonly LedgerEntry[]>
  ledgerList(
    query: PageRequest & { readonly state?: LedgerState; readonly consumer?: string },
  ): Promise<Page<LedgerEntry>>
  /** The entries that the job holds and that are open, reserved or unknown: oldest first, at equal ages by key. */
  ledgerOfWork(id: WorkId): Promise<readonly LedgerEntry[]>
  deadLetter(id: DeadLetterId): Promise<DeadLetter | null>
  deadLetters(
    query: PageRequest & {
      readonly state?: DeadLetterState
      readonly consumer?: string
      readonly class?: FailureClass
      readonly reason?: DeadLetterReason
      readonly eventId?: EventId
      /** Only those before this one in the order of ids. */
      readonly olderThan?: DeadLetterId
    },
  ): Promise<Page<DeadLetter>>
  /** The largest group first. `isCapped`: there are more dead letters or groups than were read or are returned. */
  deadLetterGroups(query: {
    readonly state: DeadLetterState
  }): Promise<{ readonly groups: readonly DeadLetterGroup[]; readonly isCapped: boolean }>
  failure(id: FailureId): Promise<Failure | null>
  failures(
    query: PageRequest & {
      readonly state?: FailureState
      readonly consumer?: string
      readonly class?: FailureClass
      readonly cause?: string
    },
  ): Promise<Page<Failure>>
  escalation(id: EscalationId): Promise<Escalation | null>
  escalations(
    query: PageRequest & {
      readonly state?: EscalationState
      readonly consumer?: string
      /** Only those that were not announced. */
      readonly unannounced?: true
    },
  ): Promise<Page<Escalation>>
  instance(id: InstanceId): Promise<InstanceRow | null>
  instances(
    query: PageRequest & {
      readonly workflow?: string
      readonly state?: InstanceState
      /** Those that are active and have a token there. Only together with `workflow`. */
      readonly place?: string
      /** Hash of their definition. Only together with `workflow`, and about active ones. */
      readonly definition?: string
      /** Those that are active and have this attention, or any. */
      readonly attention?: Attention | 'any'
      readonly parent?: InstanceId
    },
  ): Promise<Page<InstanceRow>>
  /** Oldest first, those after `after`. */
  instanceHistory(
    id: InstanceId,
    query: { readonly after: number; readonly limit: number },
  ): Promise<readonly HistoryRow[]>
  /**
   * The jobs of an instance that are not final, by creation; `all`: also final ones of the event that started it. At most
   * `INSTANCE_WORK_MAX`, the oldest.
   */
  workOfInstance(id: InstanceId, query: { readonly all: boolean }): Promise<readonly WorkRow[]>
  /**
   * Of the active instances of a workflow. Each count stops at `OVERVIEW_COUNT_MAX`, and only the first `MARKINGS_MAX` pairs of
   * definition and marking are counted. `version` is the version name of the one with the greatest id.
   */
  instanceCounts(workflow: string): Promise<{
    readonly markings: readonly { readonly marking: Marking; readonly count: number }[]
    readonly definitions: readonly {
      readonly definition: string
      readonly version: string
      readonly count: number
    }[]
    readonly attention: number
  }>
  correlation(key: string): Promise<{ readonly version: number; readonly body: string } | null>
  orphan(id: OrphanId): Promise<Orphan | null>
  orphans(
    query: PageRequest & { readonly state?: OrphanState; readonly workflow?: string },
  ): Promise<Page<Orphan>>
  run(id: RunId): Promise<Run | null>
  /** Every filter has an index, except those that nearly all runs pass: `completed` and `work`. */
  runs(
    query: PageRequest & {
      readonly connection?: string
      readonly state?: RunState
      readonly purpose?: RunPurpose
      readonly workId?: WorkId
    },
  ): Promise<Page<Run>>
  record(kind: RecordKind, key: string): Promise<{ readonly version: number; readonly body: string } | null>
  /** Ordered by the bytes of the key. `prefix` is literal; a key that contains U+0000 may be left out. */
  records(
    query: PageRequest & { readonly kind: RecordKind; readonly prefix?: string },
  ): Promise<Page<StoredRecord>>
  overview(): Promise<StoreOverview>
  /** Alone, as a node asks for it all the time: what is counted beside it costs more. */
  oldestReadyAt(): Promise<Instant | null>
}

/** Why a read may cross tenants. The list is short on purpose. */
export type SystemReason = 'health' | 'recovery' | 'verification' | 'definitions' | 'relay'

export interface StoreDump {
  readonly events: readonly StoredEvent[]
  readonly work: readonly WorkRow[]
  readonly attempts: readonly (Attempt & { readonly work: WorkId })[]
  readonly ledger: readonly LedgerEntry[]
  readonly deadLetters: readonly DeadLetter[]
  readonly failures: readonly Failure[]
  readonly escalations: readonly Escalation[]
  readonly lanes: readonly (LaneRow & { readonly tenant: TenantId })[]
  readonly instances: readonly InstanceRow[]
  readonly history: readonly (HistoryRow & { readonly tenant: TenantId })[]
  readonly correlations: readonly {
    readonly tenant: TenantId
    readonly key: string
    readonly version: number
    readonly body: string
  }[]
  readonly orphans: readonly Orphan[]
  readonly runs: readonly Run[]
  readonly records: readonly {
    readonly tenant: TenantId
    readonly kind: RecordKind
    readonly key: string
    readonly version: number
    readonly body: string
  }[]
  readonly facts: readonly Fact[]
  /** Without their positions: each store has its own. */
  readonly outbox: readonly Omit<OutboxRow, 'position'>[]
}

export interface SystemReads {
  /** The consumers that have ready jobs, due or not: also those that are no longer defined. */
  readyConsumers(): Promise<readonly { readonly tenant: TenantId; readonly consumer: string }[]>
  /** The tenants that have a record of the kind `bundle`, by name: whose definitions a start has to load. */
  tenants(): Promise<readonly TenantId[]>
  /** Jobs per state, over all tenants. */
  workCounts(): Promise<Readonly<Record<WorkState, number>>>
  /**
   * The oldest rows of the outbox, over all tenants, with their events, except deleted ones. The order is stable: no row that
   * is committed later comes before a returned one. So a row may be returned a little later than it was committed, while an
   * older transaction is open. `after` is the position of a row that still exists: returns the rows after it.
   */
  outbox(
    limit: number,
    after?: number,
  ): Promise<{ readonly rows: readonly OutboxRow[]; readonly events: readonly StoredEvent[] }>
  /** How many rows are in the outbox; the count stops at `cap`. */
  outboxCount(cap: number): Promise<number>
  /**
   * Since when the oldest row of the outbox is there, returned by `outbox` or not; null: none is. `heldBy`: what keeps the rows
   * from being returned, in words that say what to do; null: nothing.
   */
  outboxEldest(): Promise<{ readonly at: Instant | null; readonly heldBy: string | null }>
  /** Everything, in a fixed order (by tenant and id, key or number): to compare stores. */
  dump(): Promise<StoreDump>
}

/** Sees the outcome of every commit just before its caller does. Must not throw. */
export interface CommitWatcher {
  settled(commit: Commit, result: CommitResult): void
  failed(error: unknown): void
}

export interface Store extends AsyncDisposable {
  commit(commit: Commit): Promise<CommitResult>
  /** Left out: outcomes are visible in the promises alone. A store that has it saves its watcher a promise per commit. */
  watchCommits?(watcher: CommitWatcher): void
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** A new incarnation of the node; its earlier ones are fenced at once. */
  join(node: NodeId, ttlMs: number): Promise<{ owner: Incarnation; until: Instant; now: Instant }>
  /** Extends the incarnation's lease to now + ttlMs. Once fenced or expired it never comes back. */
  renew(owner: Incarnation, ttlMs: number): Promise<{ until: Instant; now: Instant } | 'fenced'>
  /**
   * Fences incarnations whose lease expired and puts the jobs of fenced ones back: ready, due now, marked `alone` (isolated);
   * the crash count of a job that was isolated already grows by one. Returns the jobs that were put back, at most `limit`.
   */
  reclaim(limit: number): Promise<readonly WorkId[]>
  /**
   * The node leaves by itself: its incarnation is fenced at once, and all its jobs are put back, ready and due now. It did not
   * crash, so nothing is marked `alone` for it and no crash is counted. Returns the jobs that were put back; none of an
   * incarnation that is fenced already.
   */
  leave(owner: Incarnation): Promise<readonly WorkId[]>
  /**
   * Walks the tenant's events by id and deletes those that are older than their source's time, whose dedup window is over, and
   * that nothing needs any more: all their jobs are final and have no lane position, their dead letters are resolved or
   * discarded, and their jobs hold no ledger entry that is reserved or unknown. Their jobs with attempts, failures and runs,
   * their duplicates, dead letters and dedup entries are deleted with them. An event that started an active instance, or that a
   * waiting or open orphan is about, stays. After the events come the ledger, the lanes, the escalations, then instances that
   * ended longer ago than any event is stored, with their history, orphans that are correlated or discarded for as long, runs
   * without a job that were untouched for as long, and facts past their own time.
   * Reads `scanMax` rows at most; may be called by several nodes at once, and again.
   */
  prune(request: PruneRequest): Promise<Pruned>
  forTenant(tenant: TenantId): TenantReads
  system(reason: SystemReason): SystemReads
}

export class StoreError extends Error {
  override readonly name = 'StoreError'
  /** `sync_failed`: a flush failed, and the store writes nothing more until it is reopened. */
  readonly code:
    | 'unavailable'
    | 'invalid_cursor'
    | 'newer_version'
    | 'in_use'
    | 'corrupt'
    | 'closed'
    | 'sync_failed'
  readonly applied: 'no' | 'indeterminate'
  constructor(
    code: StoreError['code'],
    message: string,
    options: { cause?: unknown; applied?: 'no' | 'indeterminate' } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.applied = options.applied ?? 'no'
  }
}
