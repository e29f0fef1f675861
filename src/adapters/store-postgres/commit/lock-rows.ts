// The first round trip of a group: the rows that it names, locked in one order, and how they are read.

import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { Incarnation } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Answer } from '../batch.ts'
import { prepare, type Statement } from '../connection.ts'
import { Overtaken } from '../errors.ts'
import { makeArray } from '../parameters.ts'
import { ESCALATION, makeArrays, RECORD, WORK } from '../tables.ts'
import type { Loaded } from './changes.ts'
import { type GroupSql, pick, RECORD_KEYS, ROW_KEYS } from './commit-sql.ts'
import { hashKey, laneKey, type RowKeys } from './keys.ts'

/** How rows are named, whatever the table. */
const ROWS = pick(WORK, ROW_KEYS)
const CAUSES = pick(ESCALATION, ['tenant', 'cause'])
const RECORDS = pick(RECORD, RECORD_KEYS)

/** BEGIN, the necessary locks, and the clock last: waiting for a lock takes time. */
export function loadStatements(sql: GroupSql, keys: RowKeys): Statement[] {
  const statements = [prepare('BEGIN')]
  if (keys.owners.size > 0) {
    const owners = makeArray(
      'int8',
      [...keys.owners].sort((a, b) => a - b),
    )
    statements.push(prepare(sql.shareOwners, [owners]), prepare(sql.owners, [owners]))
  }
  const named = makeArrays(ROWS, [...keys.work.values()])
  if (hasLanes(keys)) {
    const movers = makeArrays(ROWS, [...keys.movers.values()])
    const steps = makeArray('uuid', keys.laneSteps.map(hashKey))
    statements.push(
      prepare(sql.lockLanes, [...movers, steps]),
      prepare(sql.lockWorkInLanes, [...named, ...movers, steps]),
    )
  } else if (keys.work.size > 0) statements.push(prepare(sql.lockWork, named))
  if (keys.events.size > 0) {
    statements.push(prepare(sql.lockEvents, makeArrays(ROWS, [...keys.events.values()])))
  }
  if (keys.dedup.size > 0) {
    statements.push(prepare(sql.lockDedup, [makeArray('uuid', [...keys.dedup].map(hashKey))]))
  }
  if (keys.ledger.size > 0) {
    statements.push(prepare(sql.lockLedger, [makeArray('uuid', [...keys.ledger].map(hashKey))]))
  }
  if (keys.deadLetters.size > 0) {
    const rows = [...keys.deadLetters.values()]
    statements.push(prepare(sql.lockDeadLetters, makeArrays(ROWS, rows)))
  }
  if (keys.failures.size > 0) {
    const rows = [...keys.failures.values()]
    statements.push(prepare(sql.lockFailures, makeArrays(ROWS, rows)))
  }
  if (keys.escalations.size + keys.causes.size > 0) {
    const ids = makeArrays(ROWS, [...keys.escalations.values()])
    const causes = makeArrays(CAUSES, [...keys.causes.values()])
    statements.push(prepare(sql.lockEscalations, [...ids, ...causes]))
  }
  if (keys.instances.size > 0) {
    const rows = [...keys.instances.values()]
    statements.push(prepare(sql.lockInstances, makeArrays(ROWS, rows)))
  }
  if (keys.correlations.size > 0) {
    statements.push(prepare(sql.lockCorrelations, [makeArray('uuid', [...keys.correlations].map(hashKey))]))
  }
  if (keys.orphans.size > 0) {
    const rows = [...keys.orphans.values()]
    statements.push(prepare(sql.lockOrphans, makeArrays(ROWS, rows)))
  }
  if (keys.records.size > 0) {
    statements.push(prepare(sql.lockRecords, makeArrays(RECORDS, [...keys.records.values()])))
  }
  statements.push(prepare(sql.now))
  return statements
}

/** Whether a job enters or leaves a lane, as far as the group can tell before it has read its rows. */
function hasLanes({ movers, laneSteps }: RowKeys): boolean {
  return movers.size + laneSteps.length > 0
}

/** Reads the results in the order of `loadStatements`. */
export function readLoaded(keys: RowKeys, answers: readonly Answer[]): Loaded {
  let next = 1
  const rowsOf = (size: number) => (size > 0 ? (answers[next++]?.rows ?? []) : [])
  if (keys.owners.size > 0) next += 1
  const owners = rowsOf(keys.owners.size)
  const lanes = rowsOf(hasLanes(keys) ? 1 : 0)
  const work = rowsOf(hasLanes(keys) ? 1 : keys.work.size)
  const events = rowsOf(keys.events.size)
  const dedup = rowsOf(keys.dedup.size)
  const ledger = rowsOf(keys.ledger.size)
  const deadLetters = rowsOf(keys.deadLetters.size)
  const failures = rowsOf(keys.failures.size)
  const escalations = rowsOf(keys.escalations.size + keys.causes.size)
  const instances = rowsOf(keys.instances.size)
  const correlations = rowsOf(keys.correlations.size)
  const orphans = rowsOf(keys.orphans.size)
  const records = rowsOf(keys.records.size)
  const lanesByKey = new Map(lanes.map((row) => [laneKey(row.tenant, row.consumer, row.key), row]))
  const workByKey = new Map(work.map((row) => [joinKey(row.tenant, row.id), row]))
  for (const key of keys.movers.keys()) {
    const row = workByKey.get(key)
    const isIn = row !== undefined && (row.hasPlace || row.state === 'waiting')
    if (isIn && !lanesByKey.has(laneKey(row.tenant, row.consumer, row.lane))) {
      throw new Overtaken('an item came into its lane after the lanes were locked')
    }
  }
  const dedupKeys = new Map([...keys.dedup].map((key) => [hashKey(key).toString('hex'), key]))
  return {
    now: answers[next]?.rows[0].now,
    owners: new Map(owners.map((row) => [row.id as Incarnation, row])),
    work: workByKey,
    lanes: lanesByKey,
    events: new Set(events.map((row) => joinKey(row.tenant, row.id))),
    dedup: new Map(dedup.map((row) => [dedupKeys.get(row.hash.replaceAll('-', '')) ?? '', row])),
    ledger: new Map(ledger.map((row) => [joinKey(row.tenant, row.key), readLedgerEntry(row)])),
    deadLetters: new Map(deadLetters.map((row) => [joinKey(row.tenant, row.id), row])),
    failures: new Map(failures.map((row) => [joinKey(row.tenant, row.id), row])),
    escalations: new Map(escalations.map((row) => [joinKey(row.tenant, row.id), row])),
    instances: new Map(instances.map((row) => [joinKey(row.tenant, row.id), row])),
    correlations: new Map(correlations.map((row) => [joinKey(row.tenant, row.key), row])),
    orphans: new Map(orphans.map((row) => [joinKey(row.tenant, row.id), row])),
    records: new Map(records.map((row) => [joinKey(row.tenant, row.kind, row.key), row])),
  }
}

export function readLedgerEntry({ hash: _, evidence, ...entry }: Record<string, unknown>): LedgerEntry {
  return { ...entry, evidence: JSON.parse(evidence as string) } as unknown as LedgerEntry
}
