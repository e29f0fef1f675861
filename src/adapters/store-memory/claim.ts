// Claiming: due jobs go to an owner, slot by slot.

import { assert } from '../../core/foundation/errors/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { isIsolated, type WorkRow } from '../../core/queue/work/index.ts'
import type { ClaimedWork, ClaimRequest, ClaimResult } from '../../ports/store.ts'
import { compareText, isAlive, type MemoryState, putWork } from './state.ts'

export function claimWork(state: MemoryState, now: Instant, request: ClaimRequest): ClaimResult {
  if (!isAlive(state, request.owner, now)) return { items: [], nextDueAt: null, now }
  const hashes = new Set(request.codeHashes)
  const items: ClaimedWork[] = []
  let isolatedCount = 0
  let nextDueAt: Instant | null = null
  for (const slot of request.slots) {
    const consumer = joinKey(slot.tenant, slot.consumer)
    const leasedCount = state.leasedOf.get(consumer)?.size ?? 0
    const slotMax = Math.min(slot.max, (slot.limit ?? Number.POSITIVE_INFINITY) - leasedCount)
    let slotCount = 0
    for (const row of readyRows(state, consumer, hashes)) {
      const hasRoom =
        slotCount < slotMax &&
        items.length < request.max &&
        (!isIsolated(row) || isolatedCount < request.maxIsolated)
      if (row.dueAt > now || !hasRoom) {
        nextDueAt = Math.min(nextDueAt ?? row.dueAt, row.dueAt)
        continue
      }
      items.push(lease(state, row, request.owner))
      slotCount += 1
      if (isIsolated(row)) isolatedCount += 1
    }
  }
  return { items, nextDueAt, now }
}

function readyRows(state: MemoryState, slot: string, hashes: ReadonlySet<string>): readonly WorkRow[] {
  const rows: WorkRow[] = []
  for (const id of state.ready.get(slot) ?? []) {
    const row = state.work.get(id)
    assert(row, `work ${id} is indexed but absent`)
    if (row.codeHash === null || hashes.has(row.codeHash)) rows.push(row)
  }
  return rows.sort((a, b) => a.dueAt - b.dueAt || compareText(a.id, b.id))
}

function lease(state: MemoryState, row: WorkRow, owner: Incarnation): ClaimedWork {
  const event = state.events.get(row.eventId)
  assert(event, `event ${row.eventId} of work ${row.id} is absent`)
  const work: WorkRow = { ...row, state: 'leased', owner, epoch: row.epoch + 1 }
  putWork(state, row.id, work)
  return { work, event }
}
