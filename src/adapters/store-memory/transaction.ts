// One commit in progress, with an undo for everything that it wrote.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import { type MemoryState, putWork } from './state.ts'

export interface Transaction {
  readonly state: MemoryState
  readonly now: Instant
  readonly tenant: TenantId
  /** Undo steps, in the order of the writes. */
  readonly undo: (() => void)[]
}

export function put<Key, Row>(tx: Transaction, table: Map<Key, Row>, key: Key, row: Row): void {
  const before = table.get(key)
  tx.undo.push(before === undefined ? () => table.delete(key) : () => table.set(key, before))
  table.set(key, row)
}

export function remove<Key, Row>(tx: Transaction, table: Map<Key, Row>, key: Key): void {
  const before = table.get(key)
  if (before === undefined) return
  tx.undo.push(() => table.set(key, before))
  table.delete(key)
}

export function putWorkRow(tx: Transaction, row: WorkRow): void {
  const before = tx.state.work.get(row.id) ?? null
  tx.undo.push(() => putWork(tx.state, row.id, before))
  putWork(tx.state, row.id, row)
}
