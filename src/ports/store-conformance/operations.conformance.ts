// Random operations on a store. Randomness is a function `pick` that is passed in, so that a seed makes a stream and the
// property tester a property; the next operation depends on the content of the store, so that most guards have a fair chance to
// hold.

import type { LedgerEntry, NewLedgerEntry } from '../../core/effects/ledger/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import { type FailureClass, failureId, type NewFailure } from '../../core/failures/failure/index.ts'
import type {
  DeadLetterId,
  EventId,
  Incarnation,
  NodeId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import type { NewWork, Note, WorkRow } from '../../core/queue/work/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { ClaimRequest, ClaimResult, Commit, CommitResult, Guard, Page, Store, Write } from '../store.ts'
import { START } from './kit.conformance.ts'
import { type Book, oneOf, type Pick, rarely, type Turn, tenantOf } from './operation-choices.conformance.ts'
import {
  makeInstanceDecision,
  makeInstanceOptions,
  readInstances,
} from './operations-instances.conformance.ts'
import { makeEventTold, makeTelling, relaySome } from './operations-outbox.conformance.ts'
import { makeRunPut, readRuns } from './operations-runs.conformance.ts'

export type Operation =
  /** Committed in one tick. */
  | { readonly op: 'commits'; readonly commits: readonly Commit[] }
  | { readonly op: 'claim'; readonly request: ClaimRequest }
  | { readonly op: 'join'; readonly node: NodeId; readonly ttlMs: number }
  | { readonly op: 'renew'; readonly owner: Incarnation; readonly ttlMs: number }
  | { readonly op: 'reclaim'; readonly limit: number }
  | { readonly op: 'prune'; readonly request: PruneRequest }
  | { readonly op: 'advance'; readonly ms: number }
  /** Reads the oldest of the outbox and deletes every `step`th of them. */
  | { readonly op: 'relay'; readonly limit: number; readonly step: number }
  | { readonly op: 'read'; readonly tenant: TenantId; readonly event: EventId; readonly limit: number }

export interface Subject {
  readonly store: Store
  advance(ms: number): void | Promise<void>
}

const CONSUMERS = ['route:a', 'route:b', 'subscription:c'] as const
const kindOf = (consumer: string) => (consumer.startsWith('subscription:') ? 'delivery' : 'route')
const NODES = ['node-a', 'node-b', 'node-c'] as NodeId[]
const CODE = [null, null, null, 'hash-1', 'hash-2'] as const
const FATES = ['again', 'again', 'again', 'done', 'parked', 'dead', 'skipped', 'merged', 'cancelled'] as const
/** Half of them closed, so that events can be deleted. */
const LETTER_STATES = [
  ...(['open', 'ready_to_replay', 'replaying'] as const),
  ...(['resolved', 'discarded', 'resolved', 'discarded', 'resolved'] as const),
]
const COUNTERS = { attempts: 1, waits: 2, losses: 0 }

const ledgerKeyOf = (pick: Pick): string => `key-${pick(12)}`

export async function nextOperation(book: Book, pick: Pick, store: Store): Promise<Operation> {
  const turn: Turn = { book, pick, store }
  switch (pick(14)) {
    case 0:
    case 1:
      return { op: 'commits', commits: [makeAccept(turn)] }
    case 2:
    case 3:
      return { op: 'claim', request: makeClaim(turn) }
    case 4:
    case 5:
      return { op: 'commits', commits: [await makeDecision(turn)] }
    case 6:
    case 7:
      return { op: 'commits', commits: await makeGroup(turn) }
    case 8:
      return { op: 'advance', ms: oneOf(pick, [1, 10, 100, 500, 2_000, 8_000]) }
    case 9:
      return makeLife(turn)
    case 10:
      return { op: 'reclaim', limit: oneOf(pick, [100, 2, 1, 0]) }
    case 11:
      return { op: 'prune', request: makePrune(turn) }
    case 12:
      return { op: 'relay', limit: pick(12), step: 1 + pick(3) }
    default: {
      const event = oneOf(pick, book.events)
      return { op: 'read', tenant: tenantOf(pick), event: event?.id ?? book.ids.event(), limit: 1 + pick(9) }
    }
  }
}

function makeCommit(tenant: TenantId, guards: readonly Guard[], writes: readonly Write[]): Commit {
  return { tenant, guards, writes }
}

async function makeGroup(turn: Turn): Promise<readonly Commit[]> {
  const commits: Commit[] = []
  for (let count = 2 + turn.pick(5); count > 0; count -= 1) {
    commits.push(turn.pick(2) === 0 ? makeAccept(turn) : await makeDecision(turn))
  }
  return commits
}

function makeLife({ book, pick }: Turn): Operation {
  const ttlMs = oneOf(pick, [30_000, 20_000, 2_000])
  if (book.owners.length === 0 || rarely(pick, 4)) return { op: 'join', node: oneOf(pick, NODES), ttlMs }
  return { op: 'renew', owner: recentOwner(book, pick), ttlMs }
}

/** Mostly one of the latest owners: the others are fenced. */
function recentOwner(book: Book, pick: Pick): Incarnation {
  const owners = rarely(pick, 8) ? book.owners : book.owners.slice(-2)
  return oneOf(pick, owners) ?? (0 as Incarnation)
}

function makeClaim({ book, pick }: Turn): ClaimRequest {
  const first = pick(3)
  return {
    owner: recentOwner(book, pick),
    slots: [0, 1, 2].slice(0, 1 + pick(3)).map((step) => ({
      tenant: tenantOf(pick),
      consumer: CONSUMERS[(first + step) % 3] as string,
      max: pick(4),
      ...(rarely(pick, 4) ? { limit: 1 + pick(4) } : {}),
    })),
    max: pick(8),
    maxIsolated: pick(3),
    codeHashes: oneOf(pick, [['hash-1', 'hash-2'], ['hash-1'], []]),
  }
}

function makePrune({ book, pick }: Turn): PruneRequest {
  return {
    tenant: tenantOf(pick),
    keepMs: oneOf(pick, [{ shop: 5_000, crm: 20_000 }, { shop: 0 }, {}]),
    otherwiseMs: oneOf(pick, [30_000, 5_000]),
    after: rarely(pick, 3) ? (oneOf(pick, book.events)?.id ?? null) : null,
    scanMax: oneOf(pick, [100, 5, 1]),
    ...(rarely(pick, 2) ? { ledger: { keepMs: { 'route:a': 2_000 }, otherwiseMs: 6_000 } } : {}),
  }
}

/** What is learned about an event later: that it came again, its matches, and that it is to be replayed. */
function makeAfterthought(turn: Turn): Commit {
  const { book, pick } = turn
  const known = oneOf(pick, book.events.slice(-20))
  const event = known?.id ?? book.ids.event()
  const tenant = rarely(pick, 10) ? tenantOf(pick) : (known?.tenant ?? tenantOf(pick))
  switch (pick(3)) {
    case 0:
      return makeCommit(tenant, [], [{ w: 'event.repeat', event, count: 1 + pick(3) }])
    case 1:
      return makeCommit(tenant, [], [{ w: 'event.match', event, matched: pick(3) }])
    default:
      return makeCommit(tenant, [], [makeAddition(turn, event)])
  }
}

function makeAddition(turn: Turn, eventId: EventId): Write {
  const { book, pick } = turn
  const consumer = oneOf(pick, CONSUMERS)
  const work: NewWork = {
    id: book.ids.work(),
    kind: kindOf(consumer),
    consumer,
    definition: `definition-${pick(3)}`,
    codeHash: oneOf(pick, CODE),
    eventId,
    expiresInMs: 1_000 * (1 + pick(100)),
    replayOf: null,
    ...makeOptions(pick),
    ...makeInstanceOptions(turn),
  }
  const lease = pick(2) === 0 ? null : recentOwner(book, pick)
  const before = rarely(pick, 3) ? oneOf(pick, book.works.slice(-30)) : undefined
  return { w: 'work.add', work, lease, delayMs: 0, ...(before ? { inPlaceOf: before.id } : {}) }
}

/** Half of the jobs use a lane, of few: they are to meet. */
function makeOptions(pick: Pick): Partial<NewWork> {
  if (pick(2) === 0) return rarely(pick, 4) ? { element: pick(3), generation: 1 + pick(2) } : {}
  return { lane: { key: oneOf(pick, ['a', 'ü', 'c']), width: oneOf(pick, [1, 1, 2, 3]) } }
}

function makeAccept(turn: Turn): Commit {
  const { book, pick } = turn
  const tenant = tenantOf(pick)
  const event = makeEvent(turn, tenant)
  const writes: Write[] = [{ w: 'event.append', event, dedupForMs: oneOf(pick, [10_000, 1_000, 0]) }]
  for (let count = event.matched; count > 0; count -= 1) {
    const own = book.works.filter((known) => known.tenant === tenant)
    const id = rarely(pick, 60) ? oneOf(pick, own)?.id : undefined
    const consumer = oneOf(pick, CONSUMERS)
    writes.push({
      w: 'work.add',
      work: {
        id: id ?? book.ids.work(),
        kind: kindOf(consumer),
        consumer,
        definition: `definition-${pick(3)}`,
        codeHash: oneOf(pick, CODE),
        eventId: event.id,
        expiresInMs: 1_000 * (1 + pick(100)),
        replayOf: rarely(pick, 10) ? book.ids.deadLetter() : null,
        ...makeOptions(pick),
        ...makeInstanceOptions(turn),
      },
      lease: pick(2) === 0 ? null : recentOwner(book, pick),
      delayMs: oneOf(pick, [0, 0, 50, 2_000]),
    })
  }
  if (rarely(pick, 3)) writes.push(makeEventTold(event))
  const guards: Guard[] = [{ g: 'dedup', source: event.source, key: event.dedupKey }]
  return makeCommit(tenant, rarely(pick, 15) ? [] : guards, writes)
}

function makeEvent({ book, pick }: Turn, tenant: TenantId): NewEvent {
  const hasObject = !rarely(pick, 4)
  return {
    id: book.ids.event(),
    tenant,
    source: oneOf(pick, ['shop', 'crm']),
    subject: oneOf(pick, ['order.created', 'order.paid', 'contact.changed']),
    objectType: hasObject ? 'order' : null,
    objectId: hasObject ? `object-${pick(9)}` : null,
    occurredAt: hasObject ? book.now - pick(1_000) : null,
    correlationId: book.ids.uuid(),
    causationId: rarely(pick, 6) ? (oneOf(pick, book.events)?.id ?? null) : null,
    traceId: book.ids.uuid(),
    dedupKey: `dedup-${pick(40)}`,
    payloadHash: `hash-${pick(5)}`,
    headers: '{}',
    data: oneOf(pick, ['{}', '{"text":"😀 \' \\" \\u0000"}', '[1.0,12345678901234567890]']),
    raw: oneOf(pick, [null, null, 'a=1&b=\u0000']),
    sensitive: [],
    matched: pick(3),
  }
}

/** Something about a row that exists, mostly guarded so that it holds. */
async function makeDecision(turn: Turn): Promise<Commit> {
  const { book, pick, store } = turn
  switch (pick(19)) {
    case 16:
    case 17:
      return makeRunPut(turn)
    case 18:
      return makeTelling(turn)
    case 12:
    case 13:
    case 14:
      return makeInstanceDecision(turn)
    case 10:
      return makeEscalation(turn)
    case 11:
      return makeLeave(turn)
    case 3:
    case 4:
      return makeAfterthought(turn)
    case 0:
      return makeRecordPut(turn)
    case 1:
      return makeDeadLetterPut(turn)
    case 2:
      return makeObservation(turn)
    default: {
      const known = rarely(pick, 4) ? oneOf(pick, book.works) : oneOf(pick, book.held.slice(-8))
      const row = known && (await store.forTenant(known.tenant).work(known.id))
      return row ? makeWorkDecision(turn, row) : makeObservation(turn)
    }
  }
}

async function makeRecordPut(turn: Turn): Promise<Commit> {
  const { pick, store } = turn
  const tenant = tenantOf(pick)
  const kind = oneOf(pick, ['definition', 'bundle', 'setting', 'subscription', 'health'] as const)
  const key = oneOf(pick, ['a', 'b', 'ü', '😀'])
  const found = (await store.forTenant(tenant).record(kind, key))?.version ?? 0
  const version = rarely(pick, 4) ? found + 1 : found
  if (rarely(pick, 4)) {
    return makeCommit(tenant, [{ g: 'version', of: kind, key, version }], [{ w: 'record.delete', kind, key }])
  }
  return makeCommit(
    tenant,
    [{ g: 'version', of: kind, key, version }],
    [{ w: 'record.put', kind, key, version: found + 1, body: `body ${found + 1}` }],
  )
}

async function makeDeadLetterPut(turn: Turn): Promise<Commit> {
  const { book, pick, store } = turn
  const known = rarely(pick, 2) ? oneOf(pick, book.letters) : undefined
  const tenant = known?.tenant ?? tenantOf(pick)
  const id = known?.id ?? book.ids.deadLetter()
  const found = await store.forTenant(tenant).deadLetter(id)
  const version = (found?.version ?? 0) + (rarely(pick, 5) ? 1 : 0)
  const work = oneOf(pick, book.works)?.id ?? book.ids.work()
  const event = oneOf(pick, book.events)?.id ?? book.ids.event()
  return makeCommit(
    tenant,
    [{ g: 'version', of: 'deadLetter', key: id, version }],
    [{ w: 'deadLetter.put', row: makeDeadLetter(turn, id, version + 1, { id: work, eventId: event }) }],
  )
}

function makeDeadLetter(
  { book, pick }: Turn,
  id: DeadLetterId,
  version: number,
  work: { readonly id: WorkId; readonly eventId: EventId },
): Extract<Write, { w: 'deadLetter.put' }>['row'] {
  return {
    id,
    version,
    state: oneOf(pick, LETTER_STATES),
    class: oneOf(pick, ['config', 'validation', 'poison'] as const),
    reason: oneOf(pick, ['rejected', 'cap_reached', 'expired'] as const),
    consumer: oneOf(pick, CONSUMERS),
    eventId: work.eventId,
    workId: work.id,
    attempts: pick(6),
    replays: pick(3),
    lastError: `error ${pick(5)}`,
    key: rarely(pick, 2) ? ledgerKeyOf(pick) : null,
    correlationId: book.ids.uuid(),
    payloadHash: `hash-${pick(5)}`,
    runbook: rarely(pick, 3) ? 'https://example.com' : null,
    severity: oneOf(pick, ['high', 'low']),
    step: oneOf(pick, [null, 'call']),
    failureId: rarely(pick, 2) ? failureId(work.id) : null,
  }
}

async function makeEscalation(turn: Turn): Promise<Commit> {
  const { book, pick, store } = turn
  const tenant = tenantOf(pick)
  const { items } = await store.forTenant(tenant).escalations({ cursor: null, limit: 20 })
  const found = oneOf(pick, items)
  if (found === undefined || pick(2) === 0) return makeCommit(tenant, [], [makeRaise(turn)])
  const version = found.version + (rarely(pick, 5) ? 1 : 0)
  const change = oneOf(pick, [
    { announced: true as const },
    { acknowledged: { by: 'ada', note: oneOf(pick, [null, 'known']) } },
  ])
  return makeCommit(
    tenant,
    [{ g: 'version', of: 'escalation', key: found.id, version }],
    [{ w: 'escalation.change', id: rarely(pick, 9) ? book.ids.escalation() : found.id, ...change }],
  )
}

function makeRaise({ book, pick }: Turn): Write {
  const cause = oneOf(pick, ['cause-a', 'cause-b', 'cause-c'])
  return {
    w: 'escalation.raise',
    row: {
      id: book.ids.escalation(),
      cause,
      consumer: oneOf(pick, CONSUMERS),
      class: 'config',
      reason: 'rejected',
      severity: oneOf(pick, ['high', 'low']),
      runbook: null,
      lastError: `error ${pick(5)}`,
      workId: oneOf(pick, book.works)?.id ?? null,
    },
  }
}

async function makeLeave({ book, pick, store }: Turn): Promise<Commit> {
  const tenant = tenantOf(pick)
  const { items } = await store.forTenant(tenant).laneHolders({ cursor: null, limit: 5 })
  const work = oneOf(pick, items)?.id ?? oneOf(pick, book.works)?.id ?? book.ids.work()
  return makeCommit(tenant, [], [{ w: 'lane.leave', work }])
}

function makeObservation(turn: Turn): Commit {
  const { pick } = turn
  const evidence = JSON.stringify({ seen: pick(100) })
  return makeCommit(tenantOf(pick), [], [{ w: 'ledger.observe', key: ledgerKeyOf(pick), evidence }])
}

async function makeWorkDecision(turn: Turn, row: WorkRow): Promise<Commit> {
  const { book, pick, store } = turn
  const epoch = rarely(pick, 8) ? row.epoch - 1 : row.epoch
  const owner = row.owner !== null && !rarely(pick, 8) ? row.owner : recentOwner(book, pick)
  const lease: Guard =
    row.state === 'leased' || rarely(pick, 3)
      ? { g: 'lease', work: row.id, owner, epoch }
      : { g: 'work', work: row.id, state: rarely(pick, 8) ? 'parked' : row.state, epoch }
  // The wrong tenant sees nothing, and its guard is refused.
  const tenant = rarely(pick, 20) ? tenantOf(pick) : row.tenant
  const key = row.key ?? ledgerKeyOf(pick)
  const entry = await store.forTenant(row.tenant).ledger(key)
  const effect = makeEffect(turn, row, key, entry)
  const fate = await makeFate(turn, row, key)
  const parts = oneOf(pick, [[fate], [effect], [effect, fate]])
  return makeCommit(
    tenant,
    [lease, ...parts.flatMap(({ guards }) => guards)],
    parts.flatMap(({ writes }) => writes),
  )
}

interface Part {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/** What happens to the job. */
async function makeFate(turn: Turn, row: WorkRow, key: string): Promise<Part> {
  const { book, pick, store } = turn
  const note: Note = {
    key: rarely(pick, 3) ? null : key,
    class: oneOf(pick, [null, 'transient', 'config'] as const),
    lastError: rarely(pick, 2) ? `error ${pick(9)}` : null,
    effectRef: rarely(pick, 2) ? `ref-${pick(9)}` : null,
    httpStatus: oneOf(pick, [null, 200, 503]),
    durationMs: oneOf(pick, [null, 12]),
  }
  const attempt = {
    number: 1 + pick(4),
    startedAt: book.now - pick(100),
    durationMs: pick(100),
    outcome: oneOf(pick, ['again', 'done', 'waited'] as const),
    class: note.class,
    httpStatus: note.httpStatus,
    error: note.lastError,
    ...(rarely(pick, 3) ? { response: oneOf(pick, ['', '200 OK', 'a\u0000b ü']) } : {}),
  }
  const writes: Write[] = pick(2) === 0 ? [{ w: 'attempt.append', work: row.id, attempt }] : []
  const to = oneOf(pick, FATES)
  if (to === 'again') {
    const delayMs = oneOf(pick, [0, 100, 3_000])
    const expires = rarely(pick, 3) ? { expiresInMs: 1_000 * pick(50) } : {}
    writes.push({ w: 'work.again', work: row.id, delayMs, counters: COUNTERS, note, ...expires })
  } else {
    const waiting =
      row.lane === null ? [] : await store.forTenant(row.tenant).laneWaiting(row.consumer, row.lane, 3)
    const next = oneOf(pick, waiting)?.id ?? oneOf(pick, book.works)?.id ?? row.id
    const place = oneOf(pick, [{}, {}, { place: 'keep' as const }, { place: { to: next } }])
    const version = rarely(pick, 3) ? { laneVersion: `v${pick(9)}` } : {}
    const into = to === 'merged' ? { into: oneOf(pick, book.works)?.id ?? row.id } : {}
    writes.push({
      w: 'work.settle',
      work: row.id,
      to,
      counters: COUNTERS,
      note,
      ...place,
      ...version,
      ...into,
    })
  }
  if (note.class !== null) writes.push({ w: 'failure.put', row: makeFailure(turn, row, note.class) })
  if (to === 'dead') {
    writes.push({ w: 'deadLetter.put', row: makeDeadLetter(turn, book.ids.deadLetter(), 1, row) })
    writes.push(makeRaise(turn))
  }
  return { guards: [], writes }
}

function makeFailure({ book, pick }: Turn, row: WorkRow, failure: FailureClass): NewFailure {
  return {
    id: failureId(row.id),
    state: oneOf(pick, ['open', 'resolved', 'escalated'] as const),
    workId: row.id,
    consumer: row.consumer,
    eventId: row.eventId,
    class: failure,
    reason: oneOf(pick, [null, 'cap_reached']),
    key: row.key,
    attempts: pick(5),
    lastError: `error ${pick(5)}`,
    retryInMs: oneOf(pick, [null, 100 * pick(9)]),
    correlationId: book.ids.uuid(),
    severity: 'high',
    cause: oneOf(pick, [null, 'cause-a']),
  }
}

/** What happens to the key. */
function makeEffect(turn: Turn, row: WorkRow, key: string, found: LedgerEntry | null): Part {
  const { book, pick } = turn
  const entry: NewLedgerEntry = {
    key,
    work: row.id,
    epoch: row.epoch,
    consumer: row.consumer,
    eventId: row.eventId,
    objectId: rarely(pick, 2) ? `object-${pick(9)}` : null,
    payloadHash: `hash-${pick(5)}`,
    correlationId: book.ids.uuid(),
    ...(rarely(pick, 4) ? { generation: 1 + pick(4) } : {}),
  }
  const isOpen = found === null || rarely(pick, 10)
  if (isOpen) {
    const guards: Guard[] = [{ g: 'unreserved', key }]
    return rarely(pick, 3)
      ? { guards, writes: [{ w: 'ledger.done', entry, effectRef: `ref-${pick(9)}`, result: null }] }
      : { guards, writes: [{ w: 'ledger.reserve', entry, sendWithinMs: 100 * pick(50) }] }
  }
  const state = rarely(pick, 8) ? 'unknown' : found.state
  const guards: Guard[] = [{ g: 'ledger', key, state, work: found.work, epoch: found.epoch }]
  if (found.state === 'done' && rarely(pick, 2)) {
    return { guards, writes: [{ w: 'ledger.done', entry, effectRef: `ref-${pick(9)}`, result: null }] }
  }
  if (found.state === 'released' || (found.state === 'unknown' && pick(2) === 0)) {
    return { guards, writes: [{ w: 'ledger.reserve', entry, sendWithinMs: 100 * pick(50) }] }
  }
  const settle: Write = {
    w: 'ledger.settle',
    key,
    to: oneOf(pick, ['done', 'released', 'unknown'] as const),
    proof: oneOf(pick, ['acknowledged', 'probe', 'person', 'never-sent', 'no-answer'] as const),
    effectRef: rarely(pick, 2) ? `ref-${pick(9)}` : null,
    result: rarely(pick, 2) ? '{"id":1}' : null,
  }
  return { guards, writes: [settle] }
}

/** Runs the operation; its result can be compared between stores. */
export async function perform(subject: Subject, operation: Operation): Promise<unknown> {
  const { store } = subject
  switch (operation.op) {
    case 'commits': {
      const results = await Promise.allSettled(operation.commits.map((commit) => store.commit(commit)))
      return results.map((result) => (result.status === 'fulfilled' ? result.value : 'rejected'))
    }
    case 'claim':
      return store.claim(operation.request)
    case 'join':
      return store.join(operation.node, operation.ttlMs)
    case 'renew':
      return store.renew(operation.owner, operation.ttlMs)
    case 'reclaim':
      return store.reclaim(operation.limit)
    case 'prune':
      return pruneOn(store, operation.request)
    case 'advance':
      await subject.advance(operation.ms)
      return null
    case 'relay':
      return relaySome(store, operation)
    case 'read':
      return readSome(store, operation)
  }
}

/** After the events stores walk in their own order: they are compared by what is deleted at the end. */
async function pruneOn(store: Store, request: PruneRequest): Promise<unknown> {
  const first = await store.prune(request)
  if (first.next === null || first.next.startsWith('evt_')) return first
  const total: Record<string, unknown> = { ...first }
  let next: string | null = first.next
  while (next !== null) {
    const { next: after, ...gone }: Pruned = await store.prune({ ...request, after: next, scanMax: 100 })
    for (const [name, count] of Object.entries(gone)) total[name] = (total[name] as number) + count
    next = after
  }
  return { ...total, next }
}

async function readSome(store: Store, { tenant, event, limit }: Extract<Operation, { op: 'read' }>) {
  const reads = store.forTenant(tenant)
  const twice = async <Row>(read: (cursor: string | null) => Promise<Page<Row>>) => {
    const first = await read(null)
    const second = first.nextCursor === null ? null : await read(first.nextCursor)
    return [first.items, second?.items ?? null, second?.nextCursor == null]
  }
  return {
    event: await reads.event(event),
    work: await reads.workOfEvent(event),
    open: await Promise.all((await reads.workOfEvent(event)).map(({ id }) => reads.ledgerOfWork(id))),
    events: await twice((cursor) => reads.events({ cursor, limit, source: 'shop' })),
    found: await twice((cursor) => reads.events({ cursor, limit, q: 'OBJECT-1', scanMax: 20 * limit })),
    object: await twice((cursor) =>
      reads.events({ cursor, limit, objectId: 'object-1', from: START + 3_000 }),
    ),
    caused: await reads.causedBy(event, limit),
    walked: await reads.eventsAfter({ after: event, below: 'evt_g' as EventId, limit }),
    records: await twice((cursor) => reads.records({ cursor, limit: 1 + (limit % 3), kind: 'setting' })),
    groups: await reads.deadLetterGroups({ state: 'open' }),
    overview: await reads.overview(),
    oldestReadyAt: await reads.oldestReadyAt(),
    tenants: await store.system('verification').tenants(),
    ready: await twice((cursor) => reads.workList({ cursor, limit, state: 'ready' })),
    deliveries: await twice((cursor) => reads.workList({ cursor, limit, consumer: 'subscription:c' })),
    undelivered: await twice((cursor) =>
      reads.workList({ cursor, limit, consumer: 'subscription:c', state: 'dead', from: START + 3_000 }),
    ),
    opened: await reads.openCounts(CONSUMERS, limit),
    openTotals: await Promise.all([1, limit, 1_000].map((cap) => reads.openTotal(cap))),
    letters: await twice((cursor) => reads.deadLetters({ cursor, limit })),
    consumers: await store.system('verification').readyConsumers(),
    counts: await store.system('verification').workCounts(),
    lanes: await Promise.all(['a', 'ü'].map((key) => reads.lane('route:a', key))),
    waiting: await reads.laneWaiting('route:b', 'a', limit),
    holders: await twice((cursor) => reads.laneHolders({ cursor, limit })),
    merged: await Promise.all(
      (await reads.workOfEvent(event)).map(async ({ id }) =>
        (await reads.workMerged(id)).map((row) => row.id),
      ),
    ),
    history: await Promise.all(['key-1', 'key-2'].map((key) => reads.ledgerHistory(key))),
    entries: await twice((cursor) => reads.ledgerList({ cursor, limit, consumer: 'route:a' })),
    failures: await twice((cursor) => reads.failures({ cursor, limit, state: 'open' })),
    escalations: await twice((cursor) => reads.escalations({ cursor, limit })),
    instances: await readInstances(reads, twice, limit),
    runs: await readRuns(reads, twice, limit),
  }
}

/** Remembers the names that the operation introduced. */
export function noteResult(book: Book, operation: Operation, result: unknown): void {
  if (operation.op === 'advance') book.now += operation.ms
  if (operation.op === 'join') book.owners.push((result as { owner: Incarnation }).owner)
  if (operation.op === 'claim') {
    for (const { work } of (result as ClaimResult).items) book.held.push({ tenant: work.tenant, id: work.id })
  }
  if (operation.op !== 'commits') return
  const results = result as readonly (CommitResult | 'rejected')[]
  for (const [index, { tenant, writes }] of operation.commits.entries()) {
    const one = results[index]
    if (one === undefined || one === 'rejected' || !one.ok) continue
    for (const id of one.leased) book.held.push({ tenant, id })
    for (const write of writes) {
      if (write.w === 'event.append') book.events.push({ tenant, id: write.event.id })
      if (write.w === 'work.add') book.works.push({ tenant, id: write.work.id })
      if (write.w === 'deadLetter.put' && !book.letters.some(({ id }) => id === write.row.id)) {
        book.letters.push({ tenant, id: write.row.id })
      }
      if (write.w === 'instance.put') book.instances.push({ tenant, id: write.row.id })
      if (write.w === 'orphan.put') book.orphans.push({ tenant, id: write.row.id })
      if (write.w === 'run.put') book.runs.push({ tenant, id: write.row.id })
    }
  }
}
