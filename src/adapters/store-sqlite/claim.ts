// Claiming: due work goes to an owner, slot by slot. Looking needs no transaction (nobody else writes), so a claim
// that finds nothing costs no flush.

import { assert } from '../../core/errors/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { isIsolated } from '../../core/work/index.ts'
import type { ClaimedWork, ClaimRequest, ClaimResult } from '../../ports/store.ts'
import { type Row, toEvent, toWork } from './rows.ts'
import { isAlive, knowLease, type Session } from './session.ts'
import { isSameText, type Stored, toStored } from './text.ts'

interface Candidate {
  readonly row: Row
  readonly tenant: TenantId
  readonly no: number
}

export function claimWork(
  session: Session,
  now: Instant,
  request: ClaimRequest,
  transact: (work: () => ClaimedWork[]) => ClaimedWork[],
): ClaimResult {
  if (!isAlive(session, request.owner, now)) return { items: [], nextDueAt: null, now }
  const { found, nextDueAt } = findCandidates(session, now, request)
  if (found.length === 0) return { items: [], nextDueAt, now }
  const items = transact(() => {
    session.isDirty = true
    return found.map((candidate) => lease(session, request, candidate))
  })
  return { items, nextDueAt, now }
}

function findCandidates(
  session: Session,
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
    const slotMax = slot.limit === undefined ? slot.max : roomOf(session, slot.limit, slot, no, found)
    let slotCount = 0
    for (const row of session.sql.readyWork.iterate(no, toStored(slot.consumer))) {
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
      // Rows come by due time: the first that is left is the earliest of its slot. Only an
      // isolated job is passed over for those behind it.
      nextDueAt = Math.min(nextDueAt ?? row.due_at, row.due_at)
      const isFull = slotCount >= slotMax || found.length >= request.max
      if (row.due_at > now || isFull) break
    }
  }
  return { found, nextDueAt }
}

/** How many more of the consumer may be leased, by its limit and by what it asks for. */
function roomOf(
  session: Session,
  limit: number,
  slot: ClaimRequest['slots'][number],
  no: number,
  found: readonly Candidate[],
): number {
  const consumer = toStored(slot.consumer)
  const leased: number = session.sql.leasedCount.get(no, consumer).n
  const taken = found.filter((one) => one.no === no && isSameText(one.row.consumer as Stored, slot.consumer))
  return Math.min(slot.max, limit - leased - taken.length)
}

function lease(session: Session, request: ClaimRequest, { row, tenant, no }: Candidate): ClaimedWork {
  session.sql.leaseWork.run(request.owner, row.seq)
  const work = { ...toWork(row, tenant), state: 'leased', owner: request.owner } as const
  const epoch = work.epoch + 1
  const event = session.sql.event.get(no, work.eventId)
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
