// The lock on an external reference: its own ledger entry, reserved with the job's key and released when that is
// settled. While an outcome is unknown the lock stays: no job may look for an object that may be in flight.
//
// Invariant: UP5 a lock is held exactly by the job with a reserve or an unknown outcome under its reference.

import { isLockKey, lockKey } from '../../../core/effects/action/index.ts'
import { decideEffect } from '../../../core/effects/ledger/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import type { WorkState } from '../../../core/queue/work/index.ts'
import type { Guard, Store, TenantReads, Write } from '../../../ports/store.ts'
import type { Commits } from '../../commit/index.ts'
import type { EngineConfig } from '../../config.ts'
import type { Item } from '../../leases/index.ts'
import type { Decision, Participant } from '../../settlement/index.ts'
import type { Beside } from '../call.ts'
import { ledgerGuard, newEntry, settleLedger, unreservedGuard } from '../call-outcome.ts'

const WAITS = { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 }

/** Together with the reserve of the job's key. */
export async function takeLock(
  reads: TenantReads,
  item: Item,
  host: string | null,
  extRef: string,
  config: Pick<EngineConfig, 'sendWithinMs'>,
): Promise<Beside> {
  const key = lockKey(host, extRef)
  const { work } = item
  const { generation: _forced, ...entry } = newEntry(item, key)
  const write: Write = { w: 'ledger.reserve', entry, sendWithinMs: config.sendWithinMs }
  const held = await reads.ledger(key)
  if (held === null) return { ok: true, guards: [unreservedGuard(key)], writes: [write] }
  if (held.state === 'released' || held.work === work.id || (await isLeft(reads, held.work))) {
    return { ok: true, guards: [ledgerGuard(held)], writes: [write] }
  }
  const { id, epoch, consumer, waits } = work
  const reserved = { ...held, state: 'reserved' as const, evidence: [] }
  const step = decideEffect({ entry: reserved, work: id, epoch, consumer, waits, abilities: WAITS, now: 0 })
  const delayMs = step.step === 'wait' ? step.delayMs : 1_000
  return { ok: false, delayMs, why: 'another item works on the same reference' }
}

/** States that a job does not leave by itself. */
const OVER: readonly WorkState[] = ['done', 'skipped', 'dead', 'cancelled']

/** Its holder has ended, and its unknown outcome was settled by another job with its key, or by a late acknowledgement. */
async function isLeft(reads: TenantReads, holder: WorkId): Promise<boolean> {
  const work = await reads.work(holder)
  if (work !== null && !OVER.includes(work.state)) return false
  return (await reads.ledgerOfWork(holder)).every(({ key }) => isLockKey(key))
}

/** The writes that release the locks of a job. */
export async function freeLocks(
  reads: TenantReads,
  work: WorkId,
): Promise<{ readonly guards: readonly Guard[]; readonly writes: readonly Write[] }> {
  const open = await reads.ledgerOfWork(work)
  const locks = open.filter(({ key }) => isLockKey(key))
  return {
    guards: locks.map(ledgerGuard),
    writes: locks.map(({ key }) => settleLedger(key, 'released', 'never-sent', null, null)),
  }
}

/** The participant of upserts: the commit that settles the effect releases its lock. */
export function releaseLocks(deps: { readonly store: Store; readonly commits: Commits }): Participant {
  return async (decision, { held: { work } }) => {
    const reads = deps.store.forTenant(work.tenant)
    if (!settlesEffect(decision)) {
      // An unknown outcome of a cancelled job keeps its lock; without one the lock is released.
      const isEnd = decision.to === 'cancelled'
      const open = isEnd ? await deps.commits.retryUntilAvailable(() => reads.ledgerOfWork(work.id)) : []
      if (!isEnd || open.some(({ key }) => !isLockKey(key))) return null
    }
    return deps.commits.retryUntilAvailable(() => freeLocks(reads, work.id))
  }
}

/** No outcome of the job is unknown after it. */
function settlesEffect({ to, note, writes }: Decision): boolean {
  if (to === 'done' || to === 'dead' || to === 'skipped') return true
  return writes.some(
    (write) => write.w === 'ledger.settle' && write.key === note.key && write.to !== 'unknown',
  )
}
