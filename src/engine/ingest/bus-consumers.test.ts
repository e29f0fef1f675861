// Sources that consume from the bus: what happens to messages when nodes, the store, the bus or the definitions fail or
// change.
import { describe, expect, test } from 'vitest'
import type { DefinitionDocument, SourceDocument } from '../../core/definitions/documents/index.ts'
import { NEW_SHARED } from '../../core/flow-control/rate/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { mayReadStream } from '../../core/ingest/bus-message/index.ts'
import { StoreError } from '../../ports/store.ts'
import type { Node } from '../engine.fixture.ts'
import { BOOK, makeBusWorld, NATS_SOURCE } from './bus.fixture.ts'

const isAccept = (commit: { readonly writes: readonly { readonly w: string }[] }) =>
  commit.writes[0]?.w === 'event.append'
const named = (node: Node, name: string) => node.log.messages.filter((one) => one.name === name)

async function apply(
  node: Node,
  pass: () => Promise<void>,
  documents: readonly DefinitionDocument[],
  tenant: TenantId = DEFAULT_TENANT,
): Promise<void> {
  const applied = node.engine.apply(tenant, documents)
  await pass()
  await applied
}

describe('a message', () => {
  test('[BU56] [BU58] becomes an event, starts its jobs, and is acknowledged', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node()
    const at = world.now()
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    send({ id: 'm1', headers: { Traceparent: `00-${traceId}-b7ad6b7169203331-01`, Authorization: 'x' } })
    await world.pass(1_000)
    const [event] = await events()
    expect(event).toMatchObject({
      subject: 'orders.paid',
      occurredAt: at,
      traceId,
      data: '{"order":"o1"}',
      raw: null,
    })
    expect(JSON.parse(event?.headers ?? '')).toEqual({
      traceparent: expect.any(String),
      'nats-subject': 'orders.paid',
      'nats-msg-id': 'm1',
    })
    expect(world.calls.map(({ request }) => request.headers['idempotency-key'])).toEqual(['BOOK:o1'])
    expect(one.log.controls.map(({ action }) => action)).toContain('ACCEPTED')
    await world.pass(300_000)
    expect(await events()).toHaveLength(1)
    expect((await events())[0]?.duplicates).toBe(0)
  })

  test('[TL5] stays in its stream while the tenant has too many open jobs, and is accepted afterwards', async () => {
    const { world, node, send, events } = makeBusWorld()
    const paused = { ...BOOK, status: 'paused' } as const
    const one = await node({ documents: [NATS_SOURCE, paused], config: { openJobsMax: 2 } })
    for (const order of ['o1', 'o2']) send({ body: `{"order":"${order}"}` })
    await world.pass(5_000)
    for (const order of ['o3', 'o4']) send({ body: `{"order":"${order}"}` })
    await world.pass(30_000)
    expect(await events()).toHaveLength(2)
    await apply(one, () => world.pass(10_000), [NATS_SOURCE, BOOK])
    await world.pass(300_000)
    expect(await events()).toHaveLength(4)
    expect(world.calls).toHaveLength(4)
  })

  test('[BU76] all sources share one byte limit', async () => {
    const { world, node, send, hub, events } = makeBusWorld()
    hub.addStream({ name: 'BILLS', subjects: ['bills.>'] })
    const bills: SourceDocument = { ...NATS_SOURCE, name: 'bills', nats: { subjects: ['bills.>'] } }
    const one = await node({ documents: [NATS_SOURCE, bills, BOOK], config: { messageBytesMax: 8_000 } })
    // Nothing is committed for now: every accepted message is in flight.
    let underWay = 0
    const release: (() => void)[] = []
    one.faults.commit = async (commit, pass) => {
      if (!isAccept(commit)) return pass()
      underWay += 1
      await new Promise<void>((resolve) => release.push(resolve))
      underWay -= 1
      return pass()
    }
    const text = 'x'.repeat(1_000)
    for (let index = 0; index < 20; index += 1) {
      send({ body: `{"order":"o${index}","text":"${text}"}` })
      send({ subject: 'bills.paid', body: `{"bill":"${index}","text":"${text}"}` })
    }
    await world.pass(1_000)
    expect(underWay).toBe(8)
    one.faults.commit = (_, pass) => pass()
    for (const go of release) go()
    await world.pass(60_000)
    expect(await events()).toHaveLength(20)
  })

  test('[BU57] that is redelivered because its acknowledgement was lost is a duplicate', async () => {
    let acknowledgements = 0
    const fate = ({ what }: { readonly what: string }) => {
      if (what !== 'acknowledge') return {}
      acknowledgements += 1
      return { isLost: acknowledgements === 1 }
    }
    const { world, node, send, events } = makeBusWorld({ fate })
    await node()
    send({})
    await world.pass(120_000)
    expect(acknowledgements).toBe(2)
    expect(await events()).toMatchObject([{ duplicates: 1 }])
    expect(world.calls).toHaveLength(1)
  })

  test('[BU58] is not acknowledged while the store fails, and [BU59] is redelivered with growing delays', async () => {
    const { world, node, send, events, hub } = makeBusWorld()
    const one = await node()
    const { commit } = one.faults
    const tries: number[] = []
    one.faults.commit = (given, pass) => {
      if (!isAccept(given)) return pass()
      tries.push(world.now())
      return Promise.reject(new StoreError('unavailable', 'disk full'))
    }
    send({})
    await world.pass(20_000)
    expect(await events()).toEqual([])
    const gaps = tries.slice(1).map((at, index) => at - (tries[index] as number))
    expect(gaps).toEqual([500, 1_000, 2_000, 4_000, 8_000])
    one.faults.commit = commit
    await world.pass(60_000)
    expect(await events()).toHaveLength(1)
    expect(world.calls).toHaveLength(1)
    expect(hub.stored('orders.>')).toHaveLength(1)
  })

  test.each([true, false])(
    '[BU58] whose commit has an unknown outcome (%s) becomes one event',
    async (did) => {
      const { world, node, send, events } = makeBusWorld()
      const one = await node()
      let lost = 0
      one.faults.commit = async (commit, pass) => {
        if (!isAccept(commit) || lost++ > 0) return pass()
        if (did) await pass()
        throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
      }
      send({})
      await world.pass(60_000)
      expect(await events()).toHaveLength(1)
      expect(world.calls).toHaveLength(1)
    },
  )

  test('[BU58] on a node that dies is accepted by another node, once', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node({ name: 'one' })
    one.faults.commit = (commit, pass) => (isAccept(commit) ? new Promise(() => {}) : pass())
    send({})
    await world.pass(1_000)
    one.crash()
    await node({ name: 'two' })
    await world.pass(120_000)
    expect(await events()).toHaveLength(1)
    expect(world.calls.map(({ node: name }) => name)).toEqual(['two'])
  })

  test('[BU59] is left to other nodes by a node that stops', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node({ name: 'one' })
    const drained = one.engine.drain(1_000)
    send({})
    await world.pass(5_000)
    await drained
    expect(await events()).toEqual([])
    await node({ name: 'two' })
    await world.pass(60_000)
    expect(await events()).toHaveLength(1)
  })

  test('[BU70] is delivered to one of several nodes', async () => {
    const { world, node, send, events } = makeBusWorld()
    await node({ name: 'one' })
    await node({ name: 'two' })
    for (let order = 0; order < 100; order += 1) send({ body: JSON.stringify({ order: `o${order}` }) })
    await world.pass(10_000)
    expect(await events()).toHaveLength(100)
    expect((await events()).every(({ duplicates }) => duplicates === 0)).toBe(true)
    expect(world.calls).toHaveLength(100)
  })
})

describe('a message that cannot be read', () => {
  const poisoned = async (body: string | Uint8Array, document: Partial<SourceDocument> = {}) => {
    const made = makeBusWorld()
    const one = await made.node({ documents: [{ ...NATS_SOURCE, ...document }, BOOK] })
    made.send({ body })
    await made.world.pass(1_000)
    const [event] = await made.events()
    const [letter] = (await made.world.store.system('verification').dump()).deadLetters
    if (event === undefined || letter === undefined) throw new Error('nothing was kept')
    return { ...made, one, event, letter }
  }
  const decided = { reason: 'mended', actor: 'ann' } as const

  test('[BU60] becomes an event with a dead letter, and is not redelivered', async () => {
    const { world, event, letter, events } = await poisoned('{"order"')
    expect(event).toMatchObject({
      subject: 'orders.paid',
      raw: '{"order"',
      data: '"{\\"order\\""',
      matched: 1,
    })
    expect(letter).toMatchObject({
      class: 'poison',
      reason: 'unparseable',
      consumer: 'source:orders',
      eventId: event.id,
      state: 'open',
    })
    await world.pass(300_000)
    expect((await events())[0]?.duplicates).toBe(0)
    expect(world.calls).toEqual([])
  })

  test('[BU60] while the source is paused, too', async () => {
    const { letter } = await poisoned('{', { status: 'paused' })
    expect(letter).toMatchObject({ reason: 'unparseable' })
  })

  test('[BU61] is encrypted if the source is sensitive', async () => {
    const { world, event } = await poisoned('{"email":"ann@example.com"', { sensitive: ['payload.email'] })
    const [kept] = (await world.kept.system('verification').dump()).events
    expect(event.raw).toBe('{"email":"ann@example.com"')
    expect(JSON.stringify(kept)).not.toContain('ann@')
  })

  test('[BU62] because it is too large is stored with its beginning and its size', async () => {
    const { event, letter } = await poisoned(JSON.stringify('x'.repeat(20_000)))
    expect(event.raw).toHaveLength(10_000)
    expect(letter.lastError).toContain('20002 bytes')
  })

  test('[BU63] is reparsed by the current source when its dead letter is replayed', async () => {
    const { world, one, letter, event, events } = await poisoned('{"order":"o7"}', {
      subject: 'orders.{{ payload.kind }}',
    })
    expect(letter.lastError).not.toBe('')
    const replay = async () => {
      const replayed = one.engine.replay(DEFAULT_TENANT, letter.id, { force: false, ...decided })
      await world.pass(2_000)
      await replayed
    }
    await replay()
    expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'open', reason: 'unparseable' })
    expect(await events()).toHaveLength(1)
    await apply(one, () => world.pass(), [NATS_SOURCE, BOOK])
    await replay()
    expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'resolved' })
    const child = (await events()).find(({ causationId }) => causationId === event.id)
    expect(child).toMatchObject({
      subject: 'orders.paid',
      data: '{"order":"o7"}',
      correlationId: event.correlationId,
    })
    expect(world.calls.map(({ request }) => request.headers['idempotency-key'])).toEqual(['BOOK:o7'])
  })

  test('[BU63] can be edited, and is named by the edited text; replaying it again creates no second event', async () => {
    const { world, one, letter, event, events } = await poisoned(Uint8Array.of(0xff, 0x00), {
      event: { ...NATS_SOURCE.event, id: 'payload.id' },
    })
    expect(event.raw).toBe('/wA=')
    const edited = one.engine.edit(DEFAULT_TENANT, letter.id, { data: { id: 'e1', order: 'o9' }, ...decided })
    await world.pass()
    await edited
    const replayed = one.engine.replay(DEFAULT_TENANT, letter.id, { force: false, ...decided })
    await world.pass(2_000)
    await replayed
    expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'resolved' })
    const read = (await events()).filter(({ dedupKey }) => dedupKey === 'e1')
    expect(read).toMatchObject([{ subject: 'orders.paid', data: '{"id":"e1","order":"o9"}', raw: null }])
    expect(JSON.parse(read[0]?.headers ?? '')).toEqual({ 'nats-subject': 'orders.paid' })
    expect(world.calls).toHaveLength(1)
  })

  test('[BU63] and was published again meanwhile is not stored twice', async () => {
    const { world, one, letter, send, events } = await poisoned('[[[[[[[[[{"id":1}]]]]]]]]]', {
      event: { ...NATS_SOURCE.event, id: 'payload[0][0][0][0][0][0][0][0][0].id' },
    })
    const mended = {
      ...NATS_SOURCE,
      limits: { bodyBytes: 10_000, depth: 20 },
      event: { ...NATS_SOURCE.event, id: '1' },
    }
    await apply(one, () => world.pass(), [mended, BOOK])
    send({ id: 'again', body: '[[[[[[[[[{"id":1}]]]]]]]]]' })
    await world.pass(1_000)
    const replayed = one.engine.replay(DEFAULT_TENANT, letter.id, { force: false, ...decided })
    await world.pass(2_000)
    await replayed
    expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'resolved' })
    expect(await events()).toHaveLength(2)
  })

  test('[BU69] and is published again correctly under its id is one event, together with its replay', async () => {
    const made = makeBusWorld()
    const one = await made.node()
    const { world } = made
    made.send({ id: 'm1', body: '{"order"' })
    // The stream itself drops an id that it remembers.
    await world.pass(300_000)
    made.send({ id: 'm1', body: '{"order":"o7"}' })
    await world.pass(2_000)
    expect((await made.events()).map(({ raw, data }) => raw ?? data)).toEqual(['{"order"', '{"order":"o7"}'])
    expect(world.calls).toHaveLength(1)
    const [letter] = (await world.store.system('verification').dump()).deadLetters
    const edited = one.engine.edit(DEFAULT_TENANT, letter?.id ?? ('' as never), {
      ...{ data: { order: 'o8' }, ...decided },
    })
    await world.pass()
    await edited
    const replayed = one.engine.replay(DEFAULT_TENANT, letter?.id ?? ('' as never), {
      ...{ force: false, ...decided },
    })
    await world.pass(2_000)
    await replayed
    expect(world.calls).toHaveLength(1)
  })

  test('[BU63] and whose source was removed stays a dead letter', async () => {
    const { world, one, letter } = await poisoned('{')
    await apply(one, () => world.pass(), [BOOK])
    const replayed = one.engine.replay(DEFAULT_TENANT, letter.id, { force: false, ...decided })
    await world.pass(120_000)
    await replayed
    expect(await world.reads.deadLetter(letter.id)).toMatchObject({
      state: 'open',
      reason: 'definition_missing',
    })
  })

  test('[BU61] senders cannot mark a message as unread', async () => {
    const { world, node, send, events } = makeBusWorld()
    await node()
    send({ headers: { 'Millrace-Unread': 'not_json', 'Millrace-Body': 'base64', 'Millrace-Hops': '3' } })
    await world.pass(1_000)
    expect(JSON.parse((await events())[0]?.headers ?? '')).toEqual({ 'nats-subject': 'orders.paid' })
    expect(world.calls).toHaveLength(1)
  })
})

describe('definitions', () => {
  test('[BU64] a paused source goes on consuming, and its events wait', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node({ documents: [{ ...NATS_SOURCE, status: 'paused' }, BOOK] })
    send({})
    await world.pass(10_000)
    expect(await events()).toHaveLength(1)
    expect(world.calls).toEqual([])
    const resumed = one.engine.definitions.control(DEFAULT_TENANT, 'Source', 'orders', 'resume', {
      by: 'ann',
      reason: null,
    })
    await world.pass(10_000)
    await resumed
    expect(world.calls).toHaveLength(1)
  })

  test('[BU64] messages of a disabled source stay in the stream until it is enabled', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node()
    const control = async (verb: 'disable' | 'resume') => {
      const said = { by: 'ann', reason: null }
      const done = one.engine.definitions.control(DEFAULT_TENANT, 'Source', 'orders', verb, said)
      await world.pass(1_000)
      await done
    }
    await control('disable')
    send({})
    await world.pass(60_000)
    expect(await events()).toEqual([])
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({ is: 'stopped' })
    await control('resume')
    await world.pass(60_000)
    expect(await events()).toHaveLength(1)
  })

  test('[BU64] an added source starts, a changed one restarts, and a removed one stops', async () => {
    const { world, hub, node, send, events } = makeBusWorld()
    hub.addStream({ name: 'REST', subjects: ['rest.>'] })
    const one = await node({ documents: [BOOK] })
    const pass = () => world.pass(2_000)
    send({ body: '{"order":"a"}' })
    send({ subject: 'rest.x', body: '{"order":"b"}' })
    await pass()
    expect(await events()).toEqual([])
    await apply(one, pass, [NATS_SOURCE, BOOK])
    expect((await events()).map(({ subject }) => subject)).toEqual(['orders.paid'])
    await apply(one, pass, [{ ...NATS_SOURCE, nats: { subjects: ['orders.>', 'rest.>'] } }, BOOK])
    expect((await events()).map(({ subject }) => subject).sort()).toEqual(['orders.paid', 'rest.x'])
    await apply(one, pass, [BOOK])
    send({ body: '{"order":"c"}' })
    await world.pass(60_000)
    expect(await events()).toHaveLength(2)
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toBeNull()
    await apply(one, pass, [NATS_SOURCE, BOOK])
    await world.pass(60_000)
    expect((await events()).map(({ data }) => data)).toContain('{"order":"c"}')
    expect(await events()).toHaveLength(3)
  })

  test('[BU64] other changes of a source do not restart its consumer', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node()
    expect(named(one, 'source.consuming')).toHaveLength(1)
    await apply(one, () => world.pass(1_000), [{ ...NATS_SOURCE, subject: 'renamed.orders' }, BOOK])
    send({})
    await world.pass(1_000)
    expect((await events()).map(({ subject }) => subject)).toEqual(['renamed.orders'])
    expect(named(one, 'source.consuming')).toHaveLength(1)
  })

  test('[BU65] a durable that several tenants name belongs to one of them; the default name belongs to its own source', async () => {
    const { world, node, send } = makeBusWorld()
    const natsStreams = ['default', 'acme'].map((tenant) => ({ tenant, stream: 'ORDERS' }))
    const one = await node({ config: { natsStreams } })
    const thief = {
      ...NATS_SOURCE,
      name: 'thief',
      nats: { subjects: ['orders.>'], durable: 'millrace_default_orders' },
    }
    const acme = 'acme' as TenantId
    await apply(one, () => world.pass(1_000), [thief], acme)
    for (let order = 0; order < 20; order += 1) send({ body: JSON.stringify({ order: `o${order}` }) })
    await world.pass(10_000)
    expect(world.calls).toHaveLength(20)
    const { events } = await world.store.system('verification').dump()
    expect(events.filter(({ tenant }) => tenant === acme)).toEqual([])
    expect(one.engine.busConsumers.state(acme, 'thief')).toMatchObject({
      is: 'waiting',
      why: expect.stringContaining('another name'),
    })
    expect(named(one, 'source.waiting')).toMatchObject([{ fields: { source: 'thief' } }])
  })
})

describe('[BU74] which streams a tenant may read', () => {
  const acme = 'acme' as TenantId
  const reader = { ...NATS_SOURCE, name: 'reader' }

  test.each([
    ['found by its subjects', reader],
    ['named', { ...reader, nats: { ...reader.nats, stream: 'ORDERS' } }],
  ])('without a list, only the owner tenant may read streams: %s', async (_, document) => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node()
    await apply(one, () => world.pass(1_000), [document as typeof NATS_SOURCE], acme)
    send({})
    await world.pass(10_000)
    expect((await events()).map(({ tenant }) => tenant)).toEqual(['default'])
    expect(one.engine.busConsumers.state(acme, 'reader')).toMatchObject({
      is: 'waiting',
      why: expect.stringContaining('MILLRACE_NATS_STREAMS'),
    })
  })

  test('with a list, each tenant reads its own streams, also if its source names no stream', async () => {
    const { world, hub, node, send } = makeBusWorld()
    hub.addStream({ name: 'ACME_CRM', subjects: ['crm.>'] })
    const natsStreams = [{ tenant: 'acme', stream: 'ACME_*' }]
    const one = await node({ config: { natsStreams } })
    const crm = { ...reader, nats: { subjects: ['crm.>'] } }
    const orders = { ...reader, name: 'curious' }
    await apply(one, () => world.pass(1_000), [crm, orders], acme)
    send({})
    send({ subject: 'crm.contact' })
    await world.pass(10_000)
    const { events } = await world.store.system('verification').dump()
    expect(events.map(({ tenant, subject }) => `${tenant} ${subject}`)).toEqual(['acme crm.contact'])
    expect(one.engine.busConsumers.state(acme, 'curious')).toMatchObject({ is: 'waiting' })
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({
      is: 'waiting',
      why: expect.stringContaining('MILLRACE_NATS_STREAMS'),
    })
  })

  test('a node never reads its own streams', () => {
    const list = [{ tenant: 'acme', stream: '*' }]
    expect(mayReadStream(list, 'millrace', 'acme', 'MILLRACE_EVENTS')).toBe(false)
    expect(mayReadStream(list, 'acme.eu', 'acme', 'ACME_EU_TOKENS')).toBe(false)
    expect(mayReadStream(list, 'millrace', 'acme', 'ORDERS')).toBe(true)
    expect(mayReadStream(null, 'millrace', 'default', 'MILLRACE_TOKENS')).toBe(false)
  })
})

test('[BU52] a source that would consume what its own node publishes, under another prefix, waits', async () => {
  const { world, node, send, events } = makeBusWorld()
  const one = await node({ config: { busPrefix: 'orders' } })
  send({})
  await world.pass(60_000)
  expect(await events()).toEqual([])
  expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({
    is: 'waiting',
    why: expect.stringContaining('MILLRACE_NATS_PREFIX'),
  })
  expect(named(one, 'source.waiting')).toHaveLength(1)
})

test('[BU66] beyond the rate a message waits, and none is lost or refused', async () => {
  const { world, node, send, events } = makeBusWorld()
  const limited = { ...NATS_SOURCE, rateLimit: { perMinute: 60, burst: 5 } }
  const one = await node({ documents: [limited, BOOK] })
  for (let order = 0; order < 20; order += 1) send({ body: JSON.stringify({ order: `o${order}` }) })
  await world.pass(500)
  expect(await events()).toHaveLength(5)
  await world.pass(7_000)
  expect(await events()).toHaveLength(12)
  const drained = one.engine.drain(1_000)
  await world.pass(2_000)
  expect((await drained).left).toBe(0)
  await node({ name: 'two', documents: [limited, BOOK] })
  await world.pass(120_000)
  expect(await events()).toHaveLength(20)
  expect(world.calls).toHaveLength(20)
})

test('[BU66] a source that is closed while it acquires a permit stops waiting', async () => {
  const { world, node, send } = makeBusWorld()
  const limited = { ...NATS_SOURCE, rateLimit: { perMinute: 1, burst: 1 } }
  let release: (() => void) | null = null
  const one = await node({
    documents: [limited, BOOK],
    config: { isShared: true },
    faults: {
      async commit(commit, pass) {
        const isDraw = commit.writes.some((write) => write.w === 'record.put' && write.kind === 'rate')
        if (isDraw && release === null)
          await new Promise<void>((resolve) => {
            release = resolve
          })
        return pass()
      },
    },
  })
  send({})
  await world.pass(100)
  // Another node was faster and took the only permit.
  const body = JSON.stringify({ ...NEW_SHARED, tokens: { count: 0, at: world.now() } })
  const put = { w: 'record.put', kind: 'rate', key: 'source/orders', version: 1, body } as const
  const putting = world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [put] })
  await world.pass()
  await putting
  let isDrained = false
  const drained = one.engine.drain(60_000).then(() => {
    isDrained = true
  })
  await world.pass()
  expect([release === null, isDrained]).toEqual([false, false])
  ;(release as (() => void) | null)?.()
  await world.pass(100)
  expect(isDrained).toBe(true)
  await drained
})

describe('a node', () => {
  test('[BU67] without a bus logs that once, and runs', async () => {
    const { world } = makeBusWorld()
    const one = await world.node({ documents: [NATS_SOURCE, BOOK] })
    await apply(one, () => world.pass(), [NATS_SOURCE])
    expect(named(one, 'source.no-bus')).toMatchObject([
      { fields: { source: 'orders', next: expect.stringContaining('MILLRACE_NATS_URL') } },
    ])
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({
      is: 'waiting',
      why: expect.stringContaining('MILLRACE_NATS_URL'),
    })
  })

  test('[BU67] without the ingest role consumes nothing from the bus', async () => {
    const { world, node, send, events } = makeBusWorld()
    const one = await node({ config: { roles: new Set(['api', 'work']) } })
    send({})
    await world.pass(10_000)
    expect(await events()).toEqual([])
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({ is: 'stopped' })
  })

  test('[BU68] logs what its consumers wait for, and when they go on', async () => {
    const { world, hub, node, send, events } = makeBusWorld()
    hub.removeStream('ORDERS')
    const one = await node()
    await world.pass(1_000)
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toMatchObject({ is: 'waiting' })
    expect(named(one, 'source.waiting')).toMatchObject([
      { fields: { source: 'orders', why: expect.any(String) } },
    ])
    hub.addStream({ name: 'ORDERS', subjects: ['orders.>'] })
    await world.pass(60_000)
    expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'orders')).toEqual({ is: 'consuming' })
    expect(named(one, 'source.consuming')).toHaveLength(1)
    send({})
    await world.pass(1_000)
    expect(await events()).toHaveLength(1)
  })
})
