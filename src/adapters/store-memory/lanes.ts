// The rows of lanes for src/core/store/commit/lane-rows.ts.

import type { WorkRow } from '../../core/queue/work/index.ts'
import type { LaneRows } from '../../core/store/commit/index.ts'
import { compareText, findWork, laneKey, type MemoryState } from './state.ts'
import { put, putWorkRow, type Transaction } from './transaction.ts'

/** The waiting jobs, oldest first. */
export function waitingRows(state: MemoryState, key: string): readonly WorkRow[] {
  const rows = [...(state.waiting.get(key) ?? [])].flatMap((id) => state.work.get(id) ?? [])
  return rows.sort((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id))
}

export function laneRows(tx: Transaction): LaneRows<WorkRow> {
  const { state, tenant } = tx
  return {
    findItem: (id) => findWork(state, tenant, id),
    putItem: (item) => putWorkRow(tx, item),
    findLane: (consumer, key) => state.lanes.get(laneKey(tenant, consumer, key)),
    putLane: (lane) => put(tx, state.lanes, laneKey(tenant, lane.consumer, lane.key), Object.freeze(lane)),
    findOldestWaiting: (consumer, key) => waitingRows(state, laneKey(tenant, consumer, key))[0],
  }
}
