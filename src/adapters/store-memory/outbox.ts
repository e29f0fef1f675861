// What is still to be published to the bus.

import type { StoredEvent } from '../../core/events/event/index.ts'
import type { NewOutboxRow, OutboxRow } from '../../core/store/outbox/index.ts'
import { compareText, type MemoryState } from './state.ts'
import { put, remove, type Transaction } from './transaction.ts'

export function addOutboxRow(tx: Transaction, row: NewOutboxRow): void {
  const { state, tenant, now } = tx
  const { id, subject, about, event, body } = row
  state.lastPosition += 1
  const kept = { id, subject, about, event, body, tenant, position: state.lastPosition, createdAt: now }
  put(tx, state.outbox, kept.position, Object.freeze(kept))
}

export function deleteOutboxRow(tx: Transaction, position: number): void {
  const { outbox } = tx.state
  if (outbox.get(position)?.tenant === tx.tenant) remove(tx, outbox, position)
}

export function outboxRows(state: MemoryState): OutboxRow[] {
  return [...state.outbox.values()].sort((a, b) => a.position - b.position)
}

/** The events that the rows are about, each once. */
export function eventsOf(state: MemoryState, rows: readonly OutboxRow[]): StoredEvent[] {
  const events = new Set<StoredEvent>()
  for (const { tenant, event } of rows) {
    const found = event === null ? undefined : state.events.get(event)
    if (found?.tenant === tenant) events.add(found)
  }
  return [...events].sort((a, b) => compareText(a.id, b.id))
}
