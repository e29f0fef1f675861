// Leases of nodes: one heartbeat per incarnation, and the reclaim of jobs that a dead one had leased.

import type { Incarnation, NodeId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { compareText, isAlive, type MemoryState, putWork } from './state.ts'

export function joinNode(
  state: MemoryState,
  now: Instant,
  node: NodeId,
  ttlMs: number,
): { owner: Incarnation; until: Instant; now: Instant } {
  for (const [owner, row] of state.incarnations) if (row.node === node) fence(state, owner)
  state.lastIncarnation += 1
  const owner = state.lastIncarnation as Incarnation
  const until = now + ttlMs
  state.incarnations.set(owner, Object.freeze({ node, until, fenced: false }))
  return { owner, until, now }
}

export function renewIncarnation(
  state: MemoryState,
  now: Instant,
  owner: Incarnation,
  ttlMs: number,
): { until: Instant; now: Instant } | 'fenced' {
  const row = state.incarnations.get(owner)
  if (!row) return 'fenced'
  if (!isAlive(state, owner, now)) {
    fence(state, owner)
    return 'fenced'
  }
  const until = Math.max(row.until, now + ttlMs)
  state.incarnations.set(owner, Object.freeze({ ...row, until }))
  return { until, now }
}

export function reclaimWork(state: MemoryState, now: Instant, limit: number): readonly WorkId[] {
  const lost: WorkId[] = []
  for (const owner of state.incarnations.keys()) {
    if (isAlive(state, owner, now)) continue
    fence(state, owner)
    lost.push(...(state.leased.get(owner) ?? []))
  }
  const given = lost.sort(compareText).slice(0, limit)
  for (const id of given) giveBack(state, now, id)
  return given
}

export function leaveNode(state: MemoryState, now: Instant, owner: Incarnation): readonly WorkId[] {
  if (state.incarnations.get(owner)?.fenced !== false) return []
  fence(state, owner)
  const given = [...(state.leased.get(owner) ?? [])].sort(compareText)
  for (const id of given) {
    const row = state.work.get(id)
    if (row) putWork(state, id, { ...row, state: 'ready', owner: null, dueAt: now })
  }
  return given
}

function fence(state: MemoryState, owner: Incarnation): void {
  const row = state.incarnations.get(owner)
  if (row && !row.fenced) state.incarnations.set(owner, Object.freeze({ ...row, fenced: true }))
}

function giveBack(state: MemoryState, now: Instant, id: WorkId): void {
  const row = state.work.get(id)
  if (!row) return
  const losses = row.alone ? row.losses + 1 : row.losses
  putWork(state, id, { ...row, state: 'ready', owner: null, dueAt: now, alone: true, losses })
}
