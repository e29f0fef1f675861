// Checks one guard against the database: null while it holds, otherwise what refused it.

import { unreachable } from '../../../core/foundation/errors/index.ts'
import type { EventId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Found, Guard } from '../../../ports/store.ts'
import { readLedgerEntry } from '../ledger.ts'
import type { Session } from '../session.ts'
import { LEDGER_CODE, WORK_CODE, WORK_STATE_OF } from '../state-codes.ts'
import { toStored } from '../text-values.ts'
import { findCorrelation, findRevision } from './instance-writes.ts'
import { findDedup, findLedger, seeLedger } from './keys.ts'

export interface Refusal {
  readonly found: Found | null
}

export function checkGuard(session: Session, now: Instant, tenant: TenantId, guard: Guard): Refusal | null {
  // 0 is never assigned: a tenant that never wrote has no rows, and a guard alone does not register it.
  const no = session.tenants.get(tenant) ?? 0
  switch (guard.g) {
    case 'lease': {
      const known = session.leases.get(guard.work)
      const isFenced = !session.alive.has(guard.owner)
      if (known && !isFenced && known.tenant === no) {
        if (known.owner === guard.owner && known.epoch === guard.epoch) return null
      }
      const row = session.sql.work.get(no, guard.work)
      if (row === undefined) return { found: null }
      const isHeld = row.state === WORK_CODE.leased && row.owner === guard.owner && row.epoch === guard.epoch
      return isHeld && !isFenced ? null : foundWork(row)
    }
    case 'work': {
      const row = session.sql.work.get(no, guard.work)
      if (row === undefined) return { found: null }
      return row.state === WORK_CODE[guard.state] && row.epoch === guard.epoch ? null : foundWork(row)
    }
    case 'dedup': {
      const noted = findDedup(session, no, guard.source, guard.key)
      return noted === null || noted.until <= now ? null : { found: { f: 'event', id: noted.id as EventId } }
    }
    case 'unreserved': {
      const row = findLedger(session, no, guard.key)
      return row === null ? null : { found: { f: 'ledger', entry: readLedgerEntry(session, row, tenant) } }
    }
    case 'ledger': {
      const row = findLedger(session, no, guard.key)
      if (row === null) return { found: null }
      const holds =
        row.state === LEDGER_CODE[guard.state] && row.work === guard.work && row.epoch === guard.epoch
      if (!holds) return { found: { f: 'ledger', entry: readLedgerEntry(session, row, tenant) } }
      seeLedger(session, no, guard.key, row)
      return null
    }
    case 'version': {
      const row = versioned(session, no, guard)
      if ((row?.version ?? 0) === guard.version) return null
      return { found: row === undefined ? null : { f: 'version', version: row.version } }
    }
    default:
      return unreachable(guard)
  }
}

function versioned(
  session: Session,
  tenant: number,
  { of, key }: Extract<Guard, { g: 'version' }>,
): { readonly version: number } | undefined {
  const { sql } = session
  if (of === 'deadLetter') return sql.deadLetterVersion.get(tenant, key)
  if (of === 'escalation') return sql.escalationVersion.get(tenant, key)
  if (of === 'instance') return findRevision(session, tenant, key)
  if (of === 'correlation') return findCorrelation(session, tenant, key)
  if (of === 'orphan') return sql.orphanVersion.get(tenant, key)
  return sql.recordVersion.get(tenant, of, toStored(key))
}

function foundWork(row: { state: number; owner: number | null; epoch: number }): Refusal {
  const state = WORK_STATE_OF[row.state] as (typeof WORK_STATE_OF)[number]
  return { found: { f: 'work', state, owner: row.owner, epoch: row.epoch } as Found }
}
