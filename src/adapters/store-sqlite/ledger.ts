// Reads ledger entries on the writing side. Only this side has the newest keys in memory, so it answers the read too.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { findLedger } from './commit/keys.ts'
import { type Row, toLedgerEntry } from './rows.ts'
import type { Session } from './session.ts'

export function readLedgerEntry(session: Session, row: Row, tenant: TenantId): LedgerEntry {
  return toLedgerEntry(row, tenant, session.sql.evidence.all(row.seq))
}

export function readLedger(session: Session, tenant: TenantId, key: string): LedgerEntry | null {
  const row = findLedger(session, session.tenants.get(tenant) ?? 0, key)
  return row === null ? null : readLedgerEntry(session, row, tenant)
}

/** All generations, oldest first: each row names the previous one. */
export function readLedgerHistory(session: Session, tenant: TenantId, key: string): readonly LedgerEntry[] {
  const rows = generationsOf(session, findLedger(session, session.tenants.get(tenant) ?? 0, key))
  return rows.map((row) => readLedgerEntry(session, row, tenant)).reverse()
}

/** From the latest back to the first. */
export function generationsOf(session: Session, latest: Row | null): readonly Row[] {
  const rows: Row[] = []
  for (let row = latest; row !== null; ) {
    rows.push(row)
    row = row.previous === null ? null : (session.sql.ledger.get(row.previous) ?? null)
  }
  return rows
}
