// Finds and records outside keys: hash → row number, with the full key compared on the row.
//
// If a hash belongs to another key, the search continues with the key's next hash. A row that retention has removed
// counts as absent, and its slot is reused.

import type { Row } from '../rows.ts'
import type { Session } from '../session.ts'
import { dedupText, hashKey, isSameText, ledgerText, type Stored } from '../text-values.ts'

interface EventKeyRow {
  readonly tenant: number
  readonly id: string
  readonly source: Stored
  readonly dedup_key: Stored
  readonly dedup_until: number
}

/** The event that recorded the key last, in or out of its window. */
export function findDedup(
  session: Session,
  tenant: number,
  source: string,
  key: string,
): { readonly id: string; readonly until: number } | null {
  const text = dedupText(tenant, source, key)
  let free: string | null = null
  for (let turn = 0; ; turn += 1) {
    const hash = hashKey(text, turn)
    const seq = session.keys.find(hash)
    if (seq === undefined) {
      session.dedupSlot = { text, hash: free ?? hash }
      return null
    }
    const row: EventKeyRow | undefined = session.sql.eventKey.get(seq)
    if (row === undefined) {
      free ??= hash
    } else if (row.tenant === tenant && isSameText(row.source, source) && isSameText(row.dedup_key, key)) {
      session.dedupSlot = { text, hash }
      return { id: row.id, until: row.dedup_until }
    }
  }
}

export function noteDedup(
  session: Session,
  tenant: number,
  source: string,
  key: string,
  event: number,
): void {
  if (session.dedupSlot?.text !== dedupText(tenant, source, key)) findDedup(session, tenant, source, key)
  if (session.dedupSlot) session.keys.note(session.dedupSlot.hash, event)
  session.dedupSlot = null
}

/** The hash under which the event is its key's last, or null if a later event has taken the key over. */
export function findOwnHash(
  session: Session,
  tenant: number,
  source: string,
  key: string,
  event: number,
): string | null {
  const text = dedupText(tenant, source, key)
  for (let turn = 0; ; turn += 1) {
    const hash = hashKey(text, turn)
    const seq = session.keys.find(hash)
    if (seq === event) return hash
    if (seq === undefined) return null
    const row: EventKeyRow | undefined = session.sql.eventKey.get(seq)
    if (row?.tenant === tenant && isSameText(row.source, source) && isSameText(row.dedup_key, key))
      return null
  }
}

/** The ledger's latest row for a key, with its columns. */
export function findLedger(session: Session, tenant: number, key: string): Row | null {
  const { row, hash } = locateLedger(session, tenant, key)
  if (row === null) session.ledgerSlot = { text: ledgerText(tenant, key), hash }
  return row
}

/** The row, and the hash it is stored under; or the hash under which it can be recorded. */
export function locateLedger(
  session: Session,
  tenant: number,
  key: string,
): { readonly row: Row | null; readonly hash: string } {
  const text = ledgerText(tenant, key)
  let free: string | null = null
  for (let turn = 0; ; turn += 1) {
    const hash = hashKey(text, turn)
    const seq = session.keys.find(hash)
    if (seq === undefined) return { row: null, hash: free ?? hash }
    const row: Row | undefined = session.sql.ledger.get(seq)
    if (row === undefined) free ??= hash
    else if (row.tenant === tenant && isSameText(row.key as Stored, key)) return { row, hash }
  }
}

/** A guard of this commit has read the entry. */
export function seeLedger(session: Session, tenant: number, key: string, row: Row): void {
  session.seenLedger = { text: ledgerText(tenant, key), seq: row.seq as number }
}

/** The number of the ledger's latest row for a key; null: there is none. */
export function findLedgerNumber(session: Session, tenant: number, key: string): number | null {
  const { seenLedger } = session
  if (seenLedger?.text === ledgerText(tenant, key)) return seenLedger.seq
  return (findLedger(session, tenant, key)?.seq ?? null) as number | null
}

/** Whether a guard of this commit has seen that the key has no entry. */
export function isKnownAbsent(session: Session, tenant: number, key: string): boolean {
  return session.ledgerSlot?.text === ledgerText(tenant, key)
}

/** For a key without an entry, as `findLedger` has just seen. */
export function noteLedger(session: Session, entry: number): void {
  if (session.ledgerSlot) session.keys.note(session.ledgerSlot.hash, entry)
  session.ledgerSlot = null
}
