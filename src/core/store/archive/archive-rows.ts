// The rows of a store, table by table, as they are copied from one store into another.
//
// A row has everything that the promise depends on, in the core's terms, and nothing about how a store finds it: no row
// numbers, no hashes. `FIELDS` repeats every field, so that a new field cannot be forgotten: it would not compile.

import type { Run } from '../../effects/integration-run/index.ts'
import type { LedgerEntry } from '../../effects/ledger/index.ts'
import type { Fact } from '../../events/canonical/index.ts'
import type { StoredEvent } from '../../events/event/index.ts'
import type { DeadLetter } from '../../failures/dead-letter/index.ts'
import type { Escalation } from '../../failures/escalation/index.ts'
import type { Failure } from '../../failures/failure/index.ts'
import type { EventId, Incarnation, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Attempt, WorkRow } from '../../queue/work/index.ts'
import type { HistoryRow, InstanceRow } from '../../workflows/instance/index.ts'
import type { Orphan } from '../../workflows/orphan/index.ts'
import type { OutboxRow } from '../outbox/index.ts'

interface OfTenant {
  readonly tenant: TenantId
}

export const COUNTER_NAMES = ['incarnation', 'outbox'] as const
type CounterName = (typeof COUNTER_NAMES)[number]

export interface ArchiveRows {
  /** Counters that only grow. `last`: the last number assigned. */
  readonly counters: { readonly name: CounterName; readonly last: number }
  /** The nodes of the old store are stopped, so all of these ended. */
  readonly incarnations: {
    readonly owner: Incarnation
    readonly node: string
    readonly until: Instant
    readonly isFenced: boolean
  }
  readonly records: OfTenant & {
    readonly kind: string
    readonly key: string
    readonly version: number
    readonly body: string
  }
  /** The encrypted paths are not a column: the ciphertext contains them. */
  readonly events: Omit<StoredEvent, 'sensitive'>
  /** The dedup windows: which event took the key last, and until when. */
  readonly dedup: OfTenant & {
    readonly source: string
    readonly key: string
    readonly event: EventId
    readonly until: Instant
  }
  readonly lanes: OfTenant & {
    readonly consumer: string
    readonly key: string
    readonly width: number
    readonly version: string | null
    readonly places: number
    readonly waiting: number
    readonly updatedAt: Instant
  }
  readonly work: WorkRow
  /** `turn`: 0 for the first attempt of its number, 1 for a second one, in the order in which they were written. */
  readonly attempts: OfTenant & Attempt & { readonly work: WorkId; readonly turn: number }
  /** `isLatest`: the current generation of its key. */
  readonly ledger: LedgerEntry & { readonly isLatest: boolean }
  readonly deadLetters: DeadLetter
  readonly failures: Failure
  readonly escalations: Escalation
  readonly instances: InstanceRow
  readonly history: OfTenant & HistoryRow
  readonly correlations: OfTenant & {
    readonly key: string
    readonly version: number
    readonly body: string
  }
  readonly orphans: Orphan
  readonly runs: Run
  readonly facts: Fact
  /** Messages still to be published, at the position that gives their order. */
  readonly outbox: OutboxRow
}

export type ArchiveTable = keyof ArchiveRows

/** `whole`: an integer. `value`: any JSON value. */
type FieldKind = 'text' | 'whole' | 'number' | 'flag' | 'value'

const FIELDS: {
  readonly [Table in ArchiveTable]: Readonly<Record<keyof ArchiveRows[Table], FieldKind>>
} = {
  counters: { name: 'text', last: 'whole' },
  incarnations: { owner: 'whole', node: 'text', until: 'whole', isFenced: 'flag' },
  records: { tenant: 'text', kind: 'text', key: 'text', version: 'whole', body: 'text' },
  events: {
    tenant: 'text',
    id: 'text',
    source: 'text',
    subject: 'text',
    objectType: 'text',
    objectId: 'text',
    occurredAt: 'whole',
    correlationId: 'text',
    causationId: 'text',
    traceId: 'text',
    dedupKey: 'text',
    payloadHash: 'text',
    headers: 'text',
    data: 'text',
    raw: 'text',
    matched: 'whole',
    receivedAt: 'whole',
    duplicates: 'whole',
    lastDuplicateAt: 'whole',
  },
  dedup: { tenant: 'text', source: 'text', key: 'text', event: 'text', until: 'whole' },
  lanes: {
    tenant: 'text',
    consumer: 'text',
    key: 'text',
    width: 'whole',
    version: 'text',
    places: 'whole',
    waiting: 'whole',
    updatedAt: 'whole',
  },
  work: {
    tenant: 'text',
    id: 'text',
    kind: 'text',
    consumer: 'text',
    definition: 'text',
    codeHash: 'text',
    eventId: 'text',
    state: 'text',
    dueAt: 'whole',
    owner: 'whole',
    epoch: 'whole',
    alone: 'flag',
    attempts: 'whole',
    waits: 'whole',
    losses: 'whole',
    key: 'text',
    class: 'text',
    lastError: 'text',
    effectRef: 'text',
    httpStatus: 'whole',
    durationMs: 'number',
    createdAt: 'whole',
    expiresAt: 'whole',
    processedAt: 'whole',
    replayOf: 'text',
    element: 'whole',
    lane: 'text',
    hasPlace: 'flag',
    isFrozen: 'flag',
    into: 'text',
    generation: 'whole',
    instance: 'text',
    step: 'text',
  },
  attempts: {
    tenant: 'text',
    work: 'text',
    number: 'whole',
    turn: 'whole',
    startedAt: 'whole',
    durationMs: 'number',
    outcome: 'text',
    class: 'text',
    httpStatus: 'whole',
    error: 'text',
    response: 'text',
  },
  ledger: {
    tenant: 'text',
    key: 'text',
    generation: 'whole',
    isLatest: 'flag',
    work: 'text',
    epoch: 'whole',
    consumer: 'text',
    eventId: 'text',
    objectId: 'text',
    payloadHash: 'text',
    correlationId: 'text',
    state: 'text',
    proof: 'text',
    sendBy: 'whole',
    effectRef: 'text',
    result: 'text',
    evidence: 'value',
    createdAt: 'whole',
    settledAt: 'whole',
  },
  deadLetters: {
    tenant: 'text',
    id: 'text',
    version: 'whole',
    state: 'text',
    class: 'text',
    reason: 'text',
    consumer: 'text',
    eventId: 'text',
    workId: 'text',
    attempts: 'whole',
    replays: 'whole',
    lastError: 'text',
    key: 'text',
    correlationId: 'text',
    payloadHash: 'text',
    runbook: 'text',
    severity: 'text',
    step: 'text',
    failureId: 'text',
    createdAt: 'whole',
    updatedAt: 'whole',
  },
  failures: {
    tenant: 'text',
    id: 'text',
    state: 'text',
    workId: 'text',
    consumer: 'text',
    eventId: 'text',
    class: 'text',
    reason: 'text',
    key: 'text',
    attempts: 'whole',
    lastError: 'text',
    willRetryAt: 'whole',
    correlationId: 'text',
    severity: 'text',
    cause: 'text',
    createdAt: 'whole',
    updatedAt: 'whole',
  },
  escalations: {
    tenant: 'text',
    id: 'text',
    version: 'whole',
    state: 'text',
    cause: 'text',
    consumer: 'text',
    class: 'text',
    reason: 'text',
    severity: 'text',
    runbook: 'text',
    lastError: 'text',
    workId: 'text',
    count: 'whole',
    isAnnounced: 'flag',
    acknowledgedBy: 'text',
    note: 'text',
    createdAt: 'whole',
    updatedAt: 'whole',
  },
  instances: {
    tenant: 'text',
    id: 'text',
    workflow: 'text',
    definition: 'text',
    version: 'text',
    state: 'text',
    attention: 'text',
    revision: 'whole',
    marking: 'value',
    eventId: 'text',
    correlationId: 'text',
    parent: 'text',
    body: 'text',
    createdAt: 'whole',
    updatedAt: 'whole',
    endedAt: 'whole',
  },
  history: { tenant: 'text', instance: 'text', sequence: 'whole', type: 'text', body: 'text', at: 'whole' },
  correlations: { tenant: 'text', key: 'text', version: 'whole', body: 'text' },
  orphans: {
    tenant: 'text',
    id: 'text',
    version: 'whole',
    state: 'text',
    reason: 'text',
    workflow: 'text',
    trigger: 'text',
    eventId: 'text',
    workId: 'text',
    keys: 'text',
    instance: 'text',
    by: 'text',
    note: 'text',
    expiresAt: 'whole',
    createdAt: 'whole',
    updatedAt: 'whole',
  },
  runs: {
    tenant: 'text',
    id: 'text',
    state: 'text',
    purpose: 'text',
    connection: 'text',
    provider: 'text',
    operation: 'text',
    workId: 'text',
    eventId: 'text',
    correlationId: 'text',
    traceId: 'text',
    key: 'text',
    attemptCount: 'whole',
    attempts: 'value',
    class: 'text',
    httpStatus: 'whole',
    durationMs: 'number',
    error: 'text',
    externalRef: 'text',
    replayOf: 'text',
    createdAt: 'whole',
    updatedAt: 'whole',
  },
  facts: { tenant: 'text', id: 'text', body: 'text', createdAt: 'whole' },
  outbox: {
    tenant: 'text',
    position: 'whole',
    id: 'text',
    subject: 'text',
    about: 'text',
    event: 'text',
    body: 'text',
    createdAt: 'whole',
  },
}

/** In the order in which they are copied. */
export const ARCHIVE_TABLES = Object.keys(FIELDS) as readonly ArchiveTable[]

/** Name and kind of each field, in a fixed order. */
export const FIELDS_OF: Readonly<Record<ArchiveTable, readonly (readonly [string, FieldKind])[]>> =
  Object.fromEntries(ARCHIVE_TABLES.map((table) => [table, Object.entries(FIELDS[table])])) as never
