// Retention of rows that outlive their event: ledger entries, lanes and escalations. Each is walked in the order of an
// existing index, so that retention costs nothing while they are written.

import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../../core/store/retention/index.ts'
import { keepMsOf, longestKeepMs, youngestEntry } from '../../../core/store/retention/index.ts'
import { locateLedger } from '../commit/keys.ts'
import { generationsOf } from '../ledger.ts'
import type { Row } from '../rows.ts'
import type { Session } from '../session.ts'
import { LEDGER_CODE } from '../state-codes.ts'
import { fromStored, type Stored, toStored } from '../text-values.ts'

export type Gone = { -readonly [Name in Exclude<keyof Pruned, 'next'>]: number }

export const none = (): Gone => ({
  events: 0,
  work: 0,
  attempts: 0,
  deadLetters: 0,
  dedup: 0,
  failures: 0,
  ledger: 0,
  lanes: 0,
  escalations: 0,
  instances: 0,
  history: 0,
  orphans: 0,
  runs: 0,
  facts: 0,
})

/** What a scan found. */
export interface Piece {
  readonly seen: number
  readonly isAny: boolean
  /** Called in a transaction. */
  readonly remove: (gone: Gone) => void
  /** Where to continue; null: there is no more. */
  readonly next: string | null
}

const NOTHING: Piece = { seen: 0, isAny: false, remove: () => {}, next: null }

function isOpen({ state }: Row): boolean {
  return state === LEDGER_CODE.reserved || state === LEDGER_CODE.unknown
}

export function walkEntries(
  session: Session,
  now: Instant,
  tenant: number,
  { ledger }: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  if (ledger === undefined) return NOTHING
  const youngest = youngestEntry(ledger, now)
  const rows: Row[] = []
  // In the order of their age: behind the first one that is too young there is nothing to remove.
  for (const row of session.sql.entriesAfter.iterate(tenant, Number(after), scanMax + 1)) {
    if (row.created_at > youngest) break
    rows.push(row)
  }
  const isMore = rows.length > scanMax
  if (isMore) rows.pop()
  /** The rows to remove, the latest generation first, with the hash that names them. */
  const old: { readonly hash: string; readonly seqs: readonly unknown[] }[] = []
  for (const row of rows) {
    if (isOpen(row)) continue
    const since = (row.settled_at ?? row.created_at) as number
    if (since + keepMsOf(ledger, fromStored(row.consumer as Stored)) > now) continue
    if (session.sql.eventSeq.get(tenant, row.event_id) !== undefined) continue
    const { row: latest, hash } = locateLedger(session, tenant, fromStored(row.key as Stored))
    // A key is removed as a whole, by its latest generation: if only that one were removed, an earlier one would stand
    // for the key.
    if (latest?.seq !== row.seq) continue
    const generations = generationsOf(session, latest)
    if (!generations.some(isOpen)) old.push({ hash, seqs: generations.map((one) => one.seq) })
  }
  const last = rows.at(-1)
  return {
    seen: rows.length,
    isAny: old.length > 0,
    remove(gone) {
      for (const { hash, seqs } of old) {
        session.keys.forget(hash)
        for (const entry of seqs) {
          session.sql.pruneEvidence.run(entry)
          gone.ledger += Number(session.sql.pruneEntry.run(entry).changes)
          session.sql.pruneBlock.run(tenant, entry)
        }
      }
      // A block that went may be the one that new entries belong to.
      session.ledgerBlocks.delete(tenant)
    },
    next: !isMore ? null : last === undefined ? after : String(last.seq),
  }
}

export function walkLanes(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const [consumer, key] = after === '' ? ['', ''] : (JSON.parse(after) as [string, string])
  const rows: Row[] = session.sql.someLanes.all(tenant, toStored(consumer), toStored(key), scanMax + 1)
  const isMore = rows.length > scanMax
  if (isMore) rows.pop()
  const until = now - longestKeepMs(request)
  const idle = rows.filter(
    (row) => row.places === 0 && row.waiting === 0 && (row.updated_at as number) <= until,
  )
  const last = rows.at(-1)
  const texts = last && [fromStored(last.consumer as Stored), fromStored(last.key as Stored)]
  return {
    seen: rows.length,
    isAny: idle.length > 0,
    remove(gone) {
      for (const row of idle) {
        gone.lanes += Number(session.sql.pruneLane.run(tenant, row.consumer, row.key).changes)
      }
    },
    next: !isMore ? null : texts === undefined ? after : JSON.stringify(texts),
  }
}

export function walkEscalations(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const rows: Row[] = session.sql.someEscalations.all(tenant, after, scanMax + 1)
  const isOver = ({ state }: Row) => state === 'acknowledged'
  return walkClosed(rows, { after, scanMax, until: now - longestKeepMs(request), isOver }, (gone, row) => {
    gone.escalations += Number(session.sql.pruneEscalation.run(row.seq).changes)
  })
}

/**
 * A piece of rows that are removed when they are over and not touched since `until`. `rows`: one more than are scanned.
 */
export function walkClosed(
  rows: Row[],
  about: {
    readonly after: string
    readonly scanMax: number
    readonly until: Instant
    isOver(row: Row): boolean
  },
  remove: (gone: Gone, row: Row) => void,
): Piece {
  const isMore = rows.length > about.scanMax
  if (isMore) rows.pop()
  const over = rows.filter((row) => about.isOver(row) && (row.updated_at as number) <= about.until)
  return {
    seen: rows.length,
    isAny: over.length > 0,
    remove(gone) {
      for (const row of over) remove(gone, row)
    },
    next: isMore ? ((rows.at(-1)?.id as string | undefined) ?? about.after) : null,
  }
}
