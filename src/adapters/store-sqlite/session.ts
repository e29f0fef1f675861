// The writing side's cache. One session per database: it is the only writer, so what it remembers is true until a
// rollback, after which everything is read again.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { LEDGER_BLOCK } from './columns.ts'
import { prepareCommitSql } from './commit/commit-sql.ts'
import type { KeyIndex } from './key-index.ts'
import { makeKeyIndex } from './key-index.ts'
import { preparePruneSql } from './prune/prune-sql.ts'

export interface KnownLease {
  readonly seq: number
  readonly tenant: number
  readonly owner: Incarnation
  readonly epoch: number
  readonly isLaned: boolean
}

/** Beyond this many the oldest entries are dropped; they only save a look-up. */
const LEASES_KNOWN_MAX = 65_536

/** A key that may be recorded, as a guard found it, so that the write after it need not look again. */
export interface Slot {
  readonly text: string
  readonly hash: string
}

export interface Session {
  readonly db: DatabaseSyncInstance
  readonly sql: ReturnType<typeof prepareCommitSql> & ReturnType<typeof preparePruneSql>
  keys: KeyIndex
  readonly foldAt: number
  readonly tenants: Map<TenantId, number>
  /** Texts that many rows share, by their numbers. */
  readonly terms: Map<string, number>
  /** Incarnations that are not fenced, with the end of their lease. */
  readonly alive: Map<Incarnation, Instant>
  readonly leases: Map<string, KnownLease>
  lastEvent: number
  lastLedger: number
  /** The last block of the ledger that has a row of the tenant. */
  readonly ledgerBlocks: Map<number, number>
  lastGroup: number
  /** The instant of the last group; the clock never goes behind it. */
  lastAt: Instant
  /** What the current commit's guards have seen of the keys that its writes will record. */
  dedupSlot: Slot | null
  ledgerSlot: Slot | null
  /** The ledger entry that the current commit's guard has seen: settling it needs no second look. */
  seenLedger: { readonly text: string; readonly seq: number } | null
  /** What the current commit's guard has seen of its instance. */
  seenInstance: { readonly id: string; readonly seq: number } | null
  /** The event that the current commit appended last, and how many jobs it has. */
  addedEvent: { readonly id: string; readonly seq: number; jobs: number } | null
  /** The job that the current commit settled or released last: its attempt is recorded right after. */
  changedWork: { readonly id: string; readonly seq: number } | null
  /** The transaction has changed something. */
  isDirty: boolean
  /** A rollback failed half-way: nothing above can be trusted. */
  isStale: boolean
}

export function makeSession(db: DatabaseSyncInstance, foldAt: number): Session {
  const session: Session = {
    db,
    sql: { ...prepareCommitSql(db), ...preparePruneSql(db) },
    keys: makeKeyIndex(db, foldAt),
    foldAt,
    tenants: new Map(),
    terms: new Map(),
    alive: new Map(),
    leases: new Map(),
    lastEvent: 0,
    lastLedger: 0,
    ledgerBlocks: new Map(),
    lastGroup: 0,
    lastAt: 0,
    dedupSlot: null,
    ledgerSlot: null,
    seenLedger: null,
    seenInstance: null,
    addedEvent: null,
    changedWork: null,
    isDirty: false,
    isStale: false,
  }
  recall(session)
  return session
}

/** Reads the index of the keys again, after a transaction with an unknown outcome. */
export function recallKeys(session: Session): void {
  session.keys = makeKeyIndex(session.db, session.foldAt)
}

/** Reads again everything that the session caches, except the keys, which can roll back by themselves. */
export function recall(session: Session): void {
  const { sql } = session
  session.leases.clear()
  session.ledgerBlocks.clear()
  session.tenants.clear()
  for (const row of sql.tenants.all()) session.tenants.set(row.name, row.no)
  session.terms.clear()
  for (const row of sql.terms.all()) session.terms.set(row.text, row.no)
  recallAlive(session)
  session.lastEvent = sql.lastEvent.get().seq ?? 0
  session.lastLedger = sql.lastLedger.get().seq ?? 0
  const group = sql.lastGroup.get()
  session.lastGroup = group.number
  session.lastAt = Math.max(session.lastAt, group.at)
}

export function recallAlive({ alive, sql }: Session): void {
  alive.clear()
  for (const row of sql.incarnations.all()) alive.set(row.owner, row.until)
}

export function isAlive(session: Session, owner: Incarnation, now: Instant): boolean {
  const until = session.alive.get(owner)
  return until !== undefined && now < until
}

/** The tenant's number; a tenant that writes for the first time gets one. */
export function tenantNumber(session: Session, tenant: TenantId): number {
  const known = session.tenants.get(tenant)
  if (known !== undefined) return known
  const no = Number(session.sql.addTenant.run(tenant).lastInsertRowid)
  session.isDirty = true
  session.tenants.set(tenant, no)
  return no
}

/** The number of a text that many rows share; a new one gets the next. */
export function termNumber(session: Session, text: string): number {
  const known = session.terms.get(text)
  if (known !== undefined) return known
  const no = Number(session.sql.addTerm.run(text).lastInsertRowid)
  session.terms.set(text, no)
  return no
}

/** The number of a new ledger entry. */
export function nextLedger(session: Session, tenant: number): number {
  session.lastLedger += 1
  const block = Math.floor(session.lastLedger / LEDGER_BLOCK)
  if (session.ledgerBlocks.get(tenant) !== block) {
    session.sql.addLedgerBlock.get(tenant, block)
    session.ledgerBlocks.set(tenant, block)
  }
  return session.lastLedger
}

export function knowLease(session: Session, work: string, lease: KnownLease): void {
  if (session.leases.size >= LEASES_KNOWN_MAX) session.leases.clear()
  session.leases.set(work, lease)
}
