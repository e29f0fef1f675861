// Reads: a tenant's own rows by keyset pages, and the few reads that cross tenants.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import { groupByCause } from '../../core/failures/dead-letter/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { WorkRow, WorkState } from '../../core/queue/work/index.ts'
import { WORK_STATES } from '../../core/queue/work/index.ts'
import type { StoreDump, StoreOverview, SystemReads, TenantReads } from '../../ports/store.ts'
import { GROUPED_DEAD_LETTERS_MAX, GROUPS_MAX, OVERVIEW_COUNT_MAX } from '../../ports/store.ts'
import { countInstances, findInstances, workOfInstance } from './instances.ts'
import { waitingRows } from './lanes.ts'
import { eventsOf, outboxRows } from './outbox.ts'
import { byId, ownRows, page } from './pages.ts'
import { searchEvents, searchWork, toSummary } from './search.ts'
import { compareText, findWork, laneKey, type MemoryState } from './state.ts'

type Open = () => void

export function makeTenantReads(state: MemoryState, tenant: TenantId, assertOpen: Open): TenantReads {
  return {
    async event(id) {
      assertOpen()
      const row = state.events.get(id)
      return row?.tenant === tenant ? row : null
    },
    async events(query) {
      assertOpen()
      return searchEvents(state, tenant, query)
    },
    async eventsAfter({ after, below, limit }) {
      assertOpen()
      const rows = ownRows(state.events, tenant).filter(
        ({ id }) => compareText(id, after) > 0 && compareText(id, below) < 0,
      )
      return sortedBy(rows, 'id').slice(0, limit).map(toSummary)
    },
    async facts({ after, below, limit, order }) {
      assertOpen()
      const rows = ownRows(state.facts, tenant).filter(
        ({ id }) => compareText(id, after) > 0 && compareText(id, below) < 0,
      )
      const sorted = sortedBy(rows, 'id')
      return (order === 'oldest' ? sorted : sorted.reverse()).slice(0, limit)
    },
    async causedBy(id, limit) {
      assertOpen()
      const rows = ownRows(state.events, tenant).filter((row) => row.causationId === id)
      return sortedBy(rows, 'id').slice(0, limit).map(toSummary)
    },
    async work(id) {
      assertOpen()
      return findWork(state, tenant, id) ?? null
    },
    async workOfEvent(id) {
      assertOpen()
      return workOfEvent(state, tenant, id)
    },
    async workOfEvents(ids) {
      assertOpen()
      return [...new Set(ids)].sort(compareText).flatMap((id) => workOfEvent(state, tenant, id))
    },
    async workList(query) {
      assertOpen()
      return searchWork(state, tenant, query)
    },
    async openCounts(consumers, cap) {
      assertOpen()
      const rows = ownRows(state.work, tenant)
      return consumers.map((consumer) => {
        const count = (name: WorkState) =>
          Math.min(cap, rows.filter((row) => row.consumer === consumer && row.state === name).length)
        return { consumer, ready: count('ready'), waiting: count('waiting'), leased: count('leased') }
      })
    },
    async openTotal(cap) {
      assertOpen()
      const jobs = ownRows(state.work, tenant).filter((row) => OPEN.has(row.state))
      const letters = ownRows(state.deadLetters, tenant).filter((row) => row.state === 'open')
      return Math.min(cap, jobs.length + letters.length)
    },
    async workMerged(into) {
      assertOpen()
      const rows = ownRows(state.work, tenant).filter((row) => row.into === into)
      return rows.sort((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id))
    },
    async lane(consumer, key) {
      assertOpen()
      const row = state.lanes.get(laneKey(tenant, consumer, key))
      if (row === undefined) return null
      const { tenant: _, ...lane } = row
      return lane
    },
    async laneWaiting(consumer, key, limit) {
      assertOpen()
      return waitingRows(state, laneKey(tenant, consumer, key)).slice(0, limit)
    },
    async laneHolders(query) {
      assertOpen()
      const holders = ownRows(state.work, tenant).filter(
        (row) => row.hasPlace && (row.state === 'parked' || row.state === 'dead'),
      )
      return page('laneHolders', query, holders, byId)
    },
    async attempts(id) {
      assertOpen()
      return findWork(state, tenant, id) ? attemptsOf(state, id) : []
    },
    async ledger(key) {
      assertOpen()
      return state.ledger.get(joinKey(tenant, key)) ?? null
    },
    async ledgerHistory(key) {
      assertOpen()
      const joined = joinKey(tenant, key)
      const latest = state.ledger.get(joined)
      return latest === undefined ? [] : [...(state.ledgerBefore.get(joined) ?? []), latest]
    },
    async ledgerList(query) {
      assertOpen()
      const rows = ownEntries(state, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.consumer === undefined || row.consumer === query.consumer),
      )
      return page('ledger', query, rows, (row) => [row.createdAt, generationText(row)])
    },
    async ledgerOfWork(id) {
      assertOpen()
      const rows = ownEntries(state, tenant).filter(
        (row) => row.work === id && (row.state === 'reserved' || row.state === 'unknown'),
      )
      return rows.sort((a, b) => a.createdAt - b.createdAt || compareText(a.key, b.key))
    },
    async deadLetter(id) {
      assertOpen()
      return state.deadLetters.get(joinKey(tenant, id)) ?? null
    },
    async deadLetters(query) {
      assertOpen()
      const rows = ownRows(state.deadLetters, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.consumer === undefined || row.consumer === query.consumer) &&
          (query.class === undefined || row.class === query.class) &&
          (query.reason === undefined || row.reason === query.reason) &&
          (query.eventId === undefined || row.eventId === query.eventId) &&
          (query.olderThan === undefined || compareText(row.id, query.olderThan) < 0),
      )
      return page('deadLetters', query, rows, byId)
    },
    async deadLetterGroups(query) {
      assertOpen()
      return groupDeadLetters(ownRows(state.deadLetters, tenant).filter((row) => row.state === query.state))
    },
    async failure(id) {
      assertOpen()
      return state.failures.get(joinKey(tenant, id)) ?? null
    },
    async failures(query) {
      assertOpen()
      const rows = ownRows(state.failures, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.consumer === undefined || row.consumer === query.consumer) &&
          (query.class === undefined || row.class === query.class) &&
          (query.cause === undefined || row.cause === query.cause),
      )
      return page('failures', query, rows, byId)
    },
    async escalation(id) {
      assertOpen()
      return state.escalations.get(joinKey(tenant, id)) ?? null
    },
    async escalations(query) {
      assertOpen()
      const rows = ownRows(state.escalations, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.consumer === undefined || row.consumer === query.consumer) &&
          (query.unannounced === undefined || !row.isAnnounced),
      )
      return page('escalations', query, rows, byId)
    },
    async instance(id) {
      assertOpen()
      return state.instances.get(joinKey(tenant, id)) ?? null
    },
    async instances(query) {
      assertOpen()
      return page('instances', query, findInstances(state, tenant, query), byId)
    },
    async instanceHistory(id, { after, limit }) {
      assertOpen()
      const rows = (state.history.get(joinKey(tenant, id)) ?? []).filter((row) => row.sequence > after)
      return rows
        .sort((a, b) => a.sequence - b.sequence)
        .slice(0, limit)
        .map(({ tenant: _, ...row }) => row)
    },
    async workOfInstance(id, query) {
      assertOpen()
      return workOfInstance(state, tenant, id, query)
    },
    async instanceCounts(workflow) {
      assertOpen()
      return countInstances(state, tenant, workflow)
    },
    async correlation(key) {
      assertOpen()
      const row = state.correlations.get(joinKey(tenant, key))
      return row ? { version: row.version, body: row.body } : null
    },
    async orphan(id) {
      assertOpen()
      return state.orphans.get(joinKey(tenant, id)) ?? null
    },
    async orphans(query) {
      assertOpen()
      const rows = ownRows(state.orphans, tenant).filter(
        (row) =>
          (query.state === undefined || row.state === query.state) &&
          (query.workflow === undefined || row.workflow === query.workflow),
      )
      return page('orphans', query, rows, byId)
    },
    async run(id) {
      assertOpen()
      return state.runs.get(joinKey(tenant, id)) ?? null
    },
    async runs(query) {
      assertOpen()
      const rows = ownRows(state.runs, tenant).filter(
        (row) =>
          (query.connection === undefined || row.connection === query.connection) &&
          (query.state === undefined || row.state === query.state) &&
          (query.purpose === undefined || row.purpose === query.purpose) &&
          (query.workId === undefined || row.workId === query.workId),
      )
      return page('runs', query, rows, byId)
    },
    async record(kind, key) {
      assertOpen()
      const row = state.records.get(joinKey(tenant, kind, key))
      return row ? { version: row.version, body: row.body } : null
    },
    async records({ kind, prefix = '', ...request }) {
      assertOpen()
      const rows: { readonly key: string; readonly version: number; readonly body: string }[] = []
      for (const row of state.records.values()) {
        if (row.kind !== kind || row.tenant !== tenant || !row.key.startsWith(prefix)) continue
        rows.push({ key: row.key, version: row.version, body: row.body })
      }
      return page(`records of ${kind}`, request, rows, (row) => [0, row.key], 'ascending')
    },
    async overview() {
      assertOpen()
      return overview(state, tenant)
    },
    async oldestReadyAt() {
      assertOpen()
      return overview(state, tenant).oldestReadyAt
    },
  }
}

export function makeSystemReads(state: MemoryState, assertOpen: Open): SystemReads {
  return {
    async readyConsumers() {
      assertOpen()
      const first = [...state.ready.values()].flatMap(([id]) => (id && state.work.get(id)) ?? [])
      const consumers = first.map(({ tenant, consumer }) => ({ tenant, consumer }))
      return sortedBy(consumers, 'tenant', 'consumer')
    },
    async tenants() {
      assertOpen()
      const tenants = new Set<TenantId>()
      for (const row of state.records.values()) if (row.kind === 'bundle') tenants.add(row.tenant)
      return [...tenants].sort(compareText)
    },
    async workCounts() {
      assertOpen()
      const counts = Object.fromEntries(WORK_STATES.map((name) => [name, 0])) as Record<WorkState, number>
      for (const row of state.work.values()) counts[row.state] += 1
      return counts
    },
    async outbox(limit, after = -1) {
      assertOpen()
      const behind = outboxRows(state).filter(({ position }) => position > after)
      const rows = behind.slice(0, limit)
      return { rows, events: eventsOf(state, rows) }
    },
    async outboxCount(cap) {
      assertOpen()
      return Math.min(cap, state.outbox.size)
    },
    async outboxEldest() {
      assertOpen()
      return { at: outboxRows(state)[0]?.createdAt ?? null, heldBy: null }
    },
    async dump() {
      assertOpen()
      return dumpState(state)
    },
  }
}

/** Everything, in the order that every store uses for a dump. */
export function dumpState(state: MemoryState): StoreDump {
  const work = sortedBy([...state.work.values()], 'tenant', 'id')
  return {
    events: sortedBy([...state.events.values()], 'tenant', 'id'),
    work,
    attempts: work.flatMap((row) =>
      attemptsOf(state, row.id).map((attempt) => ({ ...attempt, work: row.id })),
    ),
    ledger: sortedBy(allEntries(state), 'tenant', 'key'),
    deadLetters: sortedBy([...state.deadLetters.values()], 'tenant', 'id'),
    failures: sortedBy([...state.failures.values()], 'tenant', 'id'),
    escalations: sortedBy([...state.escalations.values()], 'tenant', 'id'),
    lanes: sortedBy([...state.lanes.values()], 'tenant', 'consumer', 'key'),
    instances: sortedBy([...state.instances.values()], 'tenant', 'id'),
    history: dumpHistory(state),
    correlations: sortedBy([...state.correlations.values()], 'tenant', 'key'),
    orphans: sortedBy([...state.orphans.values()], 'tenant', 'id'),
    runs: sortedBy([...state.runs.values()], 'tenant', 'id'),
    records: sortedBy([...state.records.values()], 'tenant', 'kind', 'key'),
    facts: sortedBy([...state.facts.values()], 'tenant', 'id'),
    outbox: sortedBy(outboxRows(state), 'tenant', 'id').map(({ position: _, ...row }) => row),
  }
}

function dumpHistory(state: MemoryState): StoreDump['history'] {
  const rows = [...state.history.values()].flat()
  return rows.sort(
    (a, b) =>
      compareText(a.tenant, b.tenant) || compareText(a.instance, b.instance) || a.sequence - b.sequence,
  )
}

/** The newest dead letters that fit, each a group of one until a similar one joins it. */
function groupDeadLetters(letters: readonly DeadLetter[]) {
  const newest = [...letters].sort((a, b) => compareText(b.id, a.id)).slice(0, GROUPED_DEAD_LETTERS_MAX)
  const groups = groupByCause(
    newest.map(({ class: failure, reason, consumer, lastError, createdAt, id }) => ({
      class: failure,
      reason,
      consumer,
      lastError,
      count: 1,
      firstAt: createdAt,
      latestAt: createdAt,
      sampleId: id,
    })),
  )
  return {
    groups: groups.slice(0, GROUPS_MAX),
    isCapped: letters.length > GROUPED_DEAD_LETTERS_MAX || groups.length > GROUPS_MAX,
  }
}

const OPEN: ReadonlySet<WorkState> = new Set(['ready', 'waiting', 'leased', 'parked'])

function overview(state: MemoryState, tenant: TenantId): StoreOverview {
  const work = ownRows(state.work, tenant)
  const upTo = (count: number) => Math.min(count, OVERVIEW_COUNT_MAX)
  const inState = (name: WorkState) => work.filter((row) => row.state === name)
  const ready = inState('ready')
  const active = ownRows(state.instances, tenant).filter((row) => row.state === 'active')
  return {
    counts: {
      ready: upTo(ready.length),
      leased: upTo(inState('leased').length),
      parked: upTo(inState('parked').length),
      openDeadLetters: upTo(ownRows(state.deadLetters, tenant).filter((row) => row.state === 'open').length),
      raisedEscalations: upTo(
        ownRows(state.escalations, tenant).filter((row) => row.state === 'raised').length,
      ),
      openFailures: upTo(ownRows(state.failures, tenant).filter((row) => row.state === 'open').length),
      activeInstances: upTo(active.length),
      instancesWithAttention: upTo(active.filter((row) => row.attention !== null).length),
      openOrphans: upTo(ownRows(state.orphans, tenant).filter((row) => row.state === 'open').length),
      unmatched: upTo(ownRows(state.events, tenant).filter((row) => row.matched === 0).length),
    },
    cappedAt: OVERVIEW_COUNT_MAX,
    oldestReadyAt: ready.reduce<number | null>((at, row) => Math.min(at ?? row.dueAt, row.dueAt), null),
  }
}

function workOfEvent(state: MemoryState, tenant: TenantId, id: EventId): readonly WorkRow[] {
  const rows = (state.workOfEvent.get(id) ?? []).flatMap((work) => findWork(state, tenant, work) ?? [])
  return rows.sort((a, b) => compareText(a.id, b.id))
}

/** Every generation, those of one key together and in order. */
function allEntries(state: MemoryState): LedgerEntry[] {
  return [...state.ledger].flatMap(([key, latest]) => [...(state.ledgerBefore.get(key) ?? []), latest])
}

export function ownEntries(state: MemoryState, tenant: TenantId): LedgerEntry[] {
  return allEntries(state).filter((row) => row.tenant === tenant)
}

/** Sorts as the key and then the generation do. */
function generationText({ key, generation }: LedgerEntry): string {
  return `${key}\u0000${String(generation).padStart(12, '0')}`
}

function attemptsOf(state: MemoryState, id: WorkId) {
  return [...(state.attempts.get(id) ?? [])].sort((a, b) => a.number - b.number)
}

/** By the given fields, one after the other. */
function sortedBy<Name extends string, Row extends Readonly<Record<Name, string>>>(
  rows: Row[],
  ...names: readonly Name[]
): Row[] {
  return rows.sort((a, b) => {
    for (const name of names) {
      const order = a[name] === b[name] ? 0 : compareText(a[name], b[name])
      if (order !== 0) return order
    }
    return 0
  })
}
