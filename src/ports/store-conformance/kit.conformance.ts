// What the suite needs around a store: a harness with a clock that the test controls, and rows to write.

import { type NewRun, type RunAttempt, runIdOf } from '../../core/effects/integration-run/index.ts'
import type { NewLedgerEntry } from '../../core/effects/ledger/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Ids, Incarnation, NodeId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import type { Attempt, NewWork } from '../../core/queue/work/index.ts'
import type { NewInstance } from '../../core/workflows/instance/index.ts'
import type { NewOrphan } from '../../core/workflows/orphan/index.ts'
import type { ClaimRequest, Commit, CommitResult, Guard, Page, Store, Write } from '../store.ts'

/** Declared differences between stores. */
export interface StoreCapabilities {
  /** Opening the store fences every earlier incarnation. Default: false. */
  readonly fencesOnOpen: boolean
  /** A search reads payloads. Default: true. */
  readonly searchesPayloads: boolean
}

export interface StoreHarness {
  readonly store: Store
  /** Closes the store and reopens the same data. */
  reopen(): Promise<Store>
  /** The store's clock stands still until the test moves it. */
  setNow(at: Instant): void | Promise<void>
  advance(ms: number): void | Promise<void>
  close(): Promise<void>
  readonly capabilities?: Partial<StoreCapabilities>
}

export type MakeStoreHarness = () => Promise<StoreHarness>

export const START: Instant = 1_750_000_000_000
export const TENANT = 'acme' as TenantId
export const OTHER = 'globex' as TenantId
const NODE = 'node-a' as NodeId
export const ROUTE = 'route:crm'

/** Ids that are the same in every run: time by an argument, randomness by counting. */
export function makeFixedIds(now: () => Instant): Ids {
  let count = 0
  const bytes = (length: number) => Uint8Array.from({ length }, () => (count++ * 151) & 0xff)
  return makeIds({ now, bytes })
}

export interface Kit {
  /** The store as it is open now. */
  readonly store: Store
  readonly harness: StoreHarness
  readonly ids: Ids
  now(): Instant
  advance(ms: number): Promise<void>
  reopen(): Promise<void>
  event(fields?: Partial<NewEvent>): NewEvent
  work(eventId: NewEvent['id'], fields?: Partial<NewWork>): NewWork
  entry(work: NewWork, fields?: Partial<NewLedgerEntry>): NewLedgerEntry
  deadLetter(work: NewWork, fields?: Partial<NewDeadLetter>): NewDeadLetter
  attempt(number: number, fields?: Partial<Attempt>): Attempt
  instance(eventId: NewEvent['id'], fields?: Partial<NewInstance>): NewInstance
  orphan(eventId: NewEvent['id'], fields?: Partial<NewOrphan>): NewOrphan
  /** An attempt of the job, or of none. */
  run(work: NewWork | null, fields?: Partial<NewRun>): NewRun
  runAttempt(number: number, fields?: Partial<RunAttempt>): RunAttempt
  commit(guards: readonly Guard[], writes: readonly Write[], tenant?: TenantId): Commit
  /** Commits and requires that it was applied. */
  apply(writes: readonly Write[], tenant?: TenantId): Promise<Extract<CommitResult, { ok: true }>>
  /** Adds an event with one job, ready or leased by `lease`. */
  add(options?: AddOptions): Promise<Added>
  join(node?: NodeId, ttlMs?: number): Promise<Incarnation>
  claim(owner: Incarnation, fields?: Partial<ClaimRequest>): ReturnType<Store['claim']>
  /** The result of a commit with this one guard and one harmless write. */
  ask(guard: Guard, tenant?: TenantId): Promise<CommitResult>
}

export interface AddOptions {
  readonly tenant?: TenantId
  readonly lease?: Incarnation | null
  readonly delayMs?: number
  readonly event?: Partial<NewEvent>
  readonly work?: Partial<NewWork>
}

export interface Added {
  readonly event: NewEvent
  readonly work: NewWork
  readonly leased: readonly WorkId[]
}

export async function openKit(makeHarness: MakeStoreHarness): Promise<Kit> {
  const harness = await makeHarness()
  let store = harness.store
  let now = START
  await harness.setNow(now)
  const ids = makeFixedIds(() => now)
  const rows = makeRows(ids)
  const commit: Kit['commit'] = (guards, writes, tenant = TENANT) => ({
    tenant,
    guards,
    writes,
  })
  const apply: Kit['apply'] = async (writes, tenant) => {
    const result = await store.commit(commit([], writes, tenant))
    if (!result.ok) throw new Error('a commit without guards was refused')
    return result
  }
  return {
    get store() {
      return store
    },
    harness,
    ids,
    now: () => now,
    async advance(ms) {
      now += ms
      await harness.advance(ms)
    },
    async reopen() {
      store = await harness.reopen()
    },
    ...rows,
    commit,
    apply,
    async add(options = {}) {
      const tenant = options.tenant ?? TENANT
      const event = rows.event({ tenant, matched: 1, ...options.event })
      const work = rows.work(event.id, options.work)
      const { leased } = await apply(
        [
          { w: 'event.append', event, dedupForMs: DAY },
          { w: 'work.add', work, lease: options.lease ?? null, delayMs: options.delayMs ?? 0 },
        ],
        tenant,
      )
      return { event, work, leased }
    },
    join: async (node = NODE, ttlMs = 30_000) => (await store.join(node, ttlMs)).owner,
    claim: (owner, fields) =>
      store.claim({
        owner,
        slots: [{ tenant: TENANT, consumer: ROUTE, max: 100 }],
        max: 100,
        maxIsolated: 100,
        codeHashes: [],
        ...fields,
      }),
    ask: (guard, tenant) =>
      store.commit(
        commit([guard], [{ w: 'ledger.observe', key: 'nobody has this key', evidence: '{}' }], tenant),
      ),
  }
}

type Rows = Pick<
  Kit,
  'event' | 'work' | 'entry' | 'deadLetter' | 'attempt' | 'instance' | 'orphan' | 'run' | 'runAttempt'
>

function makeRows(ids: Ids): Rows {
  return {
    event: (fields = {}) => ({
      id: ids.event(),
      tenant: TENANT,
      source: 'shop',
      subject: 'order.created',
      objectType: 'order',
      objectId: '4711',
      occurredAt: START - 5_000,
      correlationId: ids.uuid(),
      causationId: null,
      traceId: ids.uuid(),
      dedupKey: ids.uuid(),
      payloadHash: 'a'.repeat(64),
      headers: '{"content-type":"application/json"}',
      data: '{"id":4711}',
      raw: null,
      sensitive: [],
      matched: 0,
      ...fields,
    }),
    work: (eventId, fields = {}) => ({
      id: ids.work(),
      kind: 'route',
      consumer: ROUTE,
      definition: 'd'.repeat(64),
      codeHash: null,
      eventId,
      expiresInMs: DAY,
      replayOf: null,
      ...fields,
    }),
    entry: (work, fields = {}) => ({
      key: `crm:${ids.uuid()}`,
      work: work.id,
      epoch: 1,
      consumer: work.consumer,
      eventId: work.eventId,
      objectId: '4711',
      payloadHash: 'a'.repeat(64),
      correlationId: ids.uuid(),
      ...fields,
    }),
    deadLetter: (work, fields = {}) => ({
      id: ids.deadLetter(),
      version: 1,
      state: 'open',
      class: 'config',
      reason: 'rejected',
      consumer: work.consumer,
      eventId: work.eventId,
      workId: work.id,
      attempts: 1,
      replays: 0,
      lastError: 'HTTP 404',
      key: null,
      correlationId: ids.uuid(),
      payloadHash: 'a'.repeat(64),
      runbook: null,
      severity: 'high',
      step: null,
      failureId: null,
      ...fields,
    }),
    attempt: (number, fields = {}) => ({
      number,
      startedAt: START,
      durationMs: 12,
      outcome: 'again',
      class: 'transient',
      httpStatus: 503,
      error: 'HTTP 503',
      ...fields,
    }),
    instance: (eventId, fields = {}) => ({
      id: ids.instance(),
      workflow: 'triage',
      definition: 'd1',
      version: '1',
      state: 'active',
      attention: null,
      revision: 1,
      marking: { start: 1 },
      eventId,
      correlationId: 'c1',
      parent: null,
      body: '{}',
      ...fields,
    }),
    orphan: (eventId, fields = {}) => ({
      id: ids.orphan(),
      version: 1,
      state: 'open',
      reason: 'nobody',
      workflow: 'triage',
      trigger: 'closed',
      eventId,
      workId: ids.work(),
      keys: 'issue=1',
      expiresInMs: null,
      instance: null,
      by: null,
      note: null,
      ...fields,
    }),
    run: (work, fields = {}) => ({
      id: work === null ? ids.run() : runIdOf(work.id),
      state: 'completed',
      purpose: work === null ? 'test' : 'work',
      connection: 'tickets',
      provider: 'github',
      operation: 'issue.create',
      workId: work?.id ?? null,
      eventId: work?.eventId ?? null,
      correlationId: ids.uuid(),
      traceId: ids.uuid(),
      key: null,
      attemptCount: 1,
      attempts: [],
      class: null,
      httpStatus: null,
      durationMs: 12,
      error: null,
      externalRef: null,
      replayOf: null,
      ...fields,
    }),
    runAttempt: (number, fields = {}) => ({
      number,
      startedAt: START,
      durationMs: 12,
      class: 'transient',
      httpStatus: 503,
      error: 'HTTP 503',
      credentialVersion: 2,
      request: 'POST https://api.example/issues',
      response: 'HTTP 503',
      ...fields,
    }),
  }
}

/** Every page, from the first on. */
export async function readAll<Row>(
  read: (cursor: string | null) => Promise<Page<Row>>,
): Promise<readonly (readonly Row[])[]> {
  const pages: (readonly Row[])[] = []
  let cursor: string | null = null
  do {
    const page: Page<Row> = await read(cursor)
    pages.push(page.items)
    cursor = page.nextCursor
  } while (cursor !== null && pages.length < 100)
  return pages
}
