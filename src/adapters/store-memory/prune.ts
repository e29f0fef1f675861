// Retention: events that nothing needs any more go, with everything that hangs on them.

import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, WorkId } from '../../core/ids/index.ts'
import type { Pruned, PruneRequest } from '../../core/retention/index.ts'
import {
  CLOSED_LETTERS,
  FINAL_WORK,
  keeperOf,
  keepMsOf,
  OPEN_ENTRIES,
  pruneEnd,
} from '../../core/retention/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { ownRows } from './pages.ts'
import { compareText, joinKey, type MemoryState, putWork } from './state.ts'

export function pruneEvents(state: MemoryState, now: Instant, request: PruneRequest): Pruned {
  const end = pruneEnd(request, now)
  const { after } = request
  const rest = ownRows(state.events, request.tenant)
    .filter((row) => (after === null || compareText(row.id, after) > 0) && compareText(row.id, end) < 0)
    .sort((a, b) => compareText(a.id, b.id))
  const seen = rest.slice(0, request.scanMax)
  const gone = { events: 0, work: 0, attempts: 0, deadLetters: 0, dedup: 0 }
  for (const event of seen) {
    if (event.receivedAt + keepMsOf(request, event.source) > now || isNeeded(state, now, event)) continue
    gone.events += 1
    for (const work of state.workOfEvent.get(event.id) ?? []) {
      gone.work += 1
      gone.attempts += state.attempts.get(work)?.length ?? 0
      state.attempts.delete(work)
      putWork(state, work, null)
    }
    state.workOfEvent.delete(event.id)
    for (const key of letterKeys(state, event)) {
      gone.deadLetters += 1
      state.deadLetters.delete(key)
    }
    const key = joinKey(event.tenant, event.source, event.dedupKey)
    if (state.dedup.get(key)?.event === event.id) {
      gone.dedup += 1
      state.dedup.delete(key)
    }
    state.events.delete(event.id)
  }
  return { ...gone, next: rest.length > seen.length ? (seen.at(-1)?.id ?? null) : null }
}

function letterKeys(state: MemoryState, { tenant, id }: StoredEvent): string[] {
  return [...state.deadLetters]
    .filter(([, letter]) => letter.tenant === tenant && letter.eventId === id)
    .map(([key]) => key)
}

function isNeeded(state: MemoryState, now: Instant, event: StoredEvent): boolean {
  const window = state.dedup.get(joinKey(event.tenant, event.source, event.dedupKey))
  if (window?.event === event.id && window.until > now) return true
  const keeper = keeperOf(event)
  if (keeper !== null && state.events.get(keeper as EventId)?.tenant === event.tenant) return true
  const work = state.workOfEvent.get(event.id) ?? []
  if (work.some((id) => !isFinal(state, id))) return true
  if (
    letterKeys(state, event).some((key) => {
      const letter = state.deadLetters.get(key)
      return letter !== undefined && !CLOSED_LETTERS.includes(letter.state)
    })
  ) {
    return true
  }
  return (
    work.length > 0 &&
    ownRows(state.ledger, event.tenant).some(
      (entry) => OPEN_ENTRIES.includes(entry.state) && work.includes(entry.work),
    )
  )
}

function isFinal(state: MemoryState, id: WorkId): boolean {
  const row = state.work.get(id)
  return row === undefined || FINAL_WORK.includes(row.state)
}
