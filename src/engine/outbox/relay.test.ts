import { describe, expect, test } from 'vitest'
import { type LocalHub, type LocalHubOptions, makeLocalHub } from '../../adapters/bus-local/index.ts'
import type { SourceDocument, WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { TOKENS_REPUBLISHED_EVERY_MS, TOKENS_STORED_MS } from '../../core/store/outbox/index.ts'
import type { Commit, Store } from '../../ports/store.ts'
import {
  accept,
  CREATED,
  makeWorld,
  type Node,
  type NodeOptions,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { CASE, heard, sender } from '../workflows/order-workflow.fixture.ts'

const ALL = 'millrace.>'
const EVENTS = 'millrace.default.events.>'
const TOKENS = 'millrace.default.workflows.>'
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

interface Mirrored {
  readonly world: World
  readonly hub: LocalHub
  /** A node on the bus; `leave` cuts it off with its messages in flight. */
  open(options?: NodeOptions): Promise<Node & { leave(): void }>
  idsOf(pattern: string): readonly (string | null)[]
  waiting(): Promise<number>
}

function makeMirrored(options: Partial<LocalHubOptions> = {}): Mirrored {
  const world = makeWorld(() => CREATED)
  const hub = makeLocalHub({ clock: world.clock, ...options })
  return {
    world,
    hub,
    async open(of = {}) {
      const bus = hub.connect(of.name ?? 'one')
      const node = await world.node({
        bus,
        wakes: bus.wakes,
        ...of,
        config: { hasOutbox: true, ...of.config },
      })
      return Object.assign(node, {
        leave() {
          node.crash()
          bus.cut()
        },
      })
    },
    idsOf: (pattern) => hub.stored(pattern).map(({ id }) => id),
    waiting: () => world.store.system('relay').outboxCount(1_000),
  }
}

const paid = (id: string, more: object = {}) => ({ kind: 'paid', id, order: id, ...more })

describe('what is published', () => {
  test('[BU27] an event is in the outbox by the commit that stores it, and on the bus soon after', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const commits: Commit[] = []
    const node = await open({
      faults: {
        commit: (commit, pass) => {
          commits.push(commit)
          return pass()
        },
      },
    })
    await world.pass(100)
    const id = await accept(world, node)
    const appending = commits.filter(({ writes }) => writes.some(({ w }) => w === 'event.append'))
    expect(appending[0]?.writes.filter(({ w }) => w === 'outbox.add')).toEqual([
      {
        w: 'outbox.add',
        rows: [{ id, subject: 'default.events.shop.events.paid', about: 'event', event: id, body: null }],
      },
    ])
    await world.pass(100)
    const [told] = hub.stored(EVENTS)
    expect(told).toMatchObject({ id, subject: 'millrace.default.events.shop.events.paid' })
    expect(told?.headers).toMatchObject({
      'millrace-tenant': 'default',
      'millrace-subject': 'shop.events.paid',
    })
    expect(JSON.parse(decode(told?.body ?? new Uint8Array()))).toMatchObject({
      id,
      subject: 'shop.events.paid',
      data: { kind: 'paid', id: 'd1', order: 'o1' },
    })
    expect(await waiting()).toBe(0)
  })

  test('[BU27] every event of the store is on the bus, in its order, also the canonical ones', async () => {
    const { world, open, idsOf, waiting } = makeMirrored()
    const node = await open()
    const sent = Promise.all(Array.from({ length: 60 }, (_, index) => node.send(paid(`d${index}`))))
    await world.pass(5_000)
    const { events } = await world.store.system('verification').dump()
    expect(events.length).toBeGreaterThanOrEqual(60)
    expect([...idsOf(EVENTS)].sort()).toEqual(events.map(({ id }) => id).sort())
    const accepted = (await sent).map(({ eventId }) => eventId)
    expect(idsOf('millrace.default.events.shop.events.paid')).toEqual(accepted)
    expect(await waiting()).toBe(0)
    expect(await heard(world, node.engine.relay?.status() ?? Promise.reject())).toMatchObject({
      ...{ waiting: 0, told: events.length, refused: 0, held: null, eldestAt: null },
    })
  })

  test('[FA10] what a newer version wrote stays for a node of that version, and holds up nothing', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open()
    await world.pass(100)
    const id = 'evt_0197c3f0-6bff-7000-8000-0097bf2f1e4d' as EventId
    const body = JSON.stringify(['webhook.delivered', 0, 'c', 0, null, null, 1, '=k', 999, 'x'])
    const row = {
      id,
      subject: 'default.events.webhook.delivered',
      about: 'event',
      event: null,
      body,
    } as const
    await heard(
      world,
      world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [{ w: 'outbox.add', rows: [row] }] }),
    )
    await world.pass(30_000)
    const sent = await accept(world, node)
    await world.pass(60_000)
    expect(hub.stored(EVENTS).map((message) => message.id)).toEqual([sent])
    expect(await waiting()).toBe(1)
    expect(await heard(world, node.engine.relay?.status() ?? Promise.reject())).toMatchObject({
      ...{ waiting: 1, refused: 0, held: expect.stringContaining('newer version') },
    })
    const logged = node.log.messages.filter(({ name }) => name === 'relay.waiting')
    expect(logged).toHaveLength(1)
  })

  test('[BU27] without a bus nothing is stored for publishing', async () => {
    const { world, open, waiting } = makeMirrored()
    const node = await open({ config: { hasOutbox: false } })
    await accept(world, node)
    expect(await waiting()).toBe(0)
    expect(node.engine.relay).toBeNull()
    const alone = await world.node({ name: 'two', config: { hasOutbox: true } })
    await accept(world, alone, paid('d2'))
    expect(await waiting()).toBe(0)
  })

  test('[BU20] subjects begin as the setting says', async () => {
    const { world, hub, open } = makeMirrored({ prefix: 'our.mill' })
    const node = await open({ config: { busPrefix: 'our.mill' } })
    await accept(world, node)
    await world.pass(1_000)
    expect(hub.stored('our.mill.default.events.shop.events.paid')).toHaveLength(1)
  })

  test('[BU25] values that a source declares as sensitive are hidden', async () => {
    const { world, hub, open } = makeMirrored()
    const source: SourceDocument = { ...SOURCE, sensitive: ['payload.card'] }
    const node = await open({ documents: [source] })
    await accept(world, node, paid('d1', { card: '4711-secret' }))
    await world.pass(1_000)
    const [told] = hub.stored('millrace.default.events.shop.>')
    expect(JSON.parse(decode(told?.body ?? new Uint8Array())).data).toMatchObject({
      order: 'd1',
      card: '[hidden]',
    })
    expect(hub.stored(ALL).some(({ body }) => decode(body).includes('4711-secret'))).toBe(false)
  })

  test('[BU26] an event stays until it was published, however long the bus is down', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open({ documents: [SOURCE], config: { leaseMs: DAY } })
    hub.setReachable(false)
    const id = await accept(world, node)
    await world.pass(70_000)
    const prune = () =>
      world.store.prune({
        ...{ tenant: DEFAULT_TENANT, keepMs: {}, otherwiseMs: 1_000, after: null, scanMax: 1_000 },
      })
    await prune()
    expect(await world.reads.event(id)).not.toBeNull()
    hub.setReachable(true)
    await world.pass(20_000)
    expect(await waiting()).toBe(0)
    expect(hub.stored('millrace.default.events.shop.>')).toHaveLength(1)
    await prune()
    expect(await world.reads.event(id)).toBeNull()
    expect(node.log.messages.filter(({ name }) => name === 'relay.gone')).toEqual([])
  })

  test('[BU26] a row about a deleted event is removed, and logged', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open({ documents: [SOURCE] })
    const row = {
      id: 'gone',
      subject: 'shop.paid',
      about: 'event',
      event: 'evt_gone' as EventId,
      body: null,
    } as const
    const writes = [{ w: 'outbox.add' as const, rows: [row] }]
    await heard(world, world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes }))
    await world.pass(20_000)
    expect(await waiting()).toBe(0)
    expect(hub.stored('millrace.default.events.shop.>')).toEqual([])
    expect(node.log.messages.filter(({ name }) => name === 'relay.gone')).toHaveLength(1)
  })
})

describe('tokens', () => {
  /** Subjects that hold something, by the last message of each. */
  const heldBy = (hub: LocalHub) =>
    hub.stored(TOKENS).flatMap(({ subject, body }) => (body.byteLength === 0 ? [] : [subject]))

  test('[BU23] the last messages of the bus show where the tokens of active instances are', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open({ documents: [SOURCE, CASE] })
    const send = sender(world, node)
    await send('ordered', 'o1')
    await send('ordered', 'o2')
    await world.pass(1_000)
    const { items } = await world.reads.instances({ cursor: null, limit: 10 })
    const subjectOf = (id: string) => `millrace.default.workflows.order.places.open.tokens.${id}-1`
    expect([...heldBy(hub)].sort()).toEqual(items.map(({ id }) => subjectOf(id)).sort())
    const [told] = hub.stored(TOKENS)
    expect(JSON.parse(decode(told?.body ?? new Uint8Array()))).toEqual({
      ...{ tenant: 'default', workflow: 'order', place: 'open', instance: items[1]?.id },
      ...{ token: `${items[1]?.id}-1`, since: new Date(items[1]?.createdAt ?? 0).toISOString() },
    })
    await send('closed', 'o1')
    await world.pass(1_000)
    expect(heldBy(hub)).toEqual([subjectOf(items[0]?.id ?? '')])
    expect(await waiting()).toBe(0)
  })

  const classified = (more: Partial<NonNullable<WorkflowDocument['security']>> = {}): WorkflowDocument => ({
    ...CASE,
    security: {
      ...{ permissions: [], classification: 'internal', enforced: true, encrypt: [], audit: 'full' },
      ...more,
    },
  })
  const bodies = (hub: LocalHub) =>
    hub.stored(TOKENS).map(({ body }) => JSON.parse(decode(body)) as { data?: Record<string, unknown> })

  test('[BU77] a public or internal instance publishes its data, also when it changes or is republished', async () => {
    const { world, hub, open } = makeMirrored()
    const node = await open({ documents: [SOURCE, classified()] })
    await sender(world, node)('ordered', 'o1')
    await world.pass(1_000)
    const [instance] = (await world.reads.instances({ cursor: null, limit: 1 })).items
    const { data } = JSON.parse(instance!.body) as { data: object }
    expect(bodies(hub).map((one) => one.data)).toEqual([data])
    const operator = { tenant: DEFAULT_TENANT, actor: 'ada', role: 'admin', permissions: [] } as const
    const edit = { changes: [{ path: 'data.note', value: 'new' }], reason: 'late' }
    await heard(world, node.engine.workflows.instanceActions.edit(operator, instance!.id, edit))
    await world.pass(1_000)
    expect(bodies(hub).at(-1)?.data).toEqual({ ...data, note: 'new' })
    hub.loseState()
    await world.pass(1_000)
    expect(bodies(hub).map((one) => one.data)).toEqual([{ ...data, note: 'new' }])
  })

  test.each([
    ['says nothing of its classification', { classification: undefined }],
    ['took the classification for a label', { enforced: undefined }],
    ['encrypts a value', { encrypt: ['data.order'] }],
    ['is confidential', { classification: 'confidential', encrypt: ['data', 'metadata'] }],
  ] as const)('[BU77] no data of an instance whose workflow %s', async (_, more) => {
    const { world, hub, open } = makeMirrored()
    const node = await open({ documents: [SOURCE, classified(more as never)] })
    await sender(world, node)('ordered', 'o1')
    await world.pass(1_000)
    hub.loseState()
    await world.pass(1_000)
    expect(bodies(hub)).toHaveLength(1)
    expect(bodies(hub)[0]).not.toHaveProperty('data')
  })

  test('[BU77] no data of an instance that a sensitive event began', async () => {
    const { world, hub, open } = makeMirrored()
    const node = await open({ documents: [{ ...SOURCE, sensitive: ['payload.secret'] }, classified()] })
    await sender(world, node)('ordered', 'o1')
    await world.pass(1_000)
    hub.loseState()
    await world.pass(1_000)
    expect(bodies(hub)).toHaveLength(1)
    expect(bodies(hub)[0]).not.toHaveProperty('data')
  })

  test('[BU27] a token is published by the commit that moves it', async () => {
    const { world, open } = makeMirrored()
    const commits: Commit[] = []
    const node = await open({
      documents: [SOURCE, CASE],
      faults: {
        commit: (commit, pass) => {
          commits.push(commit)
          return pass()
        },
      },
    })
    await sender(world, node)('ordered', 'o1')
    const putting = commits.filter(({ writes }) => writes.some(({ w }) => w === 'instance.put'))
    expect(putting.length).toBeGreaterThan(0)
    const told = putting.flatMap(({ writes }) =>
      writes.flatMap((one) => (one.w === 'outbox.add' ? one.rows : [])),
    )
    expect(told.filter(({ about }) => about === 'token').map(({ body }) => body !== null)).toEqual([true])
  })
})

describe('republished tokens', () => {
  const subjectsHeld = (hub: LocalHub) =>
    hub.stored(TOKENS).flatMap(({ subject, body }) => (body.byteLength === 0 ? [] : [subject]))
  const subjectOf = (id: string) => `millrace.default.workflows.order.places.open.tokens.${id}-1`
  const active = async (world: World) =>
    (await heard(world, world.reads.instances({ state: 'active', cursor: null, limit: 1_000 }))).items

  test('[BU34] a bus that lost its data gets the places of all tokens, and nothing of instances that ended', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open({ documents: [SOURCE, CASE] })
    const send = sender(world, node)
    // More than are republished at once.
    for (let index = 0; index < 130; index += 1) await send('ordered', `o${index}`)
    await send('closed', 'o7')
    await world.pass(1_000)
    hub.loseState()
    await world.pass(1_000)
    const instances = await active(world)
    expect(instances).toHaveLength(129)
    expect(hub.stored(TOKENS)).toHaveLength(129)
    expect(subjectsHeld(hub).sort()).toEqual(instances.map(({ id }) => subjectOf(id)).sort())
    const [told] = hub.stored(TOKENS)
    const of = instances.find(({ id }) => told?.subject === subjectOf(id))
    expect(JSON.parse(decode(told?.body ?? new Uint8Array()))).toEqual({
      ...{ tenant: 'default', workflow: 'order', place: 'open', instance: of?.id, token: `${of?.id}-1` },
      since: new Date(of?.updatedAt ?? 0).toISOString(),
    })
    expect(node.log.messages.filter(({ name }) => name === 'relay.retold')).toMatchObject([
      { fields: { tokens: 129 } },
    ])
    await send('closed', 'o8')
    await world.pass(1_000)
    expect(subjectsHeld(hub)).toHaveLength(128)
    expect(await waiting()).toBe(0)
  })

  test('[BU34] one that moves while it is republished is published at its new place', async () => {
    const { world, hub, open } = makeMirrored()
    let isMoving = false
    let moved: Promise<unknown> | null = null
    const node = await open({
      documents: [SOURCE, CASE],
      faults: {
        commit: async (commit, pass) => {
          const isRetold = commit.guards.some((one) => one.g === 'version' && one.of === 'instance')
          const isOnlyTold = commit.writes.every(({ w }) => w === 'outbox.add')
          if (isMoving && isRetold && isOnlyTold) {
            isMoving = false
            moved = node.send({ kind: 'closed', id: 'late', order: 'o1' })
            await new Promise<void>((resolve) => world.clock.after(500, resolve))
          }
          return pass()
        },
      },
    })
    const send = sender(world, node)
    await send('ordered', 'o1')
    await send('ordered', 'o2')
    isMoving = true
    hub.loseState()
    await world.pass(5_000)
    await moved
    const [left, ...others] = await active(world)
    expect(others).toEqual([])
    expect(subjectsHeld(hub)).toEqual([subjectOf(left?.id ?? '')])
  })

  test('[BU34] a node that started while the bus was another one finds out, and one that knows does not repeat it', async () => {
    const { world, hub, open } = makeMirrored()
    const first = await open({ name: 'one', documents: [SOURCE, CASE] })
    await sender(world, first)('ordered', 'o1')
    await world.pass(1_000)
    first.leave()
    hub.loseState()
    const second = await open({ name: 'two', documents: [SOURCE, CASE] })
    await world.pass(2_000)
    expect(subjectsHeld(hub)).toHaveLength(1)
    second.leave()
    const third = await open({ name: 'three', documents: [SOURCE, CASE] })
    await world.pass(2_000)
    expect(third.log.messages.filter(({ name }) => name === 'relay.retold')).toEqual([])
  })

  test('[BU35] tokens that stay are republished before the bus expires them', async () => {
    const { world, hub, open } = makeMirrored()
    const first = await open({ name: 'one', documents: [SOURCE, CASE] })
    await sender(world, first)('ordered', 'o1')
    await world.pass(1_000)
    first.leave()
    const [before] = hub.stored(TOKENS)
    const record = await heard(world, world.reads.record('relay', 'tokens'))
    const told = JSON.parse(record?.body ?? '')
    const version = (record?.version ?? 0) + 1
    const body = JSON.stringify({ ...told, at: told.at - TOKENS_REPUBLISHED_EVERY_MS })
    const put = { w: 'record.put', kind: 'relay', key: 'tokens', version, body } as const
    await heard(world, world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [put] }))
    await open({ name: 'two', documents: [SOURCE, CASE] })
    await world.pass(2_000)
    const [after] = hub.stored(TOKENS)
    expect(after?.subject).toBe(before?.subject)
    expect(after?.id).not.toBe(before?.id)
    expect(TOKENS_STORED_MS).toBeGreaterThan(3 * TOKENS_REPUBLISHED_EVERY_MS)
  })
})

describe('a bus that fails', () => {
  test('[BU29] one that is down holds up nothing, and gets everything when it is back, each once', async () => {
    const { world, hub, open, idsOf, waiting } = makeMirrored()
    const node = await open()
    await world.pass(1_000)
    hub.setReachable(false)
    const ids: string[] = []
    for (let index = 0; index < 30; index += 1) ids.push(await accept(world, node, paid(`d${index}`)))
    await world.pass(60_000)
    expect(await waiting()).toBeGreaterThanOrEqual(30)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([])
    expect(node.log.messages.filter(({ name }) => name === 'relay.waiting')).toHaveLength(1)
    expect(await heard(world, node.engine.relay?.status() ?? Promise.reject())).toMatchObject({
      held: expect.stringContaining('bus'),
    })
    hub.setReachable(true)
    await world.pass(1_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual(ids)
    expect(await waiting()).toBe(0)
    expect(node.log.messages.filter(({ name }) => name === 'relay.resumed')).toHaveLength(1)
  })

  test('[BU29] a long wait of the oldest is logged once', async () => {
    const { world, hub, open } = makeMirrored()
    const node = await open({ config: { leaseMs: DAY } })
    hub.setReachable(false)
    await accept(world, node)
    await world.pass(20 * 60_000)
    expect(node.log.messages.filter(({ name }) => name === 'relay.late')).toHaveLength(1)
  })

  test('[BU29] lost messages and responses are published again, and stored once, in their order', async () => {
    let nth = 0
    const { world, open, idsOf, waiting } = makeMirrored({
      answerMs: 500,
      fate: ({ what }) => {
        nth += 1
        return { isLost: (what === 'publish' || what === 'answer') && nth % 5 === 0 }
      },
    })
    const node = await open()
    const sent = Promise.all(Array.from({ length: 40 }, (_, index) => node.send(paid(`d${index}`))))
    await world.pass(120_000)
    const accepted = (await sent).map(({ eventId }) => eventId)
    expect(idsOf('millrace.default.events.shop.>')).toEqual(accepted)
    expect(await waiting()).toBe(0)
  })

  test('[BU29] one that lost its data continues with new messages', async () => {
    const { world, hub, open, idsOf } = makeMirrored()
    const node = await open()
    await accept(world, node, paid('d1'))
    await world.pass(1_000)
    hub.loseState()
    const id = await accept(world, node, paid('d2'))
    await world.pass(1_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
  })

  test('[BU31] a message that it will never accept is removed and logged, and holds nothing back', async () => {
    const { world, open, idsOf, waiting } = makeMirrored({ maxBytes: 4_096 })
    const node = await open({ documents: [SOURCE] })
    const send = (id: string, more: object = {}) => accept(world, node, paid(id, more))
    const [first, large, last] = [
      await send('d1'),
      await send('d2', { text: 'x'.repeat(5_000) }),
      await send('d3'),
    ]
    await world.pass(5_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([first, last])
    const refused = node.log.messages.filter(({ name }) => name === 'relay.refused')
    expect(refused).toMatchObject([{ level: 'error', fields: { id: large, tenant: 'default' } }])
    expect(await waiting()).toBe(0)
    const alone = await send('d4', { text: 'x'.repeat(5_000) })
    await world.pass(5_000)
    expect(await waiting()).toBe(0)
    expect(node.log.messages.filter(({ name }) => name === 'relay.refused')[1]?.fields).toMatchObject({
      id: alone,
    })
    expect(await heard(world, node.engine.relay?.status() ?? Promise.reject())).toMatchObject({ refused: 2 })
  })

  test('[BU30] a node that crashed between publishing and removing: another publishes again, and the bus has it once', async () => {
    const { world, open, idsOf, waiting } = makeMirrored()
    const deaf = await open({
      name: 'one',
      faults: {
        commit: (commit, pass) =>
          commit.writes.some(({ w }) => w === 'outbox.delete') ? new Promise<never>(() => {}) : pass(),
      },
    })
    const id = await accept(world, deaf)
    await world.pass(1_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
    expect(await waiting()).toBeGreaterThan(0)
    deaf.leave()
    await open({ name: 'two' })
    await world.pass(60_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
    expect(await waiting()).toBe(0)
  })
})

describe('a subject that the bus does not accept', () => {
  /** More than are read at once, at the head of the outbox. */
  const fill = (world: World, count: number, subjectOf: (index: number) => string) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      ...{
        id: `t${index}`,
        subject: subjectOf(index),
        about: 'token' as const,
        event: null,
        body: `${index}`,
      },
    }))
    const writes = [{ w: 'outbox.add' as const, rows }]
    return heard(world, world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes }))
  }

  test('[BU33] more of one than are read at once hold up no other; they are published in order when it is accepted', async () => {
    const { world, hub, open, idsOf, waiting } = makeMirrored()
    await fill(world, 900, () => 'default.nobody.has.this')
    const node = await open()
    await world.pass(2_000)
    const id = await accept(world, node)
    await world.pass(500)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
    expect(await waiting()).toBe(900)
    expect(node.log.messages.filter(({ name }) => name === 'relay.waiting')).toHaveLength(1)
    hub.addStream({ name: 'LATE', subjects: ['millrace.default.nobody.>'] })
    await world.pass(15_000)
    expect(idsOf('millrace.default.nobody.>')).toEqual(Array.from({ length: 900 }, (_, n) => `t${n}`))
    expect(await waiting()).toBe(0)
    expect(node.log.messages.filter(({ name }) => name === 'relay.resumed')).toHaveLength(1)
  })

  test('[BU33] many subjects, each with its own, hide neither later messages nor one that is too large', async () => {
    const { world, open, idsOf, waiting } = makeMirrored({ maxBytes: 4_096 })
    await fill(world, 600, (index) => `default.nobody.has.this.${index}`)
    const node = await open({ documents: [SOURCE] })
    const [first, large, last] = [
      await accept(world, node, paid('d1')),
      await accept(world, node, paid('d2', { text: 'x'.repeat(5_000) })),
      await accept(world, node, paid('d3')),
    ]
    await world.pass(400_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([first, last])
    expect(node.log.messages.filter(({ name }) => name === 'relay.refused')).toMatchObject([
      { fields: { id: large } },
    ])
    expect(await waiting()).toBe(600)
  })
})

describe('what holds it back', () => {
  test('[BU33] more than can be tried before the retry hide nothing behind them', async () => {
    // Each batch takes longer than the longest wait.
    const { world, open, idsOf } = makeMirrored({
      answerMs: 30_000,
      fate: ({ what, subject }) => ({
        delayMs: what === 'publish' && subject.startsWith('millrace.default.nobody') ? 12_000 : 0,
      }),
    })
    const rows = Array.from({ length: 2_000 }, (_, index) => ({
      ...{ id: `t${index}`, subject: `default.nobody.${index}`, about: 'token' as const },
      ...{ event: null, body: '{}' },
    }))
    await heard(
      world,
      world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [{ w: 'outbox.add', rows }] }),
    )
    const node = await open()
    const id = await accept(world, node)
    await world.pass(180_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
  })

  test('[BU37] rows that are committed and not visible are logged, with what holds them back, until they are', async () => {
    const { world, open, idsOf, waiting } = makeMirrored()
    let isHeld = true
    const behind = world.kept.system
    const system: Store['system'] = (reason) => {
      const reads = behind(reason)
      if (!isHeld) return reads
      return {
        ...reads,
        outbox: async () => ({ rows: [], events: [] }),
        outboxEldest: async () => ({ ...(await reads.outboxEldest()), heldBy: 'process 7; end it' }),
      }
    }
    Object.assign(world.kept, { system })
    const node = await open()
    const id = await accept(world, node)
    await world.pass(9_000)
    expect(node.log.messages.filter(({ name }) => name === 'relay.waiting')).toEqual([])
    await world.pass(60_000)
    expect(node.log.messages.filter(({ name }) => name === 'relay.waiting')).toMatchObject([
      { fields: { why: 'process 7; end it' } },
    ])
    expect(await heard(world, node.engine.relay?.status() ?? Promise.reject())).toMatchObject({
      ...{ held: 'process 7; end it', eldestAt: expect.any(Number), waiting: await waiting() },
    })
    isHeld = false
    await world.pass(2_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
    expect(node.log.messages.filter(({ name }) => name === 'relay.resumed')).toHaveLength(1)
  })
})

describe('a node that stops', () => {
  test('[BU38] publishes the messages of its last jobs', async () => {
    const { world, open, idsOf, waiting } = makeMirrored({
      fate: ({ what }) => ({ delayMs: what === 'publish' ? 200 : 0 }),
    })
    const node = await open()
    await world.pass(100)
    const ids: string[] = []
    for (let index = 0; index < 30; index += 1) ids.push(await accept(world, node, paid(`d${index}`)))
    expect(idsOf(EVENTS).length).toBeLessThan(30)
    const drained = node.engine.drain(10_000)
    await world.pass(9_000)
    await drained
    expect(idsOf('millrace.default.events.shop.>')).toEqual(ids)
    expect(await waiting()).toBe(0)
  })

  test('[BU38] does not wait for a bus that is down, nor longer than it may', async () => {
    const { world, hub, open, waiting } = makeMirrored()
    const node = await open()
    await world.pass(100)
    hub.setReachable(false)
    await accept(world, node)
    const before = world.clock.monotonic()
    let tookMs = 0
    const drained = node.engine.drain(10_000).then(() => {
      tookMs = world.clock.monotonic() - before
    })
    await world.pass(12_000)
    await drained
    expect(tookMs).toBeLessThan(2_000)
    expect(await waiting()).toBeGreaterThan(0)
  })
})

describe('several nodes', () => {
  const SHARED = { isShared: true, hasOutbox: true } as const
  const relayers = (nodes: readonly Node[], world: World) =>
    Promise.all(nodes.map((node) => heard(world, node.engine.relay?.status() ?? Promise.reject())))

  test('[BU28] one relays; when it crashes another continues after its lease', async () => {
    const { world, open, idsOf } = makeMirrored()
    const [one, two] = [
      await open({ name: 'one', config: SHARED }),
      await open({ name: 'two', config: SHARED }),
    ]
    await world.pass(2_000)
    const first = await accept(world, two, paid('d1'))
    await world.pass(200)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([first])
    const [ofOne, ofTwo] = await relayers([one, two], world)
    expect([ofOne?.told === 0, ofTwo?.told]).toEqual([false, 0])
    one.leave()
    const second = await accept(world, two, paid('d2'))
    await world.pass(5_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([first])
    await world.pass(15_000)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([first, second])
  })

  test('[BU28] one that stops lets another continue at once', async () => {
    const { world, open, idsOf } = makeMirrored()
    const [one, two] = [
      await open({ name: 'one', config: SHARED }),
      await open({ name: 'two', config: SHARED }),
    ]
    await world.pass(2_000)
    const drained = one.engine.drain(10_000)
    await world.pass(1_500)
    await drained
    // Versions continue: a node that slept since before must not find its own version again.
    const lease = await heard(world, world.reads.record('relay', 'turn'))
    expect(lease?.version).toBeGreaterThan(1)
    const id = await accept(world, two)
    await world.pass(100)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
  })

  test('[BU28] it is renewed for as long as its node lives', async () => {
    const { world, open, idsOf } = makeMirrored()
    const [one, two] = [
      await open({ name: 'one', config: SHARED }),
      await open({ name: 'two', config: SHARED }),
    ]
    await world.pass(120_000)
    const id = await accept(world, two)
    await world.pass(500)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
    expect((await relayers([one, two], world)).map(({ told }) => told > 0)).toEqual([true, false])
  })

  test('[BU32] a node that does not relay wakes the one that does', async () => {
    const { world, open, idsOf } = makeMirrored()
    const config = { ...SHARED, pollMs: 30_000 }
    await open({ name: 'one', config: { ...config, roles: new Set(['schedule'] as const) } })
    const ingestNode = await open({
      name: 'two',
      config: { ...config, roles: new Set(['ingest', 'work'] as const) },
    })
    expect(ingestNode.engine.relay).toBeNull()
    await world.pass(2_000)
    const id = await accept(world, ingestNode)
    await world.pass(100)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
  })

  test('[BU32] a lost wake-up signal costs a poll', async () => {
    const { world, open, idsOf } = makeMirrored({ fate: ({ what }) => ({ isLost: what === 'wake' }) })
    await open({ name: 'one', config: { ...SHARED, roles: new Set(['schedule'] as const) } })
    const ingestNode = await open({
      name: 'two',
      config: { ...SHARED, roles: new Set(['ingest', 'work'] as const) },
    })
    await world.pass(2_000)
    const id = await accept(world, ingestNode)
    await world.pass(1_200)
    expect(idsOf('millrace.default.events.shop.>')).toEqual([id])
  })
})
