// Effects that this node saw done, by key: a job whose effect exists can be ended without a reserve.
//
// A hint, not a proof: the commit that ends a job by it guards the entry, and the ledger is read again if it differs (a
// later generation, or an entry deleted by retention). Bounded; the oldest is dropped first.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'

export interface Known {
  find(tenant: TenantId, key: string): LedgerEntry | null
  note(entry: LedgerEntry): void
}

const ENTRIES_MAX = 4_096

export function makeKnown(max = ENTRIES_MAX): Known {
  const entries = new Map<string, LedgerEntry>()
  const nameOf = (tenant: TenantId, key: string) => `${tenant} ${key}`
  return {
    find: (tenant, key) => entries.get(nameOf(tenant, key)) ?? null,
    note(entry) {
      if (entry.state !== 'done') return
      const name = nameOf(entry.tenant, entry.key)
      if (entries.get(name)?.work === entry.work) return
      entries.delete(name)
      if (entries.size >= max) entries.delete(entries.keys().next().value as string)
      // The result is not needed here, and may be long.
      entries.set(name, { ...entry, result: null, evidence: [] })
    },
  }
}
