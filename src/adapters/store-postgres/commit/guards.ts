// Checks one guard of a commit against what its group has found and done so far: null while it holds, otherwise what
// refused it.

import { unreachable } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Found, Guard } from '../../../ports/store.ts'
import { findEscalation, findWork, type View, type WorkHead } from './changes.ts'

interface Refusal {
  readonly found: Found | null
}

export function checkGuard(view: View, tenant: TenantId, guard: Guard): Refusal | null {
  const { loaded } = view
  switch (guard.g) {
    case 'lease': {
      const row = findWork(view, tenant, guard.work)
      const holds =
        row?.state === 'leased' &&
        row.owner === guard.owner &&
        row.epoch === guard.epoch &&
        loaded.owners.get(guard.owner)?.fenced === false
      return holds ? null : { found: foundWork(row) }
    }
    case 'work': {
      const row = findWork(view, tenant, guard.work)
      return row?.state === guard.state && row.epoch === guard.epoch ? null : { found: foundWork(row) }
    }
    case 'dedup': {
      const row = loaded.dedup.get(joinKey(tenant, guard.source, guard.key))
      return row === undefined || row.until <= loaded.now ? null : { found: { f: 'event', id: row.event } }
    }
    case 'unreserved': {
      const entry = loaded.ledger.get(joinKey(tenant, guard.key))
      return entry === undefined ? null : { found: { f: 'ledger', entry } }
    }
    case 'ledger': {
      const entry = loaded.ledger.get(joinKey(tenant, guard.key))
      const holds = entry?.state === guard.state && entry.work === guard.work && entry.epoch === guard.epoch
      if (holds) return null
      return { found: entry === undefined ? null : { f: 'ledger', entry } }
    }
    case 'version': {
      const row = findVersioned(view, tenant, guard)
      if ((row?.version ?? 0) === guard.version) return null
      return { found: row === undefined ? null : { f: 'version', version: row.version } }
    }
    default:
      return unreachable(guard)
  }
}

function findVersioned(
  view: View,
  tenant: TenantId,
  { of, key }: Extract<Guard, { g: 'version' }>,
): { readonly version: number } | undefined {
  const { loaded } = view
  const joined = joinKey(tenant, key)
  switch (of) {
    case 'deadLetter':
      return loaded.deadLetters.get(joined)
    case 'escalation':
      return findEscalation(view, joined)
    case 'instance': {
      const row = loaded.instances.get(joined)
      return row && { version: row.revision }
    }
    case 'correlation':
      return loaded.correlations.get(joined)
    case 'orphan':
      return loaded.orphans.get(joined)
    default:
      return loaded.records.get(joinKey(tenant, of, key))
  }
}

function foundWork(row: WorkHead | undefined): Found | null {
  return row === undefined ? null : { f: 'work', state: row.state, owner: row.owner, epoch: row.epoch }
}
