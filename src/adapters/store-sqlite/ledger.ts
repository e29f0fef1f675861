// A ledger entry as the writing side finds it. Only this side knows the newest keys by heart, so it answers the read too.

import type { TenantId } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import { findLedger } from './keys.ts'
import { type Row, toLedgerEntry } from './rows.ts'
import type { Session } from './session.ts'

export function readLedgerEntry(session: Session, row: Row, tenant: TenantId): LedgerEntry {
  return toLedgerEntry(row, tenant, session.sql.evidence.all(row.seq))
}

export function readLedger(session: Session, tenant: TenantId, key: string): LedgerEntry | null {
  const row = findLedger(session, session.tenants.get(tenant) ?? 0, key)
  return row === null ? null : readLedgerEntry(session, row, tenant)
}
