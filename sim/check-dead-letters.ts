// DL4, DL5, D8 and RP4 on every applied commit: what an edit may change, and that no letter is replayed twice by one replay.

import { isLockKey } from '../src/core/effects/action/index.ts'
import { deadLetterOfEdit, type StoredEvent } from '../src/core/events/event/index.ts'
import type { NewDeadLetter } from '../src/core/failures/dead-letter/index.ts'
import type { DeadLetterId, EventId } from '../src/core/foundation/ids/index.ts'
import { deadLetterOf } from '../src/core/queue/work/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import type { Data } from './data.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'
import { routeOf } from './scenario.ts'

export interface DeadLetterChecks {
  applied(commit: Commit): void
}

/** Copies that a person made; nobody else's event has such a key. */
export function isCopy({ dedupKey }: Pick<StoredEvent, 'dedupKey'>): boolean {
  return deadLetterOfEdit(dedupKey) !== null
}

/** The event that was received or emitted, behind all copies. */
export function rootOf(events: ReadonlyMap<EventId, StoredEvent>, id: EventId): EventId {
  let event = events.get(id)
  while (event !== undefined && isCopy(event) && event.causationId !== null) {
    event = events.get(event.causationId)
  }
  return event?.id ?? id
}

export function makeDeadLetterChecks({
  observations,
  data,
}: {
  readonly observations: Observations
  readonly data: Data
}): DeadLetterChecks {
  const letters = new Map<DeadLetterId, NewDeadLetter>()
  /** By replay. */
  const replayed = new Map<string, Set<DeadLetterId | EventId>>()
  /** Replays that are over. */
  const over = new Set<string>()

  const put = (row: NewDeadLetter, commit: Commit) => {
    const before = letters.get(row.id)
    letters.set(row.id, row)
    if (before === undefined) return
    if (row.version !== before.version + 1)
      observations.violate('DL5', `letter ${short(row.id)} skips a version`)
    if (row.key !== before.key) observations.violate('DL5', `letter ${short(row.id)} changes its key`)
    if (row.eventId === before.eventId) return
    observations.counts.edits += 1
    const copy = commit.writes.find((write) => write.w === 'event.append' && write.event.id === row.eventId)
    if (copy === undefined)
      observations.violate('DL5', `letter ${short(row.id)} points at an event of others`)
  }

  const appended = ({ event }: Extract<Write, { w: 'event.append' }>) => {
    if (!isCopy(event)) return
    const { causationId } = event
    const original =
      causationId === null
        ? null
        : (data.event(event.tenant, causationId) ?? observations.gone.events.get(causationId) ?? null)
    const isAlike =
      original?.subject === event.subject &&
      original.source === event.source &&
      original.objectId === event.objectId &&
      original.correlationId === event.correlationId &&
      event.matched === 1
    if (!isAlike) observations.violate('DL5', `the copy ${short(event.id)} is not like its original`)
  }

  /** One effect per key: a replay calls under the key that the letter had, whatever the payload says now. */
  const reserved = ({ entry }: Extract<Write, { w: 'ledger.reserve' }>) => {
    const item = observations.works.get(entry.work)
    const replayOf = item === undefined ? null : deadLetterOf(item)
    const key = replayOf === null ? null : (letters.get(replayOf)?.key ?? null)
    if (key === null || isLockKey(entry.key)) return
    const isStep = entry.consumer.startsWith('workflow:')
    if (item?.kind === 'rotation') return
    if (!isStep && routeOf(entry.consumer).document.do.type !== 'http') return
    if (entry.key !== key) observations.violate('DL5', `the replay of ${key} reserves ${entry.key}`)
  }

  const recorded = (write: Extract<Write, { w: 'record.put' }>, commit: Commit) => {
    if (write.kind !== 'replay') return
    if (!write.key.startsWith('rpl_')) {
      // Whoever adds to a subscription takes its turn, which is no replay.
      if (!write.key.startsWith('turn/')) observations.replaying.add(write.key)
      return
    }
    const seen = replayed.get(write.key) ?? new Set()
    replayed.set(write.key, seen)
    for (const other of commit.writes) {
      const replayOf = other.w === 'work.add' ? other.work.replayOf : null
      if (replayOf === null) continue
      if (seen.has(replayOf)) observations.violate('RP4', `${write.key} replays ${short(replayOf)} twice`)
      seen.add(replayOf)
      if (replayOf.startsWith('evt_')) observations.counts.eventReplays += 1
      else observations.counts.bulkReplays += 1
    }
    const { replayed: count, state } = JSON.parse(write.body) as { replayed: number; state: string }
    if (over.has(write.key)) observations.violate('RP7', `${write.key} goes on after its end`)
    if (state !== 'running') over.add(write.key)
    if (count !== seen.size)
      observations.violate('RP4', `${write.key} counts ${count} letters of ${seen.size}`)
  }

  return {
    applied(commit) {
      for (const write of commit.writes) {
        if (write.w === 'deadLetter.put') put(write.row, commit)
        else if (write.w === 'event.append') appended(write)
        else if (write.w === 'ledger.reserve') reserved(write)
        else if (write.w === 'record.put') recorded(write, commit)
        else if (write.w === 'record.delete') observations.replaying.delete(write.key)
      }
    },
  }
}
