// The columns of every row type, declared once: name and kind. The archive's fields and PostgreSQL's tables are made from them. What a
// store has of its own (row numbers, hashes, codes of states) is its adapter's.
//
// A field of a row type without a column does not compile.

import type { Run } from '../../effects/integration-run/index.ts'
import type { LedgerEntry } from '../../effects/ledger/index.ts'
import type { Fact } from '../../events/canonical/index.ts'
import type { StoredEvent } from '../../events/event/index.ts'
import type { DeadLetter } from '../../failures/dead-letter/index.ts'
import type { Escalation } from '../../failures/escalation/index.ts'
import type { Failure } from '../../failures/failure/index.ts'
import type { TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Attempt, WorkRow } from '../../queue/work/index.ts'
import type { HistoryRow, InstanceRow } from '../../workflows/instance/index.ts'
import type { Orphan } from '../../workflows/orphan/index.ts'
import type { OutboxRow } from '../outbox/index.ts'

interface OfTenant {
  readonly tenant: TenantId
}

export interface StoredRows {
  readonly records: OfTenant & {
    readonly kind: string
    readonly key: string
    readonly version: number
    readonly body: string
  }
  /** The encrypted paths are not a column: the ciphertext contains them. */
  readonly events: Omit<StoredEvent, 'sensitive'>
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
  readonly attempts: OfTenant & Attempt & { readonly work: WorkId }
  readonly ledger: LedgerEntry
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

/** `whole`: an integer. `value`: any JSON value. */
export type ColumnKind = 'text' | 'whole' | 'number' | 'flag' | 'value'

export type ColumnsOf<Row> = { readonly [Name in keyof Required<Row>]: ColumnKind }

export const ROW_COLUMNS = {
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
} as const satisfies { readonly [Type in keyof StoredRows]: ColumnsOf<StoredRows[Type]> }
