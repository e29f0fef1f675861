// Claiming: due jobs go to an incarnation, slot by slot. Looking needs no transaction, because no other process writes, so a claim that finds
// nothing costs no flush.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { assert } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { isIsolated } from '../../core/queue/work/index.ts'
import type { ClaimedWork, ClaimRequest, ClaimResult } from '../../ports/store.ts'
import { EVENT_COLUMNS, WORK_COLUMNS } from './columns.ts'
import { type Row, toEvent, toWork } from './rows.ts'
import { isAlive, knowLease, type Session } from './session.ts'
import { isSameText, type Stored, toStored } from './text-values.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  readyWork: db.prepare(
    `SELECT seq, ${WORK_COLUMNS} FROM work WHERE state = 2 AND tenant = ? AND consumer = ? ORDER BY due_at, id`,
  ),
  // Few jobs are leased at once: reading each of them costs less than another index over all.
  leasedCount: db.prepare(
    'SELECT count(*) AS n FROM work INDEXED BY work_leased WHERE state = 1 AND tenant = ? AND consumer = ?',
  ),
  leaseWork: db.prepare('UPDATE work SET state = 1, owner = ?, epoch = epoch + 1 WHERE seq = ?'),
  event: db.prepare(`SELECT ${EVENT_COLUMNS} FROM event WHERE id = ?2 AND tenant = ?1`),
})

interface Claiming {
  readonly session: Session
  readonly sql: ReturnType<typeof prepare>
}

interface Candidate {
  readonly row: Row
  readonly tenant: TenantId
  readonly no: number
}

export type Claim = (
  now: Instant,
  request: ClaimRequest,
  transact: (work: () => ClaimedWork[]) => ClaimedWork[],
) => ClaimResult

export function makeClaim(session: Session): Claim {
  const claiming: Claiming = { session, sql: prepare(session.db) }
  return (now, request, transact) => {
    if (!isAlive(session, request.owner, now)) return { items: [], nextDueAt: null, now }
    const { found, nextDueAt } = findCandidates(claiming, now, request)
    if (found.length === 0) return { items: [], nextDueAt, now }
    const items = transact(() => {
      session.isDirty = true
      return found.map((candidate) => lease(claiming, request, candidate))
    })
    return { items, nextDueAt, now }
  }
}

function findCandidates(
  { session, sql }: Claiming,
  now: Instant,
  request: ClaimRequest,
): { found: readonly Candidate[]; nextDueAt: Instant | null } {
  const hashes = new Set(request.codeHashes)
  const found: Candidate[] = []
  const taken = new Set<unknown>()
  let isolatedCount = 0
  let nextDueAt: Instant | null = null
  for (const slot of request.slots) {
    const no = session.tenants.get(slot.tenant)
    if (no === undefined) continue
    const slotMax = slot.limit === undefined ? slot.max : roomOf(sql, slot.limit, slot, no, found)
    let slotCount = 0
    for (const row of sql.readyWork.iterate(no, toStored(slot.consumer))) {
      if (taken.has(row.seq) || (row.code_hash !== null && !hashes.has(row.code_hash))) continue
      const isLone = isIsolated({ alone: row.alone === 1, losses: row.losses as number })
      const hasRoom =
        slotCount < slotMax && found.length < request.max && (!isLone || isolatedCount < request.maxIsolated)
      if (row.due_at <= now && hasRoom) {
        found.push({ row, tenant: slot.tenant, no })
        taken.add(row.seq)
        slotCount += 1
        if (isLone) isolatedCount += 1
        continue
      }
      // Rows come by due time: the first one left is the earliest of its slot. Only an isolated job is skipped in
      // favour of those behind it.
      nextDueAt = Math.min(nextDueAt ?? row.due_at, row.due_at)
      const isFull = slotCount >= slotMax || found.length >= request.max
      if (row.due_at > now || isFull) break
    }
  }
  return { found, nextDueAt }
}

/** How many more jobs of the consumer may be leased, by its limit and by the request. */
function roomOf(
  sql: Claiming['sql'],
  limit: number,
  slot: ClaimRequest['slots'][number],
  no: number,
  found: readonly Candidate[],
): number {
  const consumer = toStored(slot.consumer)
  const leased: number = sql.leasedCount.get(no, consumer).n
  const taken = found.filter((one) => one.no === no && isSameText(one.row.consumer as Stored, slot.consumer))
  return Math.min(slot.max, limit - leased - taken.length)
}

function lease(
  { session, sql }: Claiming,
  request: ClaimRequest,
  { row, tenant, no }: Candidate,
): ClaimedWork {
  sql.leaseWork.run(request.owner, row.seq)
  const work = { ...toWork(row, tenant), state: 'leased', owner: request.owner } as const
  const epoch = work.epoch + 1
  const event = sql.event.get(no, work.eventId)
  assert(event, `event ${work.eventId} of work ${work.id} is absent`)
  knowLease(session, work.id, {
    seq: row.seq as number,
    tenant: no,
    owner: request.owner,
    epoch,
    isLaned: work.lane !== null,
  })
  return { work: { ...work, epoch }, event: toEvent(event, tenant) }
}
