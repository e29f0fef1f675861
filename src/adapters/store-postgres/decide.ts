// What a group does to the rows that it has locked: guards first, then the writes folded over the rows. Pure.
//
// Invariants: a refused commit changes no row. A row that was not there is inserted, one that was is updated; so an
// insert that meets a row after all was overtaken by another node, and the group is done anew.

import type { DeadLetter } from '../../core/dead-letter/index.ts'
import { unreachable } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, Incarnation, TenantId, WorkId } from '../../core/ids/index.ts'
import type { LedgerEntry, NewLedgerEntry } from '../../core/ledger/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Attempt, Counters, NewWork, Note, WorkRow } from '../../core/work/index.ts'
import { EMPTY_NOTE } from '../../core/work/index.ts'
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
  readonly dedup: ReadonlyMap<string, DedupRow>
  readonly ledger: ReadonlyMap<string, LedgerEntry>
  readonly deadLetters: ReadonlyMap<string, Pick<DeadLetter, 'version' | 'createdAt'>>
  readonly records: ReadonlyMap<string, Pick<RecordRow, 'version'>>
}

/** The rows as they shall be. */
export interface Changes {
  readonly events: StoredEvent[]
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
    for (const write of commit.writes) applyWrite({ loaded, changes, leased, tenant: commit.tenant }, write)
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
}

/** Instants are whole milliseconds, and nothing is due before its delay is over. */
function after(now: Instant, delayMs: number): Instant {
  return Math.ceil(now + delayMs)
}

function applyWrite(writing: Writing, write: Write): void {
  const { changes, tenant } = writing
  const { now } = writing.loaded
  switch (write.w) {
    case 'event.append': {
      const { event } = write
      changes.events.push({ ...event, tenant, receivedAt: now })
      changes.dedup.set(joinKey(tenant, event.source, event.dedupKey), {
        event: event.id,
        until: after(now, write.dedupForMs),
      })
      break
    }
    case 'work.add':
      addWork(writing, write)
      break
    case 'work.settle':
      changeWork(writing, write.work, (row) => ({
        ...row,
        ...write.counters,
        ...write.note,
        state: write.to,
        owner: null,
        processedAt: now,
      }))
      break
    case 'work.again':
      changeWork(writing, write.work, (row) => ({
        ...row,
        ...write.counters,
        ...write.note,
        state: 'ready',
        owner: null,
        dueAt: after(now, write.delayMs),
        alone: false,
        processedAt: null,
      }))
      break
    case 'attempt.append':
      if (findWork(writing, joinKey(tenant, write.work)) !== undefined) {
        changes.attempts.push({ ...write.attempt, tenant, work: write.work })
      }
      break
    case 'ledger.reserve':
      openEntry(writing, write.entry, { state: 'reserved', sendBy: after(now, write.sendWithinMs) })
      break
    case 'ledger.done':
      openEntry(writing, write.entry, {
        state: 'done',
        proof: 'acknowledged',
        effectRef: write.effectRef,
        result: write.result,
        settledAt: now,
      })
      break
    case 'ledger.settle':
      changeEntry(writing, write.key, (entry) => ({
        ...entry,
        state: write.to,
        proof: write.proof,
        effectRef: write.effectRef,
        result: write.result,
        settledAt: now,
      }))
      break
    case 'ledger.observe':
      changeEntry(writing, write.key, (entry) => ({
        ...entry,
        evidence: [...entry.evidence, write.evidence],
      }))
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.deadLetters.get(key) ?? writing.loaded.deadLetters.get(key)
      changes.deadLetters.set(key, {
        ...write.row,
        tenant,
        createdAt: before?.createdAt ?? now,
        updatedAt: now,
      })
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
  const owner = lease === null ? undefined : owners.get(lease)
  const isLeased = owner !== undefined && !owner.fenced && now < owner.until
  if (isLeased) leased.push(work.id)
  const key = joinKey(tenant, work.id)
  // Two of one id in one commit: the second shall meet the first in the table, and the commit be refused.
  changes.newWork.set(changes.newWork.has(key) ? `${key} again` : key, {
    ...makeWorkRow(work, tenant, now),
    state: isLeased ? 'leased' : 'ready',
    owner: isLeased ? lease : null,
    epoch: isLeased ? 1 : 0,
    dueAt: after(now, write.delayMs),
  })
}

function makeWorkRow(work: NewWork, tenant: TenantId, now: Instant): WorkRow {
  return {
    id: work.id,
    tenant,
    kind: work.kind,
    consumer: work.consumer,
    definition: work.definition,
    codeHash: work.codeHash,
    eventId: work.eventId,
    state: 'ready',
    dueAt: now,
    owner: null,
    epoch: 0,
    alone: false,
    attempts: 0,
    waits: 0,
    losses: 0,
    ...EMPTY_NOTE,
    createdAt: now,
    expiresAt: after(now, work.expiresInMs),
    processedAt: null,
    replayOf: work.replayOf,
  }
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

/** A new entry, or one that is taken up again: then generation, evidence and birth stay. */
function openEntry(
  { changes, loaded, tenant }: Writing,
  entry: NewLedgerEntry,
  rest: Pick<LedgerEntry, 'state'> & Partial<LedgerEntry>,
): void {
  const key = joinKey(tenant, entry.key)
  const before = changes.ledger.get(key) ?? loaded.ledger.get(key)
  changes.ledger.set(key, {
    ...entry,
    tenant,
    generation: before?.generation ?? 1,
    proof: null,
    sendBy: null,
    effectRef: null,
    result: null,
    evidence: before?.evidence ?? [],
    createdAt: before?.createdAt ?? loaded.now,
    settledAt: null,
    ...rest,
  })
}

function changeEntry(
  { changes, loaded, tenant }: Writing,
  key: string,
  change: (entry: LedgerEntry) => LedgerEntry,
): void {
  const joined = joinKey(tenant, key)
  const entry = changes.ledger.get(joined) ?? loaded.ledger.get(joined)
  if (entry !== undefined) changes.ledger.set(joined, change(entry))
}
