// The rows that src/core/store/commit/apply-write.ts reads and changes: as the group has locked them or as its commits
// have left them, and stored among the group's changes. Pure.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { WriteTables, Writing } from '../../../core/store/commit/index.ts'
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
  putDedup: ({ changes }, key, row) => void changes.dedup.set(key, row),
  isAlive({ loaded }, id) {
    const owner = loaded.owners.get(id)
    return owner !== undefined && !owner.fenced && loaded.now < owner.until
  },
  addWork: putNewWork,
  addAttempt: ({ changes, tenant }, work, attempt) =>
    void changes.attempts.push({ ...attempt, tenant, work }),
  findEntry: ({ changes, loaded }, key) => changes.ledger.get(key) ?? loaded.ledger.get(key),
  putEntry: ({ changes }, key, entry) => void changes.ledger.set(key, entry),
  addPastEntry: ({ changes }, key, entry) => void changes.pastLedger.set(`${key} ${entry.generation}`, entry),
  findDeadLetter: ({ changes, loaded }, key) => changes.deadLetters.get(key) ?? loaded.deadLetters.get(key),
  putDeadLetter: ({ changes }, key, row) => void changes.deadLetters.set(key, row),
  findFailure: ({ changes, loaded }, key) => changes.failures.get(key) ?? loaded.failures.get(key),
  putFailure: ({ changes }, key, row) => void changes.failures.set(key, row),
  findEscalation,
  findRaised: (view, cause) => findRaised(view, view.tenant, cause),
  putEscalation: ({ changes }, key, row) => void changes.escalations.set(key, row),
  findInstance: ({ changes, loaded }, key) => changes.instances.get(key) ?? loaded.instances.get(key),
  putInstance: ({ changes }, key, row) => void changes.instances.set(key, row),
  addHistory: ({ changes, tenant }, row) => void changes.history.push({ ...row, tenant }),
  putCorrelation: ({ changes }, key, row) => void changes.correlations.set(key, row),
  deleteCorrelation({ changes, loaded, tenant }, key, name) {
    if (loaded.correlations.has(key))
      changes.correlations.set(key, { tenant, key: name, version: 0, body: null })
  },
  findOrphan: ({ changes, loaded }, key) => changes.orphans.get(key) ?? loaded.orphans.get(key),
  putOrphan: ({ changes }, key, row) => void changes.orphans.set(key, row),
  // The statement keeps the properties that a run started with, so no run is read before it is written.
  findRun: () => undefined,
  putRun: ({ changes }, key, row) => void changes.runs.set(key, row),
  putRecord: ({ changes }, key, row) => void changes.records.set(key, row),
  deleteRecord({ changes, loaded, tenant }, key, kind, name) {
    if (loaded.records.has(key)) changes.records.set(key, { tenant, kind, key: name, version: 0, body: null })
  },
  addFact: ({ changes }, _key, row) => void changes.facts.push(row),
  addOutboxRow: ({ changes, loaded, tenant }, row) =>
    void changes.outbox.push({ ...row, tenant, createdAt: loaded.now }),
  deleteOutboxRow: ({ changes, tenant }, position) => void changes.told.push({ tenant, position }),
}
