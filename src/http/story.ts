// The whole story of a work item: its tries, what the ledger says of its effect, and the dead letter it became.

import { type DeadLetter, letterOfEdit } from '../core/dead-letter/index.ts'
import type { WorkRow } from '../core/work/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { showAttempt, showDeadLetter, showLedgerEntry, showWork } from './shapes.ts'

/** A route has one dead letter per event, unless it was replayed by another definition meanwhile. */
const LETTERS_MAX = 10
const COPIES_MAX = 100

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

/** An item that died and the letter that it became share consumer and event, also after replays. */
async function findDeadLetter(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  if (work.replayOf !== null) return reads.deadLetter(work.replayOf)
  if (work.state !== 'dead') return null
  const { consumer, eventId } = work
  const { items } = await reads.deadLetters({ consumer, eventId, cursor: null, limit: LETTERS_MAX })
  const found = items.find((letter) => letter.workId === work.id) ?? items[0]
  return found ?? findEdited(reads, work)
}

/** Its letter points at a copy of the event now, which names the letter. */
async function findEdited(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  for (const { dedupKey } of await reads.causedBy(work.eventId, COPIES_MAX)) {
    const id = letterOfEdit(dedupKey)
    const letter = id === null ? null : await reads.deadLetter(id)
    if (letter?.consumer === work.consumer) return letter
  }
  return null
}
