// What this node saw done, by key: an item whose effect is there can be ended without asking for a reserve first.
//
// It is a guess and no proof: whoever ends an item by it guards the entry in the same commit, and looks afresh where it differs
// (a later generation, or an entry whose time was up). Bounded; the eldest goes first.

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
      // What it gave is not asked for here, and may be long.
      entries.set(name, { ...entry, result: null, evidence: [] })
    },
  }
}
