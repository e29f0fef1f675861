// The rows that a commit reads or changes, by key. Pure.
//
// Two commits that touch a common key are never in one group nor in two concurrent groups, so the commits of a group do
// not see each other, and checking all of them before writing any is the same as executing them one by one.

import type { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { unreachable } from '../../../core/foundation/errors/index.ts'
import type { Incarnation, TenantId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Commit, Guard, Write } from '../../../ports/store.ts'

export function laneKey(tenant: TenantId, consumer: string, key: string): string {
  return joinKey(tenant, consumer, key)
}

const HASHES_MAX = 4_096
const hashes = new Map<string, Buffer>()

/**
 * 16 bytes of SHA-256. The ledger compares the whole key on a hit; for dedup windows a collision needs about 2^64 keys.
 */
export function digestKey(joined: string): Buffer {
  return hash('sha256', joined, 'buffer').subarray(0, 16)
}

export function hashKey(joined: string): Buffer {
  // A group with locks needs each of its keys three times: to lock, to read and to write.
  const before = hashes.get(joined)
  if (before !== undefined) return before
  const made = digestKey(joined)
  if (hashes.size >= HASHES_MAX) hashes.clear()
  hashes.set(joined, made)
  return made
}

export interface RowKeys {
  /** Known to be in no lane, by `joinKey` of tenant and id. A job's lane never changes. */
  readonly laneless: ReadonlySet<string>
  readonly owners: Set<Incarnation>
  readonly work: Map<string, { readonly tenant: TenantId; readonly id: string }>
  /** Those that have to exist, and stay, for the group's commits. */
  readonly events: Map<string, { readonly tenant: TenantId; readonly id: string }>
  readonly dedup: Set<string>
  readonly ledger: Set<string>
  readonly deadLetters: Map<string, { readonly tenant: TenantId; readonly id: string }>
  readonly failures: Map<string, { readonly tenant: TenantId; readonly id: string }>
  readonly escalations: Map<string, { readonly tenant: TenantId; readonly id: string }>
  /** Causes whose raised escalation is needed. */
  readonly causes: Map<string, { readonly tenant: TenantId; readonly cause: string }>
  readonly instances: Map<string, { readonly tenant: TenantId; readonly id: string }>
  readonly correlations: Set<string>
  readonly orphans: Map<string, { readonly tenant: TenantId; readonly id: string }>
  readonly records: Map<string, { readonly tenant: TenantId; readonly kind: string; readonly key: string }>
  /** Written without being read, so only touched. */
  readonly runs: Set<string>
  /** Jobs that may enter or leave their lane; only their rows say which lane that is. */
  readonly movers: Map<string, { readonly tenant: TenantId; readonly id: string }>
  /** Lanes that new jobs enter or leave, once per step: each time a waiting job may get a position. */
  readonly laneSteps: string[]
  /** Created by the group itself: touched, but not stored yet. With the lane, if it has one. */
  readonly added: Map<string, string | null>
  readonly addedEvents: Set<string>
}

const NO_ITEMS: ReadonlySet<string> = new Set()

const makeRowKeys = (laneless: ReadonlySet<string>): RowKeys => ({
  laneless,
  owners: new Set(),
  work: new Map(),
  events: new Map(),
  dedup: new Set(),
  ledger: new Set(),
  deadLetters: new Map(),
  failures: new Map(),
  escalations: new Map(),
  causes: new Map(),
  instances: new Map(),
  correlations: new Set(),
  orphans: new Map(),
  records: new Map(),
  runs: new Set(),
  movers: new Map(),
  laneSteps: [],
  added: new Map(),
  addedEvents: new Set(),
})

/**
 * Every row that the group must lock and see before it decides. `laneless` are jobs that are known to be in no lane.
 */
export function collectKeys(commits: readonly Commit[], laneless: ReadonlySet<string> = NO_ITEMS): RowKeys {
  const keys = makeRowKeys(laneless)
  for (const commit of commits) addKeys(keys, commit)
  return keys
}

function addKeys(keys: RowKeys, { tenant, guards, writes }: Commit): void {
  for (const guard of guards) addGuard(keys, tenant, guard)
  for (const write of writes) addWrite(keys, tenant, write)
}

/** Empty between two calls: every commit would otherwise create eighteen of them. */
const scratch = makeRowKeys(NO_ITEMS)
/** Listed once: to list them for each commit cost more than to find its keys. */
const { laneless: _, laneSteps: __, ...named } = scratch
const scratchParts = Object.values(named)

function clearScratch(): void {
  scratch.laneSteps.length = 0
  for (const part of scratchParts) if (part.size > 0) part.clear()
}

/**
 * The same as texts, for the gatherer. Owners are left out: commits only read them. So are lanes and escalations, which
 * many commits of one group share: those are executed one after the other (decide.ts).
 */
export function touchesOf(commit: Commit): readonly string[] {
  const keys = scratch
  addKeys(keys, commit)
  const touches: string[] = []
  for (const key of keys.work.keys()) touches.push(`work ${key}`)
  for (const key of keys.added.keys()) if (!keys.work.has(key)) touches.push(`work ${key}`)
  for (const key of keys.events.keys()) touches.push(`event ${key}`)
  for (const key of keys.addedEvents) touches.push(`event ${key}`)
  for (const key of keys.dedup) touches.push(`dedup ${key}`)
  for (const key of keys.ledger) touches.push(`ledger ${key}`)
  for (const key of keys.deadLetters.keys()) touches.push(`deadLetter ${key}`)
  for (const key of keys.failures.keys()) touches.push(`failure ${key}`)
  for (const key of keys.instances.keys()) touches.push(`instance ${key}`)
  for (const key of keys.correlations) touches.push(`correlation ${key}`)
  for (const key of keys.orphans.keys()) touches.push(`orphan ${key}`)
  for (const key of keys.records.keys()) touches.push(`record ${key}`)
  for (const key of keys.runs) touches.push(`run ${key}`)
  clearScratch()
  return touches
}

function addWork(keys: RowKeys, tenant: TenantId, id: string): void {
  const key = joinKey(tenant, id)
  if (!keys.added.has(key)) keys.work.set(key, { tenant, id })
}

/** A job that is settled, retried or moved in its lane. */
function addMover(keys: RowKeys, tenant: TenantId, id: string): void {
  const key = joinKey(tenant, id)
  const lane = keys.added.get(key)
  if (lane != null) keys.laneSteps.push(lane)
  if (lane !== undefined) return
  keys.work.set(key, { tenant, id })
  if (!keys.laneless.has(key)) keys.movers.set(key, { tenant, id })
}

function addEvent(keys: RowKeys, tenant: TenantId, id: string): void {
  const key = joinKey(tenant, id)
  if (!keys.addedEvents.has(key)) keys.events.set(key, { tenant, id })
}

function addRecord(keys: RowKeys, tenant: TenantId, kind: string, key: string): void {
  keys.records.set(joinKey(tenant, kind, key), { tenant, kind, key })
}

function addGuard(keys: RowKeys, tenant: TenantId, guard: Guard): void {
  switch (guard.g) {
    case 'lease':
      keys.owners.add(guard.owner)
      addWork(keys, tenant, guard.work)
      break
    case 'work':
      addWork(keys, tenant, guard.work)
      break
    case 'dedup':
      keys.dedup.add(joinKey(tenant, guard.source, guard.key))
      break
    case 'unreserved':
    case 'ledger':
      keys.ledger.add(joinKey(tenant, guard.key))
      break
    case 'version':
      addVersioned(keys, tenant, guard)
      break
    default:
      unreachable(guard)
  }
}

function addVersioned(keys: RowKeys, tenant: TenantId, guard: Extract<Guard, { g: 'version' }>): void {
  const key = joinKey(tenant, guard.key)
  const named = { tenant, id: guard.key }
  switch (guard.of) {
    case 'deadLetter':
      keys.deadLetters.set(key, named)
      break
    case 'escalation':
      keys.escalations.set(key, named)
      break
    case 'instance':
      keys.instances.set(key, named)
      break
    case 'correlation':
      keys.correlations.add(key)
      break
    case 'orphan':
      keys.orphans.set(key, named)
      break
    default:
      addRecord(keys, tenant, guard.of, guard.key)
  }
}

function addWrite(keys: RowKeys, tenant: TenantId, write: Write): void {
  switch (write.w) {
    case 'event.append':
      keys.dedup.add(joinKey(tenant, write.event.source, write.event.dedupKey))
      keys.addedEvents.add(joinKey(tenant, write.event.id))
      break
    case 'event.repeat':
    case 'event.match':
      addEvent(keys, tenant, write.event)
      break
    case 'work.add':
      addNewWork(keys, tenant, write)
      break
    case 'work.settle':
      addMover(keys, tenant, write.work)
      if (typeof write.place === 'object') addMover(keys, tenant, write.place.to)
      break
    case 'work.again':
    case 'lane.leave':
      addMover(keys, tenant, write.work)
      break
    case 'attempt.append':
      addWork(keys, tenant, write.work)
      break
    case 'ledger.reserve':
    case 'ledger.done':
      keys.ledger.add(joinKey(tenant, write.entry.key))
      break
    case 'ledger.settle':
    case 'ledger.observe':
      keys.ledger.add(joinKey(tenant, write.key))
      break
    case 'deadLetter.put':
      keys.deadLetters.set(joinKey(tenant, write.row.id), { tenant, id: write.row.id })
      break
    case 'failure.put':
      keys.failures.set(joinKey(tenant, write.row.id), { tenant, id: write.row.id })
      break
    case 'escalation.raise': {
      const { cause } = write.row
      keys.causes.set(joinKey(tenant, cause), { tenant, cause })
      break
    }
    case 'escalation.change':
      keys.escalations.set(joinKey(tenant, write.id), { tenant, id: write.id })
      break
    case 'instance.put':
      keys.instances.set(joinKey(tenant, write.row.id), { tenant, id: write.row.id })
      break
    case 'history.append':
      break
    case 'correlation.put':
    case 'correlation.delete':
      keys.correlations.add(joinKey(tenant, write.key))
      break
    case 'orphan.put':
      keys.orphans.set(joinKey(tenant, write.row.id), { tenant, id: write.row.id })
      break
    case 'run.put':
      keys.runs.add(joinKey(tenant, write.row.id))
      break
    case 'record.put':
    case 'record.delete':
      addRecord(keys, tenant, write.kind, write.key)
      break
    // Its id is made for it alone: no other commit touches it.
    case 'fact.add':
    case 'outbox.add':
    case 'outbox.delete':
      break
    default:
      unreachable(write)
  }
}

function addNewWork(keys: RowKeys, tenant: TenantId, write: Extract<Write, { w: 'work.add' }>): void {
  const { work, lease, inPlaceOf } = write
  if (lease !== null) keys.owners.add(lease)
  const lane = work.lane === undefined ? null : laneKey(tenant, work.consumer, work.lane.key)
  keys.added.set(joinKey(tenant, work.id), lane)
  addEvent(keys, tenant, work.eventId)
  if (lane === null) return
  keys.laneSteps.push(lane)
  if (inPlaceOf !== undefined) addMover(keys, tenant, inPlaceOf)
}
