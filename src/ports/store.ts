// The store: the one interface that carries the promise.
//
// A commit is plain data: guards, then unconditional writes, applied all or not at all. A refused guard is an
// answer, not an exception, and writes nothing. Commits that arrive together share one durable transaction; each
// has its own result, and nobody is answered before the transaction is on disk.
//
// A commit writes each row at most once, but for work that it adds and settles. One that adds an id that exists already is a caller's bug: it is rejected
// and writes nothing, and the rest of its group is not disturbed. docs/spec/store.md has every rule.
//
// Only the store's clock decides leases, due times and windows: callers pass durations, the store turns them into
// instants with the `now` of the transaction.
//
// Throwing means infrastructure: `StoreError.applied` says whether the commit may have been applied. Adapters
// settle an indeterminate COMMIT themselves by looking for the group's id, so callers see `indeterminate` only when
// looking was impossible too.

import type { Run, RunPurpose, RunState } from '../core/effects/integration-run/index.ts'
import type { LedgerEntry, LedgerState } from '../core/effects/ledger/index.ts'
import type { EventSummary, StoredEvent } from '../core/events/event/index.ts'
import type {
  DeadLetter,
  DeadLetterReason,
  DeadLetterState,
  LetterGroup,
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
  /** Holds while the item is leased by this owner at this epoch and the owner is not fenced. */
  | { readonly g: 'lease'; readonly work: WorkId; readonly owner: Incarnation; readonly epoch: number }
  /** Holds while the item is in this state at this epoch: for what a person decides about work nobody owns. */
  | { readonly g: 'work'; readonly work: WorkId; readonly state: WorkState; readonly epoch: number }
  /** Holds while no event of the source has this key within its window. */
  | { readonly g: 'dedup'; readonly source: string; readonly key: string }
  /** Holds while the ledger has no entry for the key. */
  | { readonly g: 'unreserved'; readonly key: string }
  /** Holds while the entry is in this state, made by this work at this epoch. */
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

/** What stood in the way of a guard, by the guard's kind. */
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
      /** The items of this commit that were born leased. */
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
    /** No more than this many of the consumer's items may be leased at once, by whomever. */
    readonly limit?: number
  }[]
  /** At most this many items in all. */
  readonly max: number
  /** At most this many isolated jobs: those that a crash left behind twice (they run one at a time). */
  readonly maxIsolated: number
  /** Code that this node can load; items that need other code are left. */
  readonly codeHashes: readonly string[]
}

export interface ClaimedWork {
  readonly work: WorkRow
  readonly event: StoredEvent
}

export interface ClaimResult {
  readonly items: readonly ClaimedWork[]
  /** The earliest instant at which a ready item of the asked slots is due that was not claimed now. */
  readonly nextDueAt: Instant | null
  readonly now: Instant
}

export interface Page<Row> {
  readonly items: readonly Row[]
  /** Give it back to get the next page; null at the end. */
  readonly nextCursor: string | null
}

export interface PageRequest {
  readonly cursor: string | null
  readonly limit: number
}

/** How many rows one page of events looks at when a filter has no index. */
export const SCAN_ROWS_MAX = 20_000

/** How many bytes of payloads one page of a search by text goes through: what a look costs grows with them, not with rows. */
export const SCAN_BYTES_MAX = 8 * 1_024 * 1_024

/** Counts of the overview stop here: beyond it, «many» is all that a person needs. */
export const OVERVIEW_COUNT_MAX = 10_000

/** How many dead letters are looked at for their groups, the newest first, and how many groups are answered. */
export const GROUPED_LETTERS_MAX = 50_000
export const GROUPS_MAX = 200

/** How many items of one instance are answered; how many pairs of definition and marking of a workflow are counted. */
export const INSTANCE_WORK_MAX = 1_000
export const MARKINGS_MAX = 1_000

export interface StoredRecord {
  readonly key: string
  readonly version: number
  readonly body: string
}

/** Where a lane stands. */
export interface LaneRow {
  readonly consumer: string
  readonly key: string
  /** As the item that came last has it. */
  readonly width: number
  /** As the last item that told one; null: none did. */
  readonly version: string | null
  /** Items that have a place. */
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
  /** In the state `open`: somebody tries again. */
  readonly openFailures: number
  /** In the state `active`. */
  readonly activeInstances: number
  /** Active, and a person should look at them. */
  readonly instancesWithAttention: number
  /** In the state `open`. */
  readonly openOrphans: number
  readonly unmatched: number
}

export interface StoreOverview {
  /** Each stops at `cappedAt`. */
  readonly counts: OverviewCounts
  readonly cappedAt: number
  /** The smallest `dueAt` of a ready item. */
  readonly oldestReadyAt: Instant | null
}

/**
 * Pages are newest first, but for `records`, which go by key; `workOfEvent`, `causedBy` and `attempts` are oldest first. A
 * cursor is opaque; a malformed one throws `StoreError` with code `invalid_cursor`.
 */
export interface TenantReads {
  event(id: EventId): Promise<StoredEvent | null>
  /**
   * `q` is a piece of the id, subject, source, object id, correlation id, dedup key or payload text; A to Z count as a to z. A
   * whole event id or work id finds that one event. `from` (inclusive) and `to` (exclusive) are about `receivedAt`; the rows are
   * found by the time in their ids, so an event whose id was made more than ten minutes off the store's clock may be passed
   * over near the ends. A filter other than `unmatched: true` has no index: a page then looks at
   * `scanMax` rows (`SCAN_ROWS_MAX` unless told) and may hold fewer items than asked with a cursor that goes on behind them.
   * With `q` it also ends with the row by which `scanBytesMax` of payload (`SCAN_BYTES_MAX` unless told) were looked at.
   */
  events(
    query: PageRequest & {
      readonly source?: string
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
   * A walk over the events, by id, the oldest first: those behind `after`, which need not be there, and before `below`. Each call
   * looks at no more rows than it answers.
   */
  eventsAfter(query: {
    readonly after: EventId
    readonly below: EventId
    readonly limit: number
  }): Promise<readonly EventSummary[]>
  /** The events that name this one as their cause. */
  causedBy(id: EventId, limit: number): Promise<readonly EventSummary[]>
  work(id: WorkId): Promise<WorkRow | null>
  workOfEvent(id: EventId): Promise<readonly WorkRow[]>
  /** The work of all these events in one go, ordered by event and id. */
  workOfEvents(ids: readonly EventId[]): Promise<readonly WorkRow[]>
  /**
   * `from` (inclusive) and `to` (exclusive) are about `createdAt`, the store's instant of the item's birth; the rows are found by
   * the time in their ids, as events are. By `state` alone, by a consumer `subscription:…`, and by such a consumer with a state
   * other than `done`, the list has an index. Any other filter looks at `scanMax` rows a page (`SCAN_ROWS_MAX` unless told): the
   * page may hold fewer items than asked, even none, with a cursor that goes on behind them. The list is at its end where
   * `nextCursor` is null, and nowhere else.
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
  /** How much of each consumer is not settled, in the order asked; each count stops at `cap`. */
  openCounts(consumers: readonly string[], cap: number): Promise<readonly OpenCount[]>
  /** How many jobs have not ended, and how many dead letters wait for a decision, together; it stops at `cap`. */
  openTotal(cap: number): Promise<number>
  /** The members of a batch, by birth. */
  workMerged(into: WorkId): Promise<readonly WorkRow[]>
  lane(consumer: string, key: string): Promise<LaneRow | null>
  /** Those that wait for a place, the eldest first. */
  laneWaiting(consumer: string, key: string, limit: number): Promise<readonly WorkRow[]>
  /** Items that are parked or dead and hold their lane up. */
  laneHolders(query: PageRequest): Promise<Page<WorkRow>>
  attempts(id: WorkId): Promise<readonly Attempt[]>
  ledger(key: string): Promise<LedgerEntry | null>
  /** All generations of the key, the first one first. */
  ledgerHistory(key: string): Promise<readonly LedgerEntry[]>
  ledgerList(
    query: PageRequest & { readonly state?: LedgerState; readonly consumer?: string },
  ): Promise<Page<LedgerEntry>>
  /** The entries that the work item holds and that are open, reserved or unknown: oldest first, at equal ages by key. */
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
  /** The largest group first. `isCapped`: there are more letters or groups than were looked at or are answered. */
  deadLetterGroups(query: {
    readonly state: DeadLetterState
  }): Promise<{ readonly groups: readonly LetterGroup[]; readonly isCapped: boolean }>
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
      /** Only those whose event is not out. */
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
      /** Those that are active and have this one, or any. */
      readonly attention?: Attention | 'any'
      readonly parent?: InstanceId
    },
  ): Promise<Page<InstanceRow>>
  /** Oldest first, those behind `after`. */
  instanceHistory(
    id: InstanceId,
    query: { readonly after: number; readonly limit: number },
  ): Promise<readonly HistoryRow[]>
  /**
   * The items of an instance that are not final, by birth; `all`: also those of the event that it began with that are. At most
   * `INSTANCE_WORK_MAX`, the eldest.
   */
  workOfInstance(id: InstanceId, query: { readonly all: boolean }): Promise<readonly WorkRow[]>
  /**
   * Of the active instances of a workflow. Each count stops at `OVERVIEW_COUNT_MAX`, and only the first
   * `MARKINGS_MAX` pairs of definition and marking are counted. `version` is what the one with the greatest id calls itself.
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
  /** Every filter has an index, but for those that nearly all runs pass: `completed` and `work`. */
  runs(
    query: PageRequest & {
      readonly connection?: string
      readonly state?: RunState
      readonly purpose?: RunPurpose
      readonly workId?: WorkId
    },
  ): Promise<Page<Run>>
  record(kind: RecordKind, key: string): Promise<{ readonly version: number; readonly body: string } | null>
  /** Ordered by the bytes of the key. `prefix` is taken letter by letter; a key that holds U+0000 may be left out. */
  records(
    query: PageRequest & { readonly kind: RecordKind; readonly prefix?: string },
  ): Promise<Page<StoredRecord>>
  overview(): Promise<StoreOverview>
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
  /** Without their positions: each store has its own. */
  readonly outbox: readonly Omit<OutboxRow, 'position'>[]
}

export interface SystemReads {
  /** Who has ready work, due or not: also consumers that are no longer defined. */
  readyConsumers(): Promise<readonly { readonly tenant: TenantId; readonly consumer: string }[]>
  /** The tenants that have a record of the kind `bundle`, by name: whose definitions a start has to load. */
  tenants(): Promise<readonly TenantId[]>
  /** Items per state, over all tenants. */
  workCounts(): Promise<Readonly<Record<WorkState, number>>>
  /**
   * The eldest of the outbox, over all tenants, and the events that they tell of, but for those that are gone. What is answered
   * comes in an order in which nothing that is committed later comes before it; so a row may be answered a little later than it
   * was committed, while an older transaction is open. `after` is the position of a row that is still there: what comes behind it.
   */
  outbox(
    limit: number,
    after?: number,
  ): Promise<{ readonly rows: readonly OutboxRow[]; readonly events: readonly StoredEvent[] }>
  /** How much is in the outbox; the count stops at `cap`. */
  outboxCount(cap: number): Promise<number>
  /**
   * Since when the eldest of the outbox is there, answered by `outbox` or not; null: none is. `heldBy`: who keeps what is there from being
   * answered, in words that say what to do; null: nobody.
   */
  outboxEldest(): Promise<{ readonly at: Instant | null; readonly heldBy: string | null }>
  /** Everything, in a fixed order (by tenant and id, key or number): to compare stores. */
  dump(): Promise<StoreDump>
}

export interface Store extends AsyncDisposable {
  commit(commit: Commit): Promise<CommitResult>
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** A new incarnation of the node; its earlier ones are fenced at once. */
  join(node: NodeId, ttlMs: number): Promise<{ owner: Incarnation; until: Instant; now: Instant }>
  /** Extends the incarnation's life to now + ttlMs. Once fenced or expired it never comes back. */
  renew(owner: Incarnation, ttlMs: number): Promise<{ until: Instant; now: Instant } | 'fenced'>
  /**
   * Fences incarnations whose time is up and gives the work of fenced ones back: ready, due now, marked `alone`; an
   * item that was alone already has one loss more. Answers the items given back, at most `limit`.
   */
  reclaim(limit: number): Promise<readonly WorkId[]>
  /**
   * The node goes by itself: its incarnation is fenced at once, and all that it holds is given back, ready and due now. Nobody died, so
   * nothing is marked `alone` for it and no loss is counted. Answers the items given back; none of one that is fenced already.
   */
  leave(owner: Incarnation): Promise<readonly WorkId[]>
  /**
   * Walks the tenant's events by id and deletes those that are older than their source's time, whose dedup window is over, and
   * that nothing needs any more: all their work is final and holds no place in a lane, their dead letters are resolved or
   * discarded, and their work holds no ledger entry that is reserved or unknown. Their work, its attempts, failures and runs, their
   * duplicates, dead letters and dedup entries go with them. An event that an active instance began with, or that an orphan is about
   * which waits or is open, stays. After the events come the ledger, the lanes, the escalations, then instances that ended
   * longer ago than any event is kept, with their history, orphans that are correlated or discarded for as long, and runs without
   * a work item that nobody has touched for as long.
   * Looks at `scanMax` rows at most; may be called by several nodes at once, and again.
   */
  prune(request: PruneRequest): Promise<Pruned>
  forTenant(tenant: TenantId): TenantReads
  system(reason: SystemReason): SystemReads
}

export class StoreError extends Error {
  override readonly name = 'StoreError'
  /** `sync_failed`: a flush failed, and the store writes nothing more until it is opened again. */
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
