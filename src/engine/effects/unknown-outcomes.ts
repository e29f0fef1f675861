// A job that ended with several unknown outcomes names one of them on its row: the one an operator resolves next. When
// that one is settled, the row names the next, until none is left.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Guard, TenantReads, Write } from '../../ports/store.ts'
import { ledgerGuard } from './call-outcome.ts'

/** The job's unknown outcomes besides the one just settled, oldest first. */
export async function otherUnknownOutcomes(
  reads: TenantReads,
  { id }: WorkRow,
  settled: string,
): Promise<readonly LedgerEntry[]> {
  const open = await reads.ledgerOfWork(id)
  return open.filter(({ key, state }) => state === 'unknown' && key !== settled)
}

/** The writes that make the row of a cancelled job name its next unknown outcome, in the commit that settles the previous one. */
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
