// What a group does to the rows that it has locked: guards first, then the writes folded over the rows. Pure.
//
// Invariants: a refused commit changes no row. A row that was not there is inserted, one that was is updated; so an
// insert that meets a row after all was overtaken by another node, and the group is done anew.

import {
  againWork,
  bearWork,
  doneEntry,
  type Moment,
  observeEntry,
  putLetter,
  reserveEntry,
  settleEntry,
  settleWork,
} from '../../core/commit/index.ts'
import type { DeadLetter } from '../../core/dead-letter/index.ts'
import { unreachable } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, Incarnation, TenantId, WorkId } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Attempt, Counters, Note, WorkRow } from '../../core/work/index.ts'
import type { Commit, CommitResult, Found, Guard, StoreDump, Write } from '../../ports/store.ts'
import { joinKey } from './keys.ts'

/** The part of a work row that a decision needs; every change gives the rest. */
export type WorkHead = Pick<
  WorkRow,
  'tenant' | 'id' | 'state' | 'owner' | 'epoch' | 'dueAt' | 'alone' | 'processedAt'
>
type ChangedWork = WorkHead & Counters & Note
export type DedupRow = { readonly event: EventId; readonly until: Instant }
type RecordRow = StoreDump['records'][number]

/** The rows as they are under the group's locks, by `joinKey` of their keys. */
export interface Loaded {
  readonly now: Instant
  readonly owners: ReadonlyMap<Incarnation, { readonly until: Instant; readonly fenced: boolean }>
  readonly work: ReadonlyMap<string, WorkHead>
  /** Those that are there. */
  readonly events: ReadonlySet<string>
  readonly dedup: ReadonlyMap<string, DedupRow>
  readonly ledger: ReadonlyMap<string, LedgerEntry>
  readonly deadLetters: ReadonlyMap<string, Pick<DeadLetter, 'version' | 'createdAt'>>
  readonly records: ReadonlyMap<string, Pick<RecordRow, 'version'>>
}

/** The rows as they shall be. */
export interface Changes {
  readonly events: Omit<StoredEvent, 'duplicates' | 'lastDuplicateAt'>[]
  readonly repeats: Map<string, { readonly event: EventId; readonly count: number; readonly lastAt: Instant }>
  readonly matches: Map<string, Pick<StoredEvent, 'tenant' | 'id' | 'matched'>>
  readonly dedup: Map<string, DedupRow>
  readonly newWork: Map<string, WorkRow>
  readonly work: Map<string, ChangedWork>
  readonly attempts: (Attempt & { readonly tenant: TenantId; readonly work: WorkId })[]
  readonly ledger: Map<string, LedgerEntry>
  readonly deadLetters: Map<string, DeadLetter>
  /** `body` null: the record goes. */
  readonly records: Map<string, Omit<RecordRow, 'body'> & { readonly body: string | null }>
}

interface Decision {
  readonly results: readonly CommitResult[]
  readonly changes: Changes
}

export function decideGroup(commits: readonly Commit[], loaded: Loaded): Decision {
  const changes: Changes = {
    events: [],
    repeats: new Map(),
    matches: new Map(),
    dedup: new Map(),
    newWork: new Map(),
    work: new Map(),
    attempts: [],
    ledger: new Map(),
    deadLetters: new Map(),
    records: new Map(),
  }
  const results = commits.map((commit): CommitResult => {
    for (const [index, guard] of commit.guards.entries()) {
      const refusal = checkGuard(loaded, commit.tenant, guard)
      if (refusal) return { ok: false, at: loaded.now, guard: index, found: refusal.found }
    }
    const leased: WorkId[] = []
    const writing = { loaded, changes, leased, tenant: commit.tenant, born: new Set<string>() }
    for (const write of commit.writes) applyWrite(writing, write)
    return { ok: true, at: loaded.now, leased }
  })
  return { results, changes }
}

export function hasChanges(changes: Changes): boolean {
  return Object.values(changes).some(
    (rows: { size?: number; length?: number }) => (rows.size ?? rows.length) !== 0,
  )
}

function checkGuard(loaded: Loaded, tenant: TenantId, guard: Guard): { readonly found: Found | null } | null {
  switch (guard.g) {
    case 'lease': {
      const row = loaded.work.get(joinKey(tenant, guard.work))
      const holds =
        row?.state === 'leased' &&
        row.owner === guard.owner &&
        row.epoch === guard.epoch &&
        loaded.owners.get(guard.owner)?.fenced === false
      return holds ? null : { found: foundWork(row) }
    }
    case 'work': {
      const row = loaded.work.get(joinKey(tenant, guard.work))
      return row?.state === guard.state && row.epoch === guard.epoch ? null : { found: foundWork(row) }
    }
    case 'dedup': {
      const row = loaded.dedup.get(joinKey(tenant, guard.source, guard.key))
      return row === undefined || row.until <= loaded.now ? null : { found: { f: 'event', id: row.event } }
    }
    case 'unreserved': {
      const entry = loaded.ledger.get(joinKey(tenant, guard.key))
      return entry === undefined ? null : { found: { f: 'ledger', entry } }
    }
    case 'ledger': {
      const entry = loaded.ledger.get(joinKey(tenant, guard.key))
      const holds = entry?.state === guard.state && entry.work === guard.work && entry.epoch === guard.epoch
      if (holds) return null
      return { found: entry === undefined ? null : { f: 'ledger', entry } }
    }
    case 'version': {
      const row =
        guard.of === 'deadLetter'
          ? loaded.deadLetters.get(joinKey(tenant, guard.key))
          : loaded.records.get(joinKey(tenant, guard.of, guard.key))
      if ((row?.version ?? 0) === guard.version) return null
      return { found: row === undefined ? null : { f: 'version', version: row.version } }
    }
    default:
      return unreachable(guard)
  }
}

function foundWork(row: WorkHead | undefined): Found | null {
  return row === undefined ? null : { f: 'work', state: row.state, owner: row.owner, epoch: row.epoch }
}

interface Writing {
  readonly loaded: Loaded
  readonly changes: Changes
  readonly leased: WorkId[]
  readonly tenant: TenantId
  /** The events that the commit itself appends. */
  readonly born: Set<string>
}

/** Instants are whole milliseconds, and nothing is due before its delay is over. */
function after(now: Instant, delayMs: number): Instant {
  return Math.ceil(now + delayMs)
}

function momentOf({ tenant, loaded: { now } }: Writing): Moment {
  return { tenant, now, after: (delayMs) => after(now, delayMs) }
}

function applyWrite(writing: Writing, write: Write): void {
  const { changes, tenant } = writing
  const { now } = writing.loaded
  const moment = momentOf(writing)
  switch (write.w) {
    case 'event.append': {
      const { event } = write
      changes.events.push({ ...event, tenant, receivedAt: now })
      writing.born.add(event.id)
      changes.dedup.set(joinKey(tenant, event.source, event.dedupKey), {
        event: event.id,
        until: after(now, write.dedupForMs),
      })
      break
    }
    case 'event.repeat': {
      const key = joinKey(tenant, write.event)
      if (!writing.loaded.events.has(key)) break
      const before = changes.repeats.get(key)?.count ?? 0
      changes.repeats.set(key, { event: write.event, count: before + write.count, lastAt: now })
      break
    }
    case 'event.match': {
      const key = joinKey(tenant, write.event)
      if (!writing.loaded.events.has(key)) break
      changes.matches.set(key, { tenant, id: write.event, matched: write.matched })
      break
    }
    case 'work.add':
      addWork(writing, write)
      break
    case 'work.settle':
      changeWork(writing, write.work, (row) => settleWork(moment, row, write))
      break
    case 'work.again':
      changeWork(writing, write.work, (row) => againWork(moment, row, write))
      break
    case 'attempt.append':
      if (findWork(writing, joinKey(tenant, write.work)) !== undefined) {
        changes.attempts.push({ ...write.attempt, tenant, work: write.work })
      }
      break
    case 'ledger.reserve':
      putEntry(writing, write.entry.key, (before) => reserveEntry(moment, before, write))
      break
    case 'ledger.done':
      putEntry(writing, write.entry.key, (before) => doneEntry(moment, before, write))
      break
    case 'ledger.settle':
      putEntry(writing, write.key, (before) => before && settleEntry(moment, before, write))
      break
    case 'ledger.observe':
      putEntry(writing, write.key, (before) => before && observeEntry(before, write.evidence))
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.deadLetters.get(key) ?? writing.loaded.deadLetters.get(key)
      changes.deadLetters.set(key, putLetter(moment, before, write.row))
      break
    }
    case 'record.put': {
      const { kind, key, version, body } = write
      changes.records.set(joinKey(tenant, kind, key), { tenant, kind, key, version, body })
      break
    }
    case 'record.delete': {
      const { kind, key } = write
      const joined = joinKey(tenant, kind, key)
      if (writing.loaded.records.has(joined)) {
        changes.records.set(joined, { tenant, kind, key, version: 0, body: null })
      }
      break
    }
    default:
      unreachable(write)
  }
}

function addWork(writing: Writing, write: Extract<Write, { w: 'work.add' }>): void {
  const { changes, leased, tenant } = writing
  const { now, owners } = writing.loaded
  const { work, lease } = write
  if (!writing.born.has(work.eventId) && !writing.loaded.events.has(joinKey(tenant, work.eventId))) return
  const owner = lease === null ? undefined : owners.get(lease)
  const isLeased = owner !== undefined && !owner.fenced && now < owner.until
  if (isLeased) leased.push(work.id)
  const key = joinKey(tenant, work.id)
  // Two of one id in one commit: the second shall meet the first in the table, and the commit be refused.
  const row = bearWork(momentOf(writing), work, write.delayMs, isLeased ? lease : null)
  changes.newWork.set(changes.newWork.has(key) ? `${key} again` : key, row)
}

function findWork({ changes, loaded }: Writing, key: string): WorkHead | undefined {
  return changes.newWork.get(key) ?? changes.work.get(key) ?? loaded.work.get(key)
}

function changeWork(
  writing: Writing,
  id: WorkId,
  change: <Row extends WorkHead>(row: Row) => Row & ChangedWork,
): void {
  const { changes, loaded, tenant } = writing
  const key = joinKey(tenant, id)
  const born = changes.newWork.get(key)
  if (born !== undefined) {
    changes.newWork.set(key, change(born))
    return
  }
  const row = changes.work.get(key) ?? loaded.work.get(key)
  if (row !== undefined) changes.work.set(key, change(row))
}

function putEntry(
  { changes, loaded, tenant }: Writing,
  key: string,
  change: (before: LedgerEntry | undefined) => LedgerEntry | undefined,
): void {
  const joined = joinKey(tenant, key)
  const entry = change(changes.ledger.get(joined) ?? loaded.ledger.get(joined))
  if (entry !== undefined) changes.ledger.set(joined, entry)
}
