// The rows of a store, table by table, as they are copied from one store into another.
//
// A row has everything that the promise depends on, in the core's terms, and nothing about how a store finds it: no row
// numbers, no hashes. `FIELDS` has every field, so that a new field cannot be forgotten: it would not compile.

import type { EventId, Incarnation, TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { type ColumnKind, type ColumnsOf, ROW_COLUMNS, type StoredRows } from '../rows/index.ts'

export const COUNTER_NAMES = ['incarnation', 'outbox'] as const
type CounterName = (typeof COUNTER_NAMES)[number]

export interface ArchiveRows extends Omit<StoredRows, 'attempts' | 'ledger'> {
  /** Counters that only grow. `last`: the last number assigned. */
  readonly counters: { readonly name: CounterName; readonly last: number }
  /** The nodes of the old store are stopped, so all of these ended. */
  readonly incarnations: {
    readonly owner: Incarnation
    readonly node: string
    readonly until: Instant
    readonly isFenced: boolean
  }
  /** The dedup windows: which event took the key last, and until when. */
  readonly dedup: {
    readonly tenant: TenantId
    readonly source: string
    readonly key: string
    readonly event: EventId
    readonly until: Instant
  }
  /** `turn`: 0 for the first attempt of its number, 1 for a second one, in the order in which they were written. */
  readonly attempts: StoredRows['attempts'] & { readonly turn: number }
  /** `isLatest`: the current generation of its key. */
  readonly ledger: StoredRows['ledger'] & { readonly isLatest: boolean }
}

export type ArchiveTable = keyof ArchiveRows

const FIELDS: { readonly [Table in ArchiveTable]: ColumnsOf<ArchiveRows[Table]> } = {
  counters: { name: 'text', last: 'whole' },
  incarnations: { owner: 'whole', node: 'text', until: 'whole', isFenced: 'flag' },
  records: ROW_COLUMNS.records,
  events: ROW_COLUMNS.events,
  dedup: { tenant: 'text', source: 'text', key: 'text', event: 'text', until: 'whole' },
  lanes: ROW_COLUMNS.lanes,
  work: ROW_COLUMNS.work,
  attempts: { ...ROW_COLUMNS.attempts, turn: 'whole' },
  ledger: { ...ROW_COLUMNS.ledger, isLatest: 'flag' },
  deadLetters: ROW_COLUMNS.deadLetters,
  failures: ROW_COLUMNS.failures,
  escalations: ROW_COLUMNS.escalations,
  instances: ROW_COLUMNS.instances,
  history: ROW_COLUMNS.history,
  correlations: ROW_COLUMNS.correlations,
  orphans: ROW_COLUMNS.orphans,
  runs: ROW_COLUMNS.runs,
  facts: ROW_COLUMNS.facts,
  outbox: ROW_COLUMNS.outbox,
}

/** In the order in which they are copied. */
export const ARCHIVE_TABLES = Object.keys(FIELDS) as readonly ArchiveTable[]

/** Name and kind of each field, in a fixed order. */
export const FIELDS_OF: Readonly<Record<ArchiveTable, readonly (readonly [string, ColumnKind])[]>> =
  Object.fromEntries(ARCHIVE_TABLES.map((table) => [table, Object.entries(FIELDS[table])])) as never
