// The whole story of a work item: its tries, what the ledger says of its effect, and the dead letter it became.

import type { DeadLetter } from '../core/dead-letter/index.ts'
import type { WorkRow } from '../core/work/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { showAttempt, showDeadLetter, showLedgerEntry, showWork } from './shapes.ts'

/** Dead letters are found by their consumer; further back than this nobody looks. */
const PAGES_MAX = 5
const PAGE_LIMIT = 100

export async function readStory(reads: TenantReads, work: WorkRow) {
  const [attempts, entry, letter] = await Promise.all([
    reads.attempts(work.id),
    work.key === null ? null : reads.ledger(work.key),
    findDeadLetter(reads, work),
  ])
  return {
    ...showWork(work),
    history: attempts.map(showAttempt),
    ledger: entry === null ? null : showLedgerEntry(entry),
    deadLetter: letter === null ? null : showDeadLetter(letter),
  }
}

async function findDeadLetter(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  if (work.replayOf !== null) return reads.deadLetter(work.replayOf)
  if (work.state !== 'dead') return null
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { items, nextCursor } = await reads.deadLetters({
      consumer: work.consumer,
      cursor,
      limit: PAGE_LIMIT,
    })
    // After replays the letter names the item that died last, so the event is what they share.
    const found =
      items.find((letter) => letter.workId === work.id) ??
      items.find((letter) => letter.eventId === work.eventId)
    if (found !== undefined) return found
    if (nextCursor === null) return null
    cursor = nextCursor
  }
  return null
}
