// The rows of stores with existing data: the rows of one event, one job, one dead letter or one instance.

import { randomBytes } from 'node:crypto'
import { failureId } from '../src/core/failures/failure/index.ts'
import {
  DEFAULT_TENANT,
  type Incarnation,
  type InstanceId,
  makeIds,
} from '../src/core/foundation/ids/index.ts'
import { EMPTY_NOTE } from '../src/core/queue/work/index.ts'
import { writeCorrelation } from '../src/core/workflows/correlation/index.ts'
import type { Instance } from '../src/core/workflows/instance/index.ts'
import { correlationKey, encodeInstance } from '../src/core/workflows/machine/index.ts'
import type { Store, Write } from '../src/ports/store.ts'
import { endpointName } from './deliveries.ts'
import { sampleBody } from './sample.ts'

export type Past =
  | 'settled'
  | 'settled100k'
  | 'settledMillion'
  | 'waiting'
  | 'dead'
  | 'cases'
  | 'fewCases'
  | 'deliveries'
  | 'healthyEndpoints'
  | 'allEndpoints'

/** For the scenario in which some hang: the last ones do. */
export const ENDPOINTS = { healthy: 900, hanging: 100 }

interface Filling {
  readonly store: Store
  readonly owner: Incarnation
  readonly definition: string
  /** Counts from one. */
  readonly number: number
}

const ids = makeIds({ now: () => Date.now(), bytes: (length) => randomBytes(length) })
const data = sampleBody()
/** The waiting millions are small: the queue is measured, not the disk. */
const SMALL_DATA = '{"action":"opened","issue":{"number":7},"repository":{"id":42,"full_name":"acme/mill"}}'
const NO_COUNTERS = { attempts: 0, waits: 0, losses: 0 }
const HASH = `sha256:${'0'.repeat(64)}`

export const WRITERS: Readonly<Record<Past, (filling: Filling) => Promise<void>>> = {
  settled: putSettled,
  settled100k: putSettled,
  settledMillion: putSettled,
  cases: putCase,
  fewCases: putCase,
  deliveries: (filling) => putDeliveries(filling, 1),
  healthyEndpoints: (filling) => putDeliveries(filling, ENDPOINTS.healthy),
  allEndpoints: (filling) => putDeliveries(filling, ENDPOINTS.healthy + ENDPOINTS.hanging),
  async waiting({ store, definition }) {
    await put(store, birth(definition, null, SMALL_DATA).writes)
  },
  async dead({ store, definition }) {
    const { key, event, work, writes } = birth(definition, null, data)
    const died = { key: `COUNT:${key}`, class: 'config', lastError: 'answered 404' } as const
    await put(store, [
      ...writes,
      {
        w: 'work.settle',
        work,
        to: 'dead',
        counters: { ...NO_COUNTERS, attempts: 1 },
        note: { ...EMPTY_NOTE, ...died },
      },
      {
        w: 'deadLetter.put',
        row: {
          ...died,
          id: ids.deadLetter(),
          version: 1,
          state: 'open',
          reason: 'rejected',
          consumer: 'route:count',
          eventId: event,
          workId: work,
          attempts: 1,
          replays: 0,
          correlationId: event.slice(4),
          payloadHash: HASH,
          runbook: null,
          severity: 'medium',
          step: 'call',
          failureId: failureId(work),
        },
      },
      {
        w: 'failure.put',
        row: {
          ...died,
          id: failureId(work),
          state: 'escalated',
          workId: work,
          consumer: 'route:count',
          eventId: event,
          reason: 'rejected',
          attempts: 1,
          retryInMs: null,
          correlationId: event.slice(4),
          severity: 'medium',
          cause: 'the benchmark',
        },
      },
    ])
  },
}

/** An event with its done job and its ledger entry. */
async function putSettled({ store, owner, definition }: Filling): Promise<void> {
  const { key, event, work, writes } = birth(definition, owner, data)
  await put(store, writes)
  await put(store, [
    {
      w: 'work.settle',
      work,
      to: 'done',
      counters: { ...NO_COUNTERS, attempts: 1 },
      note: { ...EMPTY_NOTE, key: `COUNT:${key}`, durationMs: 0 },
    },
    {
      w: 'ledger.done',
      effectRef: null,
      result: '1',
      entry: {
        key: `COUNT:${key}`,
        work,
        epoch: 1,
        consumer: 'route:count',
        eventId: event,
        objectId: '42',
        payloadHash: HASH,
        correlationId: event.slice(4),
      },
    },
  ])
}

/** An event, and its delivery to this many endpoints. */
async function putDeliveries({ store, definition }: Filling, endpoints: number): Promise<void> {
  const { writes } = birth(definition, null, data)
  await put(
    store,
    writes.flatMap((write): readonly Write[] =>
      write.w !== 'work.add'
        ? [write]
        : Array.from({ length: endpoints }, (_, index) => ({
            ...write,
            work: {
              ...write.work,
              id: ids.work(),
              kind: 'delivery' as const,
              consumer: `subscription:${endpointName(index)}`,
            },
          })),
    ),
  )
}

async function putCase({ store, definition, number }: Filling): Promise<void> {
  const { event, writes } = birth(definition, null, SMALL_DATA)
  const id = ids.work().replace('wrk_', 'ins_') as InstanceId
  const name = 'case'
  const value = String(number)
  const next = { firing: 1, stay: 1, history: 2 }
  const instance: Instance = {
    id,
    workflow: 'cases',
    definition,
    version: '1.0.0',
    state: 'active',
    attention: null,
    revision: 1,
    marking: { open: 1 },
    data: {},
    metadata: {},
    correlations: [{ name, value }],
    firings: [],
    done: [],
    stays: [],
    rollBack: null,
    failure: null,
    admission: { lock: null, slot: null, waitsFor: null, ttl: null },
    parent: null,
    next,
    eventId: event,
    correlationId: event.slice(4),
  }
  await put(store, [
    ...writes.filter(({ w }) => w === 'event.append'),
    { w: 'instance.put', row: encodeInstance(instance) },
    {
      w: 'history.append',
      rows: [{ instance: id, sequence: 1, type: 'created', body: '{"type":"created","put":["open"]}' }],
    },
    {
      w: 'correlation.put',
      key: correlationKey('cases', name, value),
      version: 1,
      body: writeCorrelation({ live: [id], ever: null, buffered: [] }) as string,
    },
  ])
}

function birth(definition: string, lease: Incarnation | null, body: string) {
  const key = randomBytes(12).toString('hex')
  const event = ids.event()
  const work = ids.work()
  const writes: readonly Write[] = [
    {
      w: 'event.append',
      dedupForMs: 604_800_000,
      event: {
        id: event,
        tenant: DEFAULT_TENANT,
        source: 'github',
        subject: 'github.events.issues.opened',
        objectType: 'repository',
        objectId: '42',
        occurredAt: null,
        correlationId: event.slice(4),
        causationId: null,
        traceId: event.slice(4).replaceAll('-', ''),
        dedupKey: key,
        payloadHash: HASH,
        headers: `{"content-type":"application/json","x-github-event":"issues","x-github-delivery":"${key}"}`,
        data: body,
        raw: null,
        sensitive: [],
        matched: 1,
      },
    },
    {
      w: 'work.add',
      lease,
      delayMs: 0,
      work: {
        id: work,
        kind: 'route',
        consumer: 'route:count',
        definition,
        codeHash: null,
        eventId: event,
        expiresInMs: 30 * 86_400_000,
        replayOf: null,
      },
    },
  ]
  return { key, event, work, writes }
}

async function put(store: Store, writes: readonly Write[]): Promise<void> {
  const result = await store.commit({ tenant: DEFAULT_TENANT, guards: [], writes })
  if (!result.ok) throw new Error('a commit without guards was refused')
}
