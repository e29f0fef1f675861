// Finding and noting outside keys: hash → row number, with the full key compared on the row.
//
// A hash that is taken by another key sends the search on to the key's next hash. A row that retention has removed
// counts as not there, and its place is taken over.

import type { TenantId } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import { type Row, toLedgerEntry } from './rows.ts'
import type { Session } from './session.ts'
import { dedupText, hashKey, isSameText, ledgerText, type Stored } from './text.ts'

interface EventKeyRow {
  readonly tenant: number
  readonly id: string
  readonly source: Stored
  readonly dedup_key: Stored
  readonly dedup_until: number
}

/** The event that noted the key last, in or out of its window. */
export function findDedup(
  session: Session,
  tenant: number,
  source: string,
  key: string,
): { readonly id: string; readonly until: number } | null {
  const text = dedupText(tenant, source, key)
  for (let turn = 0; ; turn += 1) {
    const noted = session.sql.dedup.get(hashKey(session.hash, text, turn))
    if (noted === undefined) return null
    const row: EventKeyRow | undefined = session.sql.eventKey.get(noted.event)
    if (row !== undefined && isNotedBy(row, tenant, source, key))
      return { id: row.id, until: row.dedup_until }
  }
}

/** True if nobody had noted the key: then it is noted now. */
export function tryNoteDedup(
  session: Session,
  tenant: number,
  source: string,
  key: string,
  event: number,
): boolean {
  const hash = hashKey(session.hash, dedupText(tenant, source, key), 0)
  return session.sql.addDedup.run(hash, event).changes === 1
}

export function noteDedup(
  session: Session,
  tenant: number,
  source: string,
  key: string,
  event: number,
): void {
  const text = dedupText(tenant, source, key)
  for (let turn = 0; ; turn += 1) {
    const hash = hashKey(session.hash, text, turn)
    if (session.sql.addDedup.run(hash, event).changes === 1) return
    const row: EventKeyRow | undefined = session.sql.eventKey.get(session.sql.dedup.get(hash).event)
    if (row === undefined || isNotedBy(row, tenant, source, key)) {
      session.sql.moveDedup.run(event, hash)
      return
    }
  }
}

function isNotedBy(row: EventKeyRow, tenant: number, source: string, key: string): boolean {
  return row.tenant === tenant && isSameText(row.source, source) && isSameText(row.dedup_key, key)
}

/** The ledger's row for a key, with its columns. */
export function findLedger(session: Session, tenant: number, key: string): Row | null {
  const text = ledgerText(tenant, key)
  for (let turn = 0; ; turn += 1) {
    const noted = session.sql.ledgerKey.get(hashKey(session.hash, text, turn))
    if (noted === undefined) return null
    const row: Row | undefined = session.sql.ledger.get(noted.entry)
    if (row !== undefined && row.tenant === tenant && isSameText(row.key as Stored, key)) return row
  }
}

/** True if nobody had noted the key: then it is noted now. */
export function tryNoteLedger(session: Session, tenant: number, key: string, entry: number): boolean {
  return session.sql.addLedgerKey.run(hashKey(session.hash, ledgerText(tenant, key), 0), entry).changes === 1
}

/** For a key that has no entry, although its first hash is taken. */
export function noteLedger(session: Session, tenant: number, key: string, entry: number): void {
  const text = ledgerText(tenant, key)
  for (let turn = 0; ; turn += 1) {
    const hash = hashKey(session.hash, text, turn)
    if (session.sql.addLedgerKey.run(hash, entry).changes === 1) return
    const noted = session.sql.ledgerKey.get(hash)
    if (session.sql.ledger.get(noted.entry) === undefined) {
      session.sql.moveLedgerKey.run(entry, hash)
      return
    }
  }
}

export function readLedgerEntry(session: Session, row: Row, tenant: TenantId): LedgerEntry {
  return toLedgerEntry(row, tenant, session.sql.evidence.all(row.seq))
}
