// The whole story of a work item: its tries, what the ledger says of its effect, and the dead letter it became. It takes
// several reads, so an event tells no more than a person reads, and asks for a few at a time.

import { deadLetterOfEdit } from '../core/events/event/index.ts'
import type { DeadLetter } from '../core/failures/dead-letter/index.ts'
import { deadLetterOf, type WorkRow } from '../core/queue/work/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { present, showAttempt, showDeadLetter, showLedgerEntry, showWork } from './shapes.ts'

/** A route has one dead letter per event, unless it was replayed by another definition meanwhile. */
const LETTERS_MAX = 10
const COPIES_MAX = 100
const WAITING_MAX = 1_000
/** As many as a page has; who holds a lane up longer than so many others is not named. */
const HOLDERS_MAX = 200

const STORIES_MAX = 50
const STORIES_AT_ONCE = 10

/** The stories of the newest items, in the order given; replays are what is looked for when there are many. */
export async function readStories(reads: TenantReads, work: readonly WorkRow[]) {
  const shown = work.slice(-STORIES_MAX)
  const stories: Awaited<ReturnType<typeof readStory>>[] = []
  for (let at = 0; at < shown.length; at += STORIES_AT_ONCE) {
    const part = shown.slice(at, at + STORIES_AT_ONCE)
    stories.push(...(await Promise.all(part.map((item) => readStory(reads, item)))))
  }
  return stories
}

export async function readStory(reads: TenantReads, work: WorkRow) {
  const [attempts, entry, letter, turn, members] = await Promise.all([
    reads.attempts(work.id),
    work.key === null ? null : reads.ledger(work.key),
    findDeadLetter(reads, work),
    findTurn(reads, work),
    work.kind === 'batch' ? reads.workMerged(work.id) : null,
  ])
  return {
    ...showWork(work),
    history: attempts.map(showAttempt),
    ledger: entry === null ? null : showLedgerEntry(entry),
    deadLetter: letter === null ? null : showDeadLetter(letter),
    ...present({
      turn,
      members: members?.map(({ id, eventId, state, key }) => ({ id, eventId, state, key })) ?? null,
    }),
  }
}

/** Whom an item waits behind: those before it in its lane, and whoever holds the lane up. */
async function findTurn(reads: TenantReads, { id, state, consumer, lane }: WorkRow) {
  if (state !== 'waiting' || lane === null) return null
  const [waiting, holders] = await Promise.all([
    reads.laneWaiting(consumer, lane, WAITING_MAX),
    reads.laneHolders({ cursor: null, limit: HOLDERS_MAX }),
  ])
  const index = waiting.findIndex((one) => one.id === id)
  const ahead = index < 0 ? waiting.length : index
  const holder = holders.items.find((one) => one.consumer === consumer && one.lane === lane)
  return { ahead, behind: waiting[ahead - 1]?.id ?? null, heldBy: holder?.id ?? null }
}

/** An item that died and the letter that it became share consumer and event, also after replays. */
async function findDeadLetter(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  const replayed = deadLetterOf(work)
  if (replayed !== null) return reads.deadLetter(replayed)
  if (work.state !== 'dead') return null
  const { consumer, eventId } = work
  const { items } = await reads.deadLetters({ consumer, eventId, cursor: null, limit: LETTERS_MAX })
  const found = items.find((letter) => letter.workId === work.id) ?? items[0]
  return found ?? findEdited(reads, work)
}

/** Its letter points at a copy of the event now, which names the letter. */
async function findEdited(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  for (const { dedupKey } of await reads.causedBy(work.eventId, COPIES_MAX)) {
    const id = deadLetterOfEdit(dedupKey)
    const letter = id === null ? null : await reads.deadLetter(id)
    if (letter?.consumer === work.consumer) return letter
  }
  return null
}
