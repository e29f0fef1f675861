// What a group does to the rows that it has locked: guards first, then the writes folded over the rows. Pure.
//
// Invariants: a refused commit changes no row. A row that was not there is inserted, one that was is updated; so an
// insert that meets a row after all was overtaken by another node, and the group is done anew.

import {
  againItem,
  appendHistory,
  bearWork,
  changeEntry,
  changeEscalation,
  comeIn,
  type LedgerWrite,
  leaveItem,
  ledgerKeyOf,
  type Moment,
  putFailure,
  putInstance,
  putLetter,
  putOrphan,
  putRun,
  raiseEscalation,
  settleItem,
} from '../../core/commit/index.ts'
import { assert, unreachable } from '../../core/errors/index.ts'
import type { NewEscalation } from '../../core/escalation/index.ts'
import type { TenantId, WorkId } from '../../core/ids/index.ts'
import { joinKey } from '../../core/text/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Commit, CommitResult, Write } from '../../ports/store.ts'
import {
  type Changes,
  findEscalation,
  findRaised,
  findWork,
  type Loaded,
  laneRows,
  makeView,
  putNewWork,
  type View,
} from './changes.ts'
import { checkGuard } from './guards.ts'

interface Decision {
  readonly results: readonly CommitResult[]
  readonly changes: Changes
}

export function decideGroup(commits: readonly Commit[], loaded: Loaded): Decision {
  const view = makeView(loaded)
  const results = commits.map((commit): CommitResult => {
    for (const [index, guard] of commit.guards.entries()) {
      const refusal = checkGuard(view, commit.tenant, guard)
      if (refusal) return { ok: false, at: loaded.now, guard: index, found: refusal.found }
    }
    const leased: WorkId[] = []
    const writing = makeWriting(view, commit.tenant, leased)
    for (const write of commit.writes) applyWrite(writing, write)
    return { ok: true, at: loaded.now, leased }
  })
  return { results, changes: view.changes }
}

interface Writing extends View {
  readonly leased: WorkId[]
  readonly tenant: TenantId
  readonly moment: Moment
  readonly rows: ReturnType<typeof laneRows>
  /** The events that the commit itself appends. */
  readonly born: Set<string>
}

function makeWriting(view: View, tenant: TenantId, leased: WorkId[]): Writing {
  const { loaded, changes, waiting } = view
  const { now } = loaded
  return {
    loaded,
    changes,
    waiting,
    leased,
    tenant,
    moment: { tenant, now, after: (delayMs) => after(now, delayMs) },
    rows: laneRows(view, tenant),
    born: new Set(),
  }
}

/** Instants are whole milliseconds, and nothing is due before its delay is over. */
function after(now: Instant, delayMs: number): Instant {
  return Math.ceil(now + delayMs)
}

function applyWrite(writing: Writing, write: Write): void {
  const { changes, loaded, tenant, moment, rows } = writing
  const { now } = loaded
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
      if (!loaded.events.has(key)) break
      const before = changes.repeats.get(key)?.count ?? 0
      changes.repeats.set(key, { event: write.event, count: before + write.count, lastAt: now })
      break
    }
    case 'event.match': {
      const key = joinKey(tenant, write.event)
      if (!loaded.events.has(key)) break
      changes.matches.set(key, { tenant, id: write.event, matched: write.matched })
      break
    }
    case 'work.add':
      addWork(writing, write)
      break
    case 'work.settle':
      settleItem(rows, moment, write)
      break
    case 'work.again':
      againItem(rows, moment, write)
      break
    case 'lane.leave':
      leaveItem(rows, moment, write.work)
      break
    case 'attempt.append':
      if (findWork(writing, tenant, write.work) !== undefined) {
        changes.attempts.push({ ...write.attempt, tenant, work: write.work })
      }
      break
    case 'ledger.reserve':
    case 'ledger.done':
    case 'ledger.settle':
    case 'ledger.observe':
      putEntry(writing, write)
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.deadLetters.get(key) ?? loaded.deadLetters.get(key)
      changes.deadLetters.set(key, putLetter(moment, before, write.row))
      break
    }
    case 'failure.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.failures.get(key) ?? loaded.failures.get(key)
      changes.failures.set(key, putFailure(moment, before, write.row))
      break
    }
    case 'escalation.raise':
      raise(writing, write.row)
      break
    case 'escalation.change': {
      const key = joinKey(tenant, write.id)
      const row = findEscalation(writing, key)
      if (row) changes.escalations.set(key, changeEscalation(moment, row, write))
      break
    }
    case 'instance.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.instances.get(key) ?? loaded.instances.get(key)
      changes.instances.set(key, putInstance(moment, before, write.row))
      break
    }
    case 'history.append':
      for (const row of write.rows) changes.history.push({ ...appendHistory(moment, row), tenant })
      break
    case 'correlation.put': {
      const { key, version, body } = write
      changes.correlations.set(joinKey(tenant, key), { tenant, key, version, body })
      break
    }
    case 'correlation.delete': {
      const joined = joinKey(tenant, write.key)
      if (loaded.correlations.has(joined)) {
        changes.correlations.set(joined, { tenant, key: write.key, version: 0, body: null })
      }
      break
    }
    case 'orphan.put': {
      const key = joinKey(tenant, write.row.id)
      const before = changes.orphans.get(key) ?? loaded.orphans.get(key)
      changes.orphans.set(key, putOrphan(moment, before, write.row))
      break
    }
    case 'run.put':
      // What it began with is for the statement to keep: nobody looked.
      changes.runs.set(joinKey(tenant, write.row.id), putRun(moment, undefined, write.row))
      break
    case 'record.put': {
      const { kind, key, version, body } = write
      changes.records.set(joinKey(tenant, kind, key), { tenant, kind, key, version, body })
      break
    }
    case 'record.delete': {
      const { kind, key } = write
      const joined = joinKey(tenant, kind, key)
      if (loaded.records.has(joined)) {
        changes.records.set(joined, { tenant, kind, key, version: 0, body: null })
      }
      break
    }
    case 'outbox.add':
      for (const row of write.rows) changes.outbox.push({ ...row, tenant, createdAt: now })
      break
    case 'outbox.delete':
      for (const position of write.positions) changes.told.push({ tenant, position })
      break
    default:
      unreachable(write)
  }
}

function addWork(writing: Writing, write: Extract<Write, { w: 'work.add' }>): void {
  const { leased, tenant, loaded, moment, rows } = writing
  const { work, lease } = write
  if (!writing.born.has(work.eventId) && !loaded.events.has(joinKey(tenant, work.eventId))) return
  const { place, finish } = comeIn(rows, moment, work, write.inPlaceOf)
  const owner = lease === null ? undefined : loaded.owners.get(lease)
  const isLeased = place !== 'waits' && owner !== undefined && !owner.fenced && loaded.now < owner.until
  if (isLeased) leased.push(work.id)
  putNewWork(writing, bearWork(moment, work, write.delayMs, isLeased ? lease : null, place))
  finish()
}

function raise(writing: Writing, row: NewEscalation): void {
  const { changes, tenant } = writing
  const before = findRaised(writing, tenant, row.cause)
  const key = joinKey(tenant, before?.id ?? row.id)
  const isNew = findEscalation(writing, key) === undefined
  assert(before !== undefined || isNew, `escalation ${row.id} exists already`)
  changes.escalations.set(key, raiseEscalation(writing.moment, before, row))
}

function putEntry(writing: Writing, write: LedgerWrite): void {
  const { changes, loaded, tenant } = writing
  const joined = joinKey(tenant, ledgerKeyOf(write))
  const before = changes.ledger.get(joined) ?? loaded.ledger.get(joined)
  const change = changeEntry(writing.moment, before, write)
  if (change === null) return
  if (change.past !== null) changes.pastLedger.set(`${joined} ${change.past.generation}`, change.past)
  changes.ledger.set(joined, change.entry)
}
