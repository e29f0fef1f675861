// Checks one guard against the state: null while it holds, otherwise what refused it.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import { unreachable } from '../../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Found, Guard } from '../../ports/store.ts'
import { findWork, type MemoryState } from './state.ts'

export interface Refusal {
  readonly found: Found | null
}

export function checkGuard(state: MemoryState, now: Instant, tenant: TenantId, guard: Guard): Refusal | null {
  switch (guard.g) {
    case 'lease': {
      const row = findWork(state, tenant, guard.work)
      const holds =
        row?.state === 'leased' &&
        row.owner === guard.owner &&
        row.epoch === guard.epoch &&
        state.incarnations.get(guard.owner)?.fenced === false
      return holds ? null : { found: foundWork(state, tenant, guard.work) }
    }
    case 'work': {
      const row = findWork(state, tenant, guard.work)
      const holds = row?.state === guard.state && row.epoch === guard.epoch
      return holds ? null : { found: foundWork(state, tenant, guard.work) }
    }
    case 'dedup': {
      const row = state.dedup.get(joinKey(tenant, guard.source, guard.key))
      return row === undefined || row.until <= now ? null : { found: { f: 'event', id: row.event } }
    }
    case 'unreserved': {
      const entry = state.ledger.get(joinKey(tenant, guard.key))
      return entry === undefined ? null : { found: foundLedger(entry) }
    }
    case 'ledger': {
      const entry = state.ledger.get(joinKey(tenant, guard.key))
      const holds = entry?.state === guard.state && entry.work === guard.work && entry.epoch === guard.epoch
      return holds ? null : { found: foundLedger(entry) }
    }
    case 'version': {
      const row = versioned(state, tenant, guard)
      if ((row?.version ?? 0) === guard.version) return null
      return { found: row === undefined ? null : { f: 'version', version: row.version } }
    }
    default:
      return unreachable(guard)
  }
}

function versioned(
  state: MemoryState,
  tenant: TenantId,
  { of, key }: Extract<Guard, { g: 'version' }>,
): { readonly version: number } | undefined {
  if (of === 'deadLetter') return state.deadLetters.get(joinKey(tenant, key))
  if (of === 'escalation') return state.escalations.get(joinKey(tenant, key))
  if (of === 'correlation') return state.correlations.get(joinKey(tenant, key))
  if (of === 'orphan') return state.orphans.get(joinKey(tenant, key))
  if (of === 'instance') {
    const row = state.instances.get(joinKey(tenant, key))
    return row && { version: row.revision }
  }
  return state.records.get(joinKey(tenant, of, key))
}

function foundWork(state: MemoryState, tenant: TenantId, id: WorkId): Found | null {
  const row = findWork(state, tenant, id)
  return row === undefined ? null : { f: 'work', state: row.state, owner: row.owner, epoch: row.epoch }
}

function foundLedger(entry: LedgerEntry | undefined): Found | null {
  return entry === undefined ? null : { f: 'ledger', entry }
}
