// An item that ended while several of its effects were in doubt names one of them on its row: the one that a person is
// asked about. When that one is settled, the row names the next, until none is left.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Guard, TenantReads, Write } from '../../ports/store.ts'
import { ledgerGuard } from './call-outcome.ts'

/** The doubts of an item besides the one that was just settled, oldest first. */
export async function otherDoubts(
  reads: TenantReads,
  { id }: WorkRow,
  settled: string,
): Promise<readonly LedgerEntry[]> {
  const open = await reads.ledgerOfWork(id)
  return open.filter(({ key, state }) => state === 'unknown' && key !== settled)
}

/** What makes the row of a cancelled item name the next of its doubts, with the commit that settles the one before. */
export function nameNext(
  work: WorkRow,
  next: LedgerEntry | undefined,
): { readonly guards: readonly Guard[]; readonly writes: readonly Write[] } {
  if (next === undefined) return { guards: [], writes: [] }
  const { attempts, waits, losses, class: failure, lastError, effectRef, httpStatus, durationMs } = work
  return {
    guards: [{ g: 'work', work: work.id, state: work.state, epoch: work.epoch }, ledgerGuard(next)],
    writes: [
      {
        w: 'work.settle',
        work: work.id,
        to: 'cancelled',
        counters: { attempts, waits, losses },
        note: { key: next.key, class: failure, lastError, effectRef, httpStatus, durationMs },
      },
    ],
  }
}
