// The lock on an external reference: a ledger entry of its own, reserved with the item's key and released when that is settled.
// While an outcome is in doubt the lock stays: nobody may look for an object that may be on its way.
//
// Invariant: UP5 a lock is held by whoever has a reserve or a doubt under its reference, and by nobody else.

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

/** Beside the reserve of the item's key. */
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

/** States that no item comes back from by itself. */
const OVER: readonly WorkState[] = ['done', 'skipped', 'dead', 'cancelled']

/** Its holder is over, and somebody else settled what was in doubt of it: another item with its key, or a late answer. */
async function isLeft(reads: TenantReads, holder: WorkId): Promise<boolean> {
  const work = await reads.work(holder)
  if (work !== null && !OVER.includes(work.state)) return false
  return (await reads.ledgerOfWork(holder)).every(({ key }) => isLockKey(key))
}

/** What gives the locks of an item back. */
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

/** The participant of upserts: the commit that settles the effect gives its lock back. */
export function releaseLocks(deps: { readonly store: Store; readonly commits: Commits }): Participant {
  return async (decision, { held: { work } }) => {
    const reads = deps.store.forTenant(work.tenant)
    if (!settlesEffect(decision)) {
      // What a cancelled job leaves in doubt keeps its lock; without any there is nothing to keep it for.
      const isEnd = decision.to === 'cancelled'
      const open = isEnd ? await deps.commits.stubbornly(() => reads.ledgerOfWork(work.id)) : []
      if (!isEnd || open.some(({ key }) => !isLockKey(key))) return null
    }
    return deps.commits.stubbornly(() => freeLocks(reads, work.id))
  }
}

/** Nothing of the item is in doubt behind it. */
function settlesEffect({ to, note, writes }: Decision): boolean {
  if (to === 'done' || to === 'dead' || to === 'skipped') return true
  return writes.some(
    (write) => write.w === 'ledger.settle' && write.key === note.key && write.to !== 'unknown',
  )
}
