// The relay over a real database and a real NATS server that dies: two nodes commit, and two relay.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  makeOutsider,
  makeTestBus,
  type Outsider,
  untilConnected,
} from '../src/adapters/bus-nats/harness.fixture.ts'
import { makeSystemClock } from '../src/adapters/clock-system/index.ts'
import { makeMemoryLog } from '../src/adapters/log-memory/index.ts'
import { openPostgresStore } from '../src/adapters/store-postgres/index.ts'
import type { NewEvent } from '../src/core/events/event/index.ts'
import { makeIds, type TenantId } from '../src/core/foundation/ids/index.ts'
import { tokenMessages } from '../src/core/store/outbox/index.ts'
import { makeStoreTime } from '../src/engine/commit/store-time.ts'
import { ENGINE_DEFAULTS } from '../src/engine/index.ts'
import { makeOutboxStore } from '../src/engine/outbox/outbox-store.ts'
import { makeRelay } from '../src/engine/outbox/relay.ts'
import { makeLeaderLease } from '../src/engine/outbox/relay-lease.ts'
import type { Bus } from '../src/ports/bus.ts'
import type { Store } from '../src/ports/store.ts'
import { type NatsServer, startNats } from './support/nats.ts'
import { type PostgresServer, startPostgres } from './support/postgres.ts'

const TENANT = 'acme' as TenantId
const EVENTS = 3_000
const STEPS = 120

let postgres: PostgresServer
let nats: NatsServer
let outsider: Outsider
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  postgres = await startPostgres()
  nats = await startNats()
  outsider = await makeOutsider(nats.url)
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
  await outsider?.close()
  await nats?.close()
  await postgres?.close()
})

let drawn = 7
const ids = makeIds({
  now: Date.now,
  bytes: (length) =>
    Uint8Array.from({ length }, () => {
      drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0
      return drawn >>> 24
    }),
})

function makeEvent(): NewEvent {
  const id = ids.event()
  return {
    ...{ id, tenant: TENANT, source: 'shop', subject: `order.${Number.parseInt(id.slice(-2), 16) % 40}` },
    ...{
      objectType: null,
      objectId: null,
      occurredAt: null,
      correlationId: 'c',
      causationId: null,
      traceId: 't',
    },
    ...{
      dedupKey: id,
      payloadHash: 'h',
      headers: '{}',
      data: '{"n":1}',
      raw: null,
      sensitive: [],
      matched: 0,
    },
  }
}

async function openNode(url: string): Promise<{ readonly store: Store; readonly bus: Bus }> {
  const bus = await untilConnected(makeTestBus([nats.url]))
  const clock = makeSystemClock()
  const behind = await openPostgresStore({ connection: url })
  let wake = () => {}
  const store = makeOutboxStore(behind, () => wake())
  const time = makeStoreTime(clock)
  const leaderLease = makeLeaderLease({ store, time, by: ids.uuid() })
  const relay = makeRelay({ store, bus, clock, log: makeMemoryLog(), time, leaderLease }, ENGINE_DEFAULTS)
  wake = relay.wake
  relay.start()
  closing.push(async () => {
    await relay.stop()
    await bus[Symbol.asyncDispose]()
    await behind[Symbol.asyncDispose]()
  })
  return { store, bus }
}

async function readStream(name: string): Promise<readonly { readonly id: string; readonly body: string }[]> {
  const { streams } = outsider.manager
  const { state } = await streams.info(name)
  const list: { readonly id: string; readonly body: string }[] = []
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    // Of a token's subject only the last message is stored.
    const one = await streams.getMessage(name, { seq }).catch(() => null)
    if (one !== null) list.push({ id: one.header.get('Nats-Msg-Id'), body: one.string() })
  }
  return list
}

test('[BU29] NATS killed and restarted under load: everything is published, once, and tokens are where they belong', async () => {
  const database = await postgres.makeDatabase()
  const nodes = [await openNode(database.url), await openNode(database.url)]
  const storeOf = (index: number) => nodes[index % 2]?.store as Store
  const sent: string[] = []
  const append = async (index: number) => {
    const event = makeEvent()
    await storeOf(index).commit({
      tenant: TENANT,
      guards: [],
      writes: [{ w: 'event.append', event, dedupForMs: 0 }],
    })
    sent.push(event.id)
  }
  /** One token that moves back and forth, moved by both nodes in turn. */
  const id = ids.instance()
  const at = (revision: number) => ({
    ...{ id, workflow: 'triage', state: 'active' as const, revision },
    marking: { [revision % 2 === 0 ? 'a' : 'b']: 1 },
  })
  const move = async (revision: number) => {
    const rows = tokenMessages(TENANT, revision === 0 ? null : at(revision - 1), at(revision))
    await storeOf(revision).commit({ tenant: TENANT, guards: [], writes: [{ w: 'outbox.add', rows }] })
  }
  const moving = (async () => {
    for (let revision = 0; revision <= STEPS; revision += 1) await move(revision)
  })()
  const cuts = [EVENTS / 3, (2 * EVENTS) / 3]
  for (let index = 0; index < EVENTS; index += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, more) => append(index + more)))
    if (index === cuts[0]) await nats.kill()
    if (index === cuts[1]) await nats.start()
  }
  await moving
  const { store } = nodes[0] as (typeof nodes)[number]
  await vi.waitFor(async () => expect(await store.system('relay').outboxCount(10_000)).toBe(0), {
    timeout: 120_000,
    interval: 50,
  })
  const told = await readStream('MILLRACE_EVENTS')
  expect(told.map((one) => one.id).sort()).toEqual([...sent].sort())
  const tokens = await readStream('MILLRACE_TOKENS')
  expect(tokens.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body).place)).toEqual([
    STEPS % 2 === 0 ? 'a' : 'b',
  ])
})

test('[BU34] to an empty NATS the tokens of active instances are republished', async () => {
  const database = await postgres.makeDatabase()
  await vi.waitFor(() => outsider.clear(), 120_000)
  const { store } = await openNode(database.url)
  const put = (revision: number, state: 'active' | 'completed') => {
    const id = ids.instance()
    const row = {
      ...{ id, workflow: 'triage', definition: 'd', version: '1', state, attention: null, revision },
      ...{ marking: { open: 1 }, eventId: ids.event(), correlationId: 'c', parent: null, body: '{}' },
    }
    // By which a start finds its tenants.
    const bundle = { w: 'record.put', kind: 'bundle', key: 'current', version: revision, body: '{}' } as const
    const rows = tokenMessages(TENANT, null, row)
    return store.commit({
      tenant: TENANT,
      guards: [],
      writes: [
        { w: 'instance.put', row },
        bundle,
        ...(rows.length === 0 ? [] : [{ w: 'outbox.add', rows } as const]),
      ],
    })
  }
  for (let index = 1; index <= 250; index += 1) await put(index, index % 5 === 0 ? 'completed' : 'active')
  const isTold = async () => {
    const tokens = await readStream('MILLRACE_TOKENS')
    expect(
      new Set(tokens.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body).instance)).size,
    ).toBe(200)
  }
  await vi.waitFor(isTold, { timeout: 120_000, interval: 100 })
  await nats.kill()
  await nats.start({ isEmpty: true })
  await vi.waitFor(isTold, { timeout: 120_000, interval: 200 })
  await vi.waitFor(async () => expect(await store.system('relay').outboxCount(10)).toBe(0), 120_000)
})
