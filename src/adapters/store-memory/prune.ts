// Retention: events that nothing needs any more are removed with everything that depends on them; then ledger entries,
// lanes and escalations past their retention, instances and orphans that ended, runs without a job, and facts.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import {
  CLOSED_DEAD_LETTERS,
  FINAL_WORK,
  keeperOf,
  keepMsOf,
  longestKeepMs,
  OPEN_ENTRIES,
  OPEN_ORPHANS,
  pruneEnd,
  pruneFactsEnd,
  pruneRunsEnd,
} from '../../core/store/retention/index.ts'
import { ownRows } from './pages.ts'
import { ownEntries } from './reads.ts'
import { compareText, findWork, type MemoryState, putWork } from './state.ts'

type Gone = { -readonly [Name in keyof Omit<Pruned, 'next'>]: number }

/** The walks, in this order. A cursor is the name of the walk and its position; for events, their id alone. */
const WALKS = ['events', 'ledger', 'lanes', 'escalations', 'instances', 'orphans', 'runs', 'facts'] as const
type Walk = (typeof WALKS)[number]

export function pruneRows(state: MemoryState, now: Instant, request: PruneRequest): Pruned {
  const gone: Gone = {
    events: 0,
    work: 0,
    attempts: 0,
    deadLetters: 0,
    dedup: 0,
    failures: 0,
    ledger: 0,
    lanes: 0,
    escalations: 0,
    instances: 0,
    history: 0,
    orphans: 0,
    runs: 0,
    facts: 0,
  }
  let [walk, after] = parsePosition(request.after)
  let left = request.scanMax
  for (;;) {
    const from = after
    const all = walkRows(state, now, request, walk)
    const rows = from === null ? all : all.filter(([position]) => compareText(position, from) > 0)
    const seen = rows.slice(0, left)
    for (const [, prune] of seen) prune(gone)
    left -= seen.length
    const last = seen.at(-1)?.[0] ?? after
    if (rows.length > seen.length)
      return { ...gone, next: walk === 'events' ? last : `${walk} ${last ?? ''}` }
    const next = WALKS[WALKS.indexOf(walk) + 1]
    if (next === undefined) return { ...gone, next: null }
    walk = next
    after = null
  }
}

function parsePosition(after: string | null): [Walk, string | null] {
  const at = after?.indexOf(' ') ?? -1
  if (after === null || at < 0) return ['events', after]
  return [after.slice(0, at) as Walk, after.slice(at + 1)]
}

/** The rows of a walk in order: the position of each, and what removes it if its time is up. */
function walkRows(
  state: MemoryState,
  now: Instant,
  request: PruneRequest,
  walk: Walk,
): (readonly [position: string, prune: (gone: Gone) => void])[] {
  const { tenant } = request
  const untouchedSince = now - longestKeepMs(request)
  switch (walk) {
    case 'events': {
      const end = pruneEnd(request, now)
      const kept = retainedEvents(state, tenant)
      return ownRows(state.events, tenant)
        .filter((row) => compareText(row.id, end) < 0)
        .sort((a, b) => compareText(a.id, b.id))
        .map((row) => [row.id, (gone) => pruneEvent(state, now, request, row, kept, gone)] as const)
    }
    case 'ledger': {
      const { ledger } = request
      if (ledger === undefined) return []
      return ownRows(state.ledger, tenant)
        .sort((a, b) => compareText(a.key, b.key))
        .map((row) => [row.key, (gone) => pruneKey(state, now, ledger, row, gone)] as const)
    }
    case 'lanes':
      return [...state.lanes]
        .filter(([, row]) => row.tenant === tenant)
        .sort(([a], [b]) => compareText(a, b))
        .map(([key, row]) => {
          const isIdle = row.places === 0 && row.waiting === 0 && row.updatedAt <= untouchedSince
          const prune = (gone: Gone) => {
            if (isIdle && state.lanes.delete(key)) gone.lanes += 1
          }
          return [key, prune] as const
        })
    case 'escalations':
      return [...state.escalations]
        .filter(([, row]) => row.tenant === tenant)
        .sort(([a], [b]) => compareText(a, b))
        .map(([key, row]) => {
          const isOver = row.state === 'acknowledged' && row.updatedAt <= untouchedSince
          const prune = (gone: Gone) => {
            if (isOver && state.escalations.delete(key)) gone.escalations += 1
          }
          return [key, prune] as const
        })
    case 'instances':
      return [...state.instances]
        .filter(([, row]) => row.tenant === tenant)
        .sort(([a], [b]) => compareText(a, b))
        .map(([key, row]) => {
          const isOver = row.endedAt !== null && row.endedAt <= untouchedSince
          const prune = (gone: Gone) => {
            if (!isOver || !state.instances.delete(key)) return
            gone.instances += 1
            gone.history += state.history.get(key)?.length ?? 0
            state.history.delete(key)
          }
          return [key, prune] as const
        })
    case 'orphans':
      return [...state.orphans]
        .filter(([, row]) => row.tenant === tenant)
        .sort(([a], [b]) => compareText(a, b))
        .map(([key, row]) => {
          const isOver = !OPEN_ORPHANS.includes(row.state) && row.updatedAt <= untouchedSince
          const prune = (gone: Gone) => {
            if (isOver && state.orphans.delete(key)) gone.orphans += 1
          }
          return [key, prune] as const
        })
    case 'runs': {
      const end = pruneRunsEnd(request, now)
      return [...state.runs]
        .filter(([, row]) => row.tenant === tenant && compareText(row.id, end) < 0)
        .sort(([a], [b]) => compareText(a, b))
        .map(([key, row]) => {
          const prune = (gone: Gone) => {
            const isOfWork = row.workId !== null && findWork(state, tenant, row.workId) !== undefined
            if (isOfWork || row.updatedAt > untouchedSince) return
            if (state.runs.delete(key)) gone.runs += 1
          }
          return [key, prune] as const
        })
    }
    case 'facts': {
      const { factMs } = request
      if (factMs === undefined) return []
      const end = pruneFactsEnd(factMs, now)
      return ownRows(state.facts, tenant)
        .filter((row) => compareText(row.id, end) < 0)
        .sort((a, b) => compareText(a.id, b.id))
        .map((row) => {
          const prune = (gone: Gone) => {
            if (row.createdAt > now - factMs) return
            if (state.facts.delete(joinKey(tenant, row.id))) gone.facts += 1
          }
          return [row.id, prune] as const
        })
    }
  }
}

/**
 * Events that an active instance started with, that may still be assigned to an instance, and that are still to be
 * published to the bus.
 */
function retainedEvents(state: MemoryState, tenant: TenantId): ReadonlySet<EventId> {
  const active = ownRows(state.instances, tenant).filter((row) => row.state === 'active')
  const open = ownRows(state.orphans, tenant).filter((row) => OPEN_ORPHANS.includes(row.state))
  const untold = ownRows(state.outbox, tenant).flatMap(({ event }) => event ?? [])
  return new Set([...[...active, ...open].map(({ eventId }) => eventId), ...untold])
}

function pruneEvent(
  state: MemoryState,
  now: Instant,
  request: PruneRequest,
  event: StoredEvent,
  kept: ReadonlySet<EventId>,
  gone: Gone,
): void {
  if (kept.has(event.id)) return
  if (event.receivedAt + keepMsOf(request, event.source) > now || isNeeded(state, now, event)) return
  gone.events += 1
  gone.runs += deleteRunsOf(state, event)
  for (const work of state.workOfEvent.get(event.id) ?? []) {
    gone.work += 1
    gone.attempts += state.attempts.get(work)?.length ?? 0
    state.attempts.delete(work)
    putWork(state, work, null)
  }
  state.workOfEvent.delete(event.id)
  for (const key of keysOfEvent(state.deadLetters, event)) {
    gone.deadLetters += 1
    state.deadLetters.delete(key)
  }
  for (const key of keysOfEvent(state.failures, event)) {
    gone.failures += 1
    state.failures.delete(key)
  }
  const key = joinKey(event.tenant, event.source, event.dedupKey)
  if (state.dedup.get(key)?.event === event.id) {
    gone.dedup += 1
    state.dedup.delete(key)
  }
  state.events.delete(event.id)
}

/** The runs of its jobs. */
function deleteRunsOf(state: MemoryState, { id, tenant }: StoredEvent): number {
  const work = new Set<WorkId | null>(state.workOfEvent.get(id))
  const runs = [...state.runs].filter(([, row]) => row.tenant === tenant && work.has(row.workId))
  for (const [key] of runs) state.runs.delete(key)
  return runs.length
}

/**
 * A key is removed as a whole, by its latest generation: if only that one were removed, an earlier one would stand for
 * the key.
 */
function pruneKey(
  state: MemoryState,
  now: Instant,
  keep: NonNullable<PruneRequest['ledger']>,
  latest: LedgerEntry,
  gone: Gone,
): void {
  const joined = joinKey(latest.tenant, latest.key)
  const all = [...(state.ledgerBefore.get(joined) ?? []), latest]
  if (all.some((entry) => OPEN_ENTRIES.includes(entry.state))) return
  if ((latest.settledAt ?? latest.createdAt) + keepMsOf(keep, latest.consumer) > now) return
  if (state.events.get(latest.eventId)?.tenant === latest.tenant) return
  gone.ledger += all.length
  state.ledger.delete(joined)
  state.ledgerBefore.delete(joined)
}

function keysOfEvent(
  table: ReadonlyMap<string, { readonly tenant: TenantId; readonly eventId: EventId }>,
  { tenant, id }: StoredEvent,
): string[] {
  return [...table].filter(([, row]) => row.tenant === tenant && row.eventId === id).map(([key]) => key)
}

function isNeeded(state: MemoryState, now: Instant, event: StoredEvent): boolean {
  const window = state.dedup.get(joinKey(event.tenant, event.source, event.dedupKey))
  if (window?.event === event.id && window.until > now) return true
  const keeper = keeperOf(event)
  if (keeper !== null && state.events.get(keeper as EventId)?.tenant === event.tenant) return true
  const work = state.workOfEvent.get(event.id) ?? []
  if (work.some((id) => !isFinal(state, id))) return true
  if (
    keysOfEvent(state.deadLetters, event).some((key) => {
      const letter = state.deadLetters.get(key)
      return letter !== undefined && !CLOSED_DEAD_LETTERS.includes(letter.state)
    })
  ) {
    return true
  }
  return (
    work.length > 0 &&
    ownEntries(state, event.tenant).some(
      (entry) => OPEN_ENTRIES.includes(entry.state) && work.includes(entry.work),
    )
  )
}

/** A closed job that still holds a lane position blocks others: an operator has to decide about it. */
function isFinal(state: MemoryState, id: WorkId): boolean {
  const row = state.work.get(id)
  return row === undefined || (FINAL_WORK.includes(row.state) && !row.hasPlace)
}
