// The rows that src/core/commit/apply-write.ts reads and changes: found as the group has locked them or as its commits have left them, and
// put among the group's changes. Pure.

import type { WriteTables, Writing } from '../../../core/commit/index.ts'
import type { TenantId } from '../../../core/ids/index.ts'
import { joinKey } from '../../../core/text/index.ts'
import type { Instant } from '../../../core/time/index.ts'
import { findEscalation, findRaised, laneRows, putNewWork, type View, type WorkHead } from './changes.ts'

interface CommitView extends View {
  readonly tenant: TenantId
  /** The events that the commit itself appends. */
  readonly appended: Set<string>
}

export function beginWriting(view: View, tenant: TenantId): CommitView & Writing<WorkHead> {
  const { loaded, changes, waiting } = view
  const { now } = loaded
  return {
    loaded,
    changes,
    waiting,
    leased: [],
    tenant,
    moment: { tenant, now, after: (delayMs) => after(now, delayMs) },
    lanes: laneRows(view, tenant),
    appended: new Set(),
  }
}

/** Instants are whole milliseconds, and nothing is due before its delay is over. */
function after(now: Instant, delayMs: number): Instant {
  return Math.ceil(now + delayMs)
}

const keyOf = ({ tenant }: CommitView, id: string) => joinKey(tenant, id)

export const WRITE_TABLES: WriteTables<CommitView> = {
  hasEvent: (view, id) => view.appended.has(id) || view.loaded.events.has(keyOf(view, id)),
  addEvent({ changes, loaded, tenant, appended }, event) {
    changes.events.push({ ...event, tenant, receivedAt: loaded.now })
    appended.add(event.id)
  },
  repeatEvent(view, event, count) {
    const { changes, loaded } = view
    const key = keyOf(view, event)
    if (!loaded.events.has(key)) return
    const before = changes.repeats.get(key)?.count ?? 0
    changes.repeats.set(key, { event, count: before + count, lastAt: loaded.now })
  },
  matchEvent(view, id, matched) {
    const { changes, loaded, tenant } = view
    const key = keyOf(view, id)
    if (loaded.events.has(key)) changes.matches.set(key, { tenant, id, matched })
  },
  putDedup: ({ changes, tenant }, source, key, row) =>
    void changes.dedup.set(joinKey(tenant, source, key), row),
  isAlive({ loaded }, id) {
    const owner = loaded.owners.get(id)
    return owner !== undefined && !owner.fenced && loaded.now < owner.until
  },
  addWork: putNewWork,
  addAttempt: ({ changes, tenant }, work, attempt) =>
    void changes.attempts.push({ ...attempt, tenant, work }),
  findEntry(view, key) {
    const joined = keyOf(view, key)
    return view.changes.ledger.get(joined) ?? view.loaded.ledger.get(joined)
  },
  putEntry: (view, key, entry) => void view.changes.ledger.set(keyOf(view, key), entry),
  addPastEntry: (view, key, entry) =>
    void view.changes.pastLedger.set(`${keyOf(view, key)} ${entry.generation}`, entry),
  findDeadLetter(view, id) {
    const key = keyOf(view, id)
    return view.changes.deadLetters.get(key) ?? view.loaded.deadLetters.get(key)
  },
  putDeadLetter: (view, row) => void view.changes.deadLetters.set(keyOf(view, row.id), row),
  findFailure(view, id) {
    const key = keyOf(view, id)
    return view.changes.failures.get(key) ?? view.loaded.failures.get(key)
  },
  putFailure: (view, row) => void view.changes.failures.set(keyOf(view, row.id), row),
  findEscalation: (view, id) => findEscalation(view, keyOf(view, id)),
  findRaised: (view, cause) => findRaised(view, view.tenant, cause),
  putEscalation: (view, row) => void view.changes.escalations.set(keyOf(view, row.id), row),
  findInstance(view, id) {
    const key = keyOf(view, id)
    return view.changes.instances.get(key) ?? view.loaded.instances.get(key)
  },
  putInstance: (view, row) => void view.changes.instances.set(keyOf(view, row.id), row),
  addHistory: ({ changes, tenant }, row) => void changes.history.push({ ...row, tenant }),
  putCorrelation: (view, row) => void view.changes.correlations.set(keyOf(view, row.key), row),
  deleteCorrelation(view, key) {
    const { changes, loaded, tenant } = view
    const joined = keyOf(view, key)
    if (loaded.correlations.has(joined))
      changes.correlations.set(joined, { tenant, key, version: 0, body: null })
  },
  findOrphan(view, id) {
    const key = keyOf(view, id)
    return view.changes.orphans.get(key) ?? view.loaded.orphans.get(key)
  },
  putOrphan: (view, row) => void view.changes.orphans.set(keyOf(view, row.id), row),
  // The statement keeps what a run began with, so no run is read before it is written.
  findRun: () => undefined,
  putRun: (view, row) => void view.changes.runs.set(keyOf(view, row.id), row),
  putRecord: ({ changes, tenant }, row) => void changes.records.set(joinKey(tenant, row.kind, row.key), row),
  deleteRecord({ changes, loaded, tenant }, kind, key) {
    const joined = joinKey(tenant, kind, key)
    if (loaded.records.has(joined)) changes.records.set(joined, { tenant, kind, key, version: 0, body: null })
  },
  addOutboxRow: ({ changes, loaded, tenant }, row) =>
    void changes.outbox.push({ ...row, tenant, createdAt: loaded.now }),
  deleteOutboxRow: ({ changes, tenant }, position) => void changes.told.push({ tenant, position }),
}
