// Which commits can be executed optimistically, and the parameters of that call. Pure.
//
// A commit qualifies if each of its guards names a row that it also writes, or a job's lease, and if each write is one
// of the frequent ones: events, jobs outside of lanes, ledger entries, attempts, outbox, facts. Everything else is executed
// with locks, which is always correct.

import type { Buffer } from 'node:buffer'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { Commit, CommitResult, Guard, Write } from '../../../ports/store.ts'
import { BindMessage } from '../bind-message.ts'
import type { ColumnType } from '../parameters.ts'
import { digestKey } from './keys.ts'
import {
  ADD_PARAMETERS,
  APPEND_PARAMETERS,
  ATTEMPT_PARAMETERS,
  ENTRY_PARAMETERS,
  FACT_PARAMETERS,
  LEASE_PARAMETERS,
  OPTIMISTIC_PARAMETERS,
  OUTBOX_PARAMETERS,
  RESULT_PARAMETERS,
  SETTLE_PARAMETERS,
} from './optimistic-sql.ts'

type Of<W extends Write['w']> = Extract<Write, { w: W }>
type Lease = Extract<Guard, { g: 'lease' }>
type EntryGuard = Extract<Guard, { g: 'ledger' }>
type Placed<Row> = Row & { readonly tenant: TenantId }
type Keyed<Row> = Placed<Row> & { readonly joined: string; readonly hash: Buffer }

interface Append extends Keyed<object> {
  readonly write: Of<'event.append'>
}
interface Settle extends Placed<object> {
  readonly lease: Lease
  readonly write: Of<'work.settle'> | Of<'work.again'>
}
interface Entry extends Keyed<object> {
  readonly write: Of<'ledger.done'> | Of<'ledger.reserve'>
}
interface Result extends Keyed<object> {
  readonly guard: EntryGuard
  readonly write: Of<'ledger.settle'>
}

/** The rows of a group by what happens to them. */
export interface Expected {
  readonly owners: Set<number>
  readonly appends: Append[]
  readonly adds: Placed<{ readonly write: Of<'work.add'> }>[]
  readonly settles: Settle[]
  readonly leases: Placed<{ readonly lease: Lease }>[]
  readonly entries: Entry[]
  readonly results: Result[]
  readonly attempts: Placed<{ readonly write: Of<'attempt.append'> }>[]
  readonly facts: Placed<{ readonly fact: Of<'fact.add'>['fact'] }>[]
  readonly outbox: Placed<{ readonly row: Of<'outbox.add'>['rows'][number] }>[]
}

/** Whether all that the commit reads and writes is covered by the function. */
export function isOptimistic({ tenant, guards, writes }: Commit, laneless: ReadonlySet<string>): boolean {
  for (const guard of guards) if (!isGuardCovered(guard, writes)) return false
  for (const write of writes) if (!isWriteCovered(tenant, write, guards, writes, laneless)) return false
  return writes.length > 0 && settlesOnce(writes)
}

/** A call settles each job once. */
function settlesOnce(writes: readonly Write[]): boolean {
  const settles = writes.filter(isSettle)
  return settles.length < 2 || new Set(settles.map(({ work }) => work)).size === settles.length
}

function isGuardCovered(guard: Guard, writes: readonly Write[]): boolean {
  switch (guard.g) {
    case 'lease':
      return true
    case 'dedup':
      return writes.some(
        (write) =>
          write.w === 'event.append' &&
          write.event.source === guard.source &&
          write.event.dedupKey === guard.key,
      )
    case 'unreserved':
      return writes.some((write) => isNewEntry(write) && write.entry.key === guard.key)
    case 'ledger':
      return writes.some((write) => write.w === 'ledger.settle' && write.key === guard.key)
    default:
      return false
  }
}

function isWriteCovered(
  tenant: TenantId,
  write: Write,
  guards: readonly Guard[],
  writes: readonly Write[],
  laneless: ReadonlySet<string>,
): boolean {
  switch (write.w) {
    case 'event.append':
    case 'fact.add':
    case 'outbox.add':
      return true
    case 'work.add': {
      const { work } = write
      if (work.lane !== undefined || write.inPlaceOf !== undefined) return false
      return writes.some((other) => other.w === 'event.append' && other.event.id === work.eventId)
    }
    case 'work.settle':
      if (write.place !== undefined || write.laneVersion !== undefined || write.into !== undefined)
        return false
      return hasLease(guards, write.work) && laneless.has(joinKey(tenant, write.work))
    case 'work.again':
      return hasLease(guards, write.work) && laneless.has(joinKey(tenant, write.work))
    case 'attempt.append':
      return hasLease(guards, write.work)
    case 'ledger.done':
    case 'ledger.reserve':
      return guards.some((guard) => guard.g === 'unreserved' && guard.key === write.entry.key)
    case 'ledger.settle':
      return guards.some((guard) => guard.g === 'ledger' && guard.key === write.key)
    default:
      return false
  }
}

function isNewEntry(write: Write): write is Of<'ledger.done'> | Of<'ledger.reserve'> {
  return write.w === 'ledger.done' || write.w === 'ledger.reserve'
}

const hasLease = (guards: readonly Guard[], work: string) =>
  guards.some((guard) => guard.g === 'lease' && guard.work === work)

export function expect(commits: readonly Commit[]): Expected {
  const expected: Expected = {
    owners: new Set(),
    appends: [],
    adds: [],
    settles: [],
    leases: [],
    entries: [],
    results: [],
    attempts: [],
    facts: [],
    outbox: [],
  }
  for (const commit of commits) addCommit(expected, commit)
  // Nodes that meet at a key or a job take them in the same order.
  expected.appends.sort(byKey)
  expected.entries.sort(byKey)
  expected.results.sort(byKey)
  expected.settles.sort((a, b) => (a.write.work < b.write.work ? -1 : 1))
  expected.leases.sort((a, b) => (a.lease.work < b.lease.work ? -1 : 1))
  return expected
}

const byKey = (a: { readonly joined: string }, b: { readonly joined: string }) =>
  a.joined < b.joined ? -1 : 1

function addCommit(expected: Expected, { tenant, guards, writes }: Commit): void {
  for (const guard of guards) {
    if (guard.g !== 'lease') continue
    expected.owners.add(guard.owner)
    const write = writes.find((one) => isSettle(one) && one.work === guard.work)
    if (write !== undefined) expected.settles.push({ tenant, lease: guard, write: write as Settle['write'] })
    else expected.leases.push({ tenant, lease: guard })
  }
  for (const write of writes) {
    switch (write.w) {
      case 'event.append': {
        const joined = joinKey(tenant, write.event.source, write.event.dedupKey)
        expected.appends.push({ tenant, joined, hash: digestKey(joined), write })
        break
      }
      case 'work.add':
        if (write.lease !== null) expected.owners.add(write.lease)
        expected.adds.push({ tenant, write })
        break
      case 'ledger.done':
      case 'ledger.reserve': {
        const joined = joinKey(tenant, write.entry.key)
        expected.entries.push({ tenant, joined, hash: digestKey(joined), write })
        break
      }
      case 'ledger.settle': {
        const joined = joinKey(tenant, write.key)
        const guard = guards.find((one) => one.g === 'ledger' && one.key === write.key) as EntryGuard
        expected.results.push({ tenant, joined, hash: digestKey(joined), guard, write })
        break
      }
      case 'attempt.append':
        expected.attempts.push({ tenant, write })
        break
      case 'fact.add':
        expected.facts.push({ tenant, fact: write.fact })
        break
      case 'outbox.add':
        for (const row of write.rows) expected.outbox.push({ tenant, row })
        break
      default:
        break
    }
  }
}

function isSettle(write: Write): write is Settle['write'] {
  return write.w === 'work.settle' || write.w === 'work.again'
}

/** As the store will report them if the call returns an instant. */
export function expectedResults(commits: readonly Commit[], at: number): CommitResult[] {
  return commits.map(({ writes }) => {
    const leased = []
    for (const write of writes) if (write.w === 'work.add' && write.lease !== null) leased.push(write.work.id)
    return { ok: true, at, leased }
  })
}

/** The Bind message of the call: its parameters in the order of the function. `spare` is memory to write it into. */
export function bindOptimistic(
  statement: string,
  groupId: string,
  expected: Expected,
  spare?: Buffer,
): { readonly bind: Buffer; readonly bytes: Buffer } {
  const message = new BindMessage(statement, OPTIMISTIC_PARAMETERS, spare)
  const owners = [...expected.owners].sort((a, b) => a - b)
  message.uuid(groupId)
  message.column('int8', owners, (owner) => owner)
  const add = <Row>(rows: readonly Row[], columns: Columns<Row>) => {
    for (const { type, valueIn } of columns) message.column(type, rows, valueIn)
  }
  add(expected.appends, APPEND)
  add(expected.adds, ADD)
  add(expected.settles, SETTLE)
  add(expected.leases, LEASE)
  add(expected.entries, ENTRY)
  add(expected.results, RESULT)
  add(expected.attempts, ATTEMPT)
  add(expected.outbox, OUTBOX)
  add(expected.facts, FACT)
  return { bind: message.end(), bytes: message.bytes }
}

type Columns<Row> = readonly { readonly type: ColumnType; valueIn(row: Row): unknown }[]

function makeColumns<Row, Names extends Readonly<Record<string, ColumnType>>>(
  parameters: Names,
  values: { readonly [Name in keyof Names]: (row: Row) => unknown },
): Columns<Row> {
  return Object.entries(parameters).map(([name, type]) => ({ type, valueIn: values[name as keyof Names] }))
}

const APPEND = makeColumns<Append, typeof APPEND_PARAMETERS>(APPEND_PARAMETERS, {
  e_tenant: ({ tenant }) => tenant,
  e_id: ({ write }) => write.event.id,
  e_source: ({ write }) => write.event.source,
  e_subject: ({ write }) => write.event.subject,
  e_object_type: ({ write }) => write.event.objectType,
  e_object_id: ({ write }) => write.event.objectId,
  e_occurred_at: ({ write }) => write.event.occurredAt,
  e_correlation_id: ({ write }) => write.event.correlationId,
  e_causation_id: ({ write }) => write.event.causationId,
  e_trace_id: ({ write }) => write.event.traceId,
  e_dedup_key: ({ write }) => write.event.dedupKey,
  e_payload_hash: ({ write }) => write.event.payloadHash,
  e_headers: ({ write }) => write.event.headers,
  e_data: ({ write }) => write.event.data,
  e_matched: ({ write }) => write.event.matched,
  e_raw: ({ write }) => write.event.raw,
  e_dedup_hash: ({ hash }) => hash,
  e_dedup_for: ({ write }) => Math.ceil(write.dedupForMs),
})

const ADD = makeColumns<Expected['adds'][number], typeof ADD_PARAMETERS>(ADD_PARAMETERS, {
  w_tenant: ({ tenant }) => tenant,
  w_id: ({ write }) => write.work.id,
  w_kind: ({ write }) => write.work.kind,
  w_consumer: ({ write }) => write.work.consumer,
  w_definition: ({ write }) => write.work.definition,
  w_code_hash: ({ write }) => write.work.codeHash,
  w_event_id: ({ write }) => write.work.eventId,
  w_owner: ({ write }) => write.lease,
  w_due_in: ({ write }) => Math.ceil(write.delayMs),
  w_expires_in: ({ write }) => Math.ceil(write.work.expiresInMs),
  w_replay_of: ({ write }) => write.work.replayOf,
  w_element: ({ write }) => write.work.element,
  w_generation: ({ write }) => write.work.generation ?? 1,
  w_instance: ({ write }) => write.work.instance,
  w_step: ({ write }) => write.work.step,
})

const SETTLE = makeColumns<Settle, typeof SETTLE_PARAMETERS>(SETTLE_PARAMETERS, {
  s_tenant: ({ tenant }) => tenant,
  s_id: ({ write }) => write.work,
  s_owner: ({ lease }) => lease.owner,
  s_epoch: ({ lease }) => lease.epoch,
  s_state: ({ write }) => (write.w === 'work.settle' ? write.to : 'ready'),
  s_due_in: ({ write }) => (write.w === 'work.settle' ? null : Math.ceil(write.delayMs)),
  s_expires_in: ({ write }) =>
    write.w === 'work.settle' || write.expiresInMs === undefined ? null : Math.ceil(write.expiresInMs),
  s_attempts: ({ write }) => write.counters.attempts,
  s_waits: ({ write }) => write.counters.waits,
  s_losses: ({ write }) => write.counters.losses,
  s_key: ({ write }) => write.note.key,
  s_class: ({ write }) => write.note.class,
  s_last_error: ({ write }) => write.note.lastError,
  s_effect_ref: ({ write }) => write.note.effectRef,
  s_http_status: ({ write }) => write.note.httpStatus,
  s_duration_ms: ({ write }) => write.note.durationMs,
})

const LEASE = makeColumns<Expected['leases'][number], typeof LEASE_PARAMETERS>(LEASE_PARAMETERS, {
  g_tenant: ({ tenant }) => tenant,
  g_id: ({ lease }) => lease.work,
  g_owner: ({ lease }) => lease.owner,
  g_epoch: ({ lease }) => lease.epoch,
})

const ENTRY = makeColumns<Entry, typeof ENTRY_PARAMETERS>(ENTRY_PARAMETERS, {
  l_hash: ({ hash }) => hash,
  l_tenant: ({ tenant }) => tenant,
  l_key: ({ write }) => write.entry.key,
  l_work: ({ write }) => write.entry.work,
  l_epoch: ({ write }) => write.entry.epoch,
  l_consumer: ({ write }) => write.entry.consumer,
  l_event_id: ({ write }) => write.entry.eventId,
  l_object_id: ({ write }) => write.entry.objectId,
  l_payload_hash: ({ write }) => write.entry.payloadHash,
  l_correlation_id: ({ write }) => write.entry.correlationId,
  l_generation: ({ write }) => write.entry.generation ?? 1,
  l_send_in: ({ write }) => (write.w === 'ledger.done' ? null : Math.ceil(write.sendWithinMs)),
  l_effect_ref: ({ write }) => (write.w === 'ledger.done' ? write.effectRef : null),
  l_result: ({ write }) => (write.w === 'ledger.done' ? write.result : null),
})

const RESULT = makeColumns<Result, typeof RESULT_PARAMETERS>(RESULT_PARAMETERS, {
  r_hash: ({ hash }) => hash,
  r_tenant: ({ tenant }) => tenant,
  r_key: ({ write }) => write.key,
  r_work: ({ guard }) => guard.work,
  r_epoch: ({ guard }) => guard.epoch,
  r_before: ({ guard }) => guard.state,
  r_state: ({ write }) => write.to,
  r_proof: ({ write }) => write.proof,
  r_effect_ref: ({ write }) => write.effectRef,
  r_result: ({ write }) => write.result,
})

const ATTEMPT = makeColumns<Expected['attempts'][number], typeof ATTEMPT_PARAMETERS>(ATTEMPT_PARAMETERS, {
  a_tenant: ({ tenant }) => tenant,
  a_work: ({ write }) => write.work,
  a_number: ({ write }) => write.attempt.number,
  a_started_at: ({ write }) => write.attempt.startedAt,
  a_duration_ms: ({ write }) => write.attempt.durationMs,
  a_outcome: ({ write }) => write.attempt.outcome,
  a_class: ({ write }) => write.attempt.class,
  a_http_status: ({ write }) => write.attempt.httpStatus,
  a_error: ({ write }) => write.attempt.error,
  a_response: ({ write }) => write.attempt.response,
})

const OUTBOX = makeColumns<Expected['outbox'][number], typeof OUTBOX_PARAMETERS>(OUTBOX_PARAMETERS, {
  o_tenant: ({ tenant }) => tenant,
  o_id: ({ row }) => row.id,
  o_subject: ({ row }) => row.subject,
  o_about: ({ row }) => row.about,
  o_event: ({ row }) => row.event,
  o_body: ({ row }) => row.body,
})

const FACT = makeColumns<Expected['facts'][number], typeof FACT_PARAMETERS>(FACT_PARAMETERS, {
  f_tenant: ({ tenant }) => tenant,
  f_id: ({ fact }) => fact.id,
  f_body: ({ fact }) => fact.body,
})
