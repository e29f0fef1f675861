// What a trigger says about events that come too often, fail or take too long, on one node and on two.

import { describe, expect, test } from 'vitest'
import type { TriggerDocument, WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { makeWorld, type Node, SOURCE, type World } from '../../engine.fixture.ts'
import {
  CASE,
  CREATE,
  heard,
  instancesOf,
  itemsOf,
  orphansOf,
  sender,
  UPDATE,
} from '../order-workflow.fixture.ts'

const ONE_A_MINUTE = { profile: null, perMinute: 1, burst: 1 }
const REFUSED = 'shop.refused'

async function begin(triggers: readonly TriggerDocument[], more: Partial<WorkflowDocument> = {}) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, { ...CASE, triggers, ...more }] })
  return { world, node, send: sender(world, node) }
}

async function deadLettersOf(world: World) {
  return (await world.reads.deadLetters({ cursor: null, limit: 100 })).items
}

async function toldOf(world: World) {
  const { events } = await world.store.system('verification').dump()
  return events.filter(({ subject }) => subject === REFUSED)
}

const RUN = { actor: 'ann', reason: 'wanted' } as const

function replay(world: World, node: Node, id: Parameters<Node['engine']['replay']>[1]) {
  return heard(world, node.engine.replay(DEFAULT_TENANT, id, { ...RUN, force: false }))
}

describe('an event over the limit of its trigger', () => {
  const LIMITED = { ...CREATE, rateLimit: ONE_A_MINUTE, onLimit: 'reject' } as const

  test('[TG30] is a dead letter at once, and the next one within the limit is taken', async () => {
    const { world, send } = await begin([LIMITED])
    await send('ordered', 'a')
    const over = await send('ordered', 'b')
    expect(await itemsOf(world, over)).toMatchObject([{ state: 'dead', class: 'rate_limited' }])
    expect(await deadLettersOf(world)).toMatchObject([
      {
        state: 'open',
        class: 'rate_limited',
        reason: 'over_rate_limit',
        eventId: over,
        consumer: 'workflow:order',
      },
    ])
    expect((await deadLettersOf(world))[0]?.lastError).toContain('more than 1 events a minute')
    await world.pass(60_000)
    await send('ordered', 'c')
    expect((await instancesOf(world)).map(({ data }) => data.order)).toEqual(['a', 'c'])
  })

  test('[TG30] its replay waits for a token', async () => {
    const { world, node, send } = await begin([LIMITED])
    await send('ordered', 'a')
    await send('ordered', 'b')
    const [letter] = await deadLettersOf(world)
    await replay(world, node, letter!.id)
    expect(await instancesOf(world)).toHaveLength(1)
    await world.pass(61_000)
    expect((await instancesOf(world)).map(({ data }) => data.order)).toEqual(['a', 'b'])
    expect(await deadLettersOf(world)).toMatchObject([{ state: 'resolved' }])
  })

  test('[TG30] [TG17] the limit holds over two nodes', async () => {
    const world = makeWorld()
    const documents = [SOURCE, { ...CASE, triggers: [LIMITED] }]
    const nodes = [
      await world.node({ name: 'one', documents, config: { isShared: true } }),
      await world.node({ name: 'two', documents, config: { isShared: true } }),
    ]
    for (const [index, node] of nodes.entries()) {
      const accepted = node.send({ kind: 'ordered', order: `o${index}`, id: `d${index}` })
      await world.pass(500)
      await accepted
    }
    await world.pass(500)
    expect(await instancesOf(world)).toHaveLength(1)
    expect(await deadLettersOf(world)).toMatchObject([{ reason: 'over_rate_limit' }])
  })

  test('[TG17] without `onLimit` it waits, and with a time limit that is too short it books no token', async () => {
    const { world, send } = await begin([{ ...CREATE, rateLimit: ONE_A_MINUTE, maxProcessingMs: 30_000 }])
    await send('ordered', 'a')
    await send('ordered', 'b')
    expect(await deadLettersOf(world)).toMatchObject([{ reason: 'expired' }])
    await world.pass(40_000)
    await send('ordered', 'c')
    await world.pass(20_500)
    expect((await instancesOf(world)).map(({ data }) => data.order)).toEqual(['a', 'c'])
  })
})

describe('an event that its instance refuses', () => {
  const data = { type: 'object', properties: { total: { type: 'integer', maximum: 10 } } } as const
  const ADD: TriggerDocument = {
    ...UPDATE,
    map: { 'data.total': '(data.total == null ? 0 : data.total) + payload.n' },
    retry: { profile: null, attempts: 3, delaysMs: [1_000, 2_000] },
    deadLetter: { subject: REFUSED },
  }
  const ADMIN = { tenant: DEFAULT_TENANT, actor: 'ada', role: 'admin', permissions: [] } as const

  test('[TG31] is tried again, and taken once the instance can take it', async () => {
    const { world, node, send } = await begin([CREATE, ADD], { data })
    await send('ordered', 'o1')
    await send('changed', 'o1', { n: 8 })
    const refused = await send('changed', 'o1', { n: 5 })
    const behind = await send('changed', 'o1', { n: 1 })
    expect(await itemsOf(world, refused)).toMatchObject([
      { state: 'ready', attempts: 1, class: 'validation' },
    ])
    const [instance] = await instancesOf(world)
    const edit = { changes: [{ path: 'data.total', value: 2 }], reason: 'counted again' }
    await heard(world, node.engine.workflows.instanceActions.edit(ADMIN, instance!.id, edit))
    await world.pass(5_000)
    expect((await instancesOf(world))[0]?.data.total).toBe(8)
    expect(await itemsOf(world, behind)).toMatchObject([{ state: 'done' }])
    expect(await deadLettersOf(world)).toEqual([])
  })

  test('[TG31] [TG33] is a dead letter after its last try, and emits one event about it', async () => {
    const { world, send } = await begin([CREATE, ADD], { data })
    await send('ordered', 'o1')
    const refused = await send('changed', 'o1', { n: 50 })
    await world.pass(1_500)
    expect(await deadLettersOf(world)).toEqual([])
    expect(await toldOf(world)).toEqual([])
    await world.pass(5_000)
    const [letter] = await deadLettersOf(world)
    expect(letter).toMatchObject({
      reason: 'cap_reached',
      class: 'validation',
      attempts: 3,
      eventId: refused,
    })
    const [told, ...others] = await toldOf(world)
    expect(others).toEqual([])
    expect(told).toMatchObject({ source: 'workflow:order', causationId: refused })
    expect(JSON.parse(told?.data ?? '{}')).toMatchObject({
      workId: letter?.workId,
      workflow: 'order',
      trigger: '1',
      class: 'validation',
      reason: 'cap_reached',
      attempts: 3,
      event: { id: refused, source: 'shop', subject: 'shop.events.changed' },
      payload: { order: 'o1', n: 50 },
    })
  })

  test('[TG31] without `retry` it is a dead letter at once', async () => {
    const { retry: _retry, ...once } = ADD
    const { world, send } = await begin([CREATE, once], { data })
    await send('ordered', 'o1')
    await send('changed', 'o1', { n: 50 })
    expect(await deadLettersOf(world)).toMatchObject([{ reason: 'rejected', attempts: 0 }])
    expect(await toldOf(world)).toHaveLength(1)
  })

  test('[TG33] the event is as sensitive as the one that failed', async () => {
    const world = makeWorld()
    const { retry: _retry, ...once } = ADD
    const source = { ...SOURCE, sensitive: ['payload.card'] }
    const node = await world.node({ documents: [source, { ...CASE, data, triggers: [CREATE, once] }] })
    const send = sender(world, node)
    await send('ordered', 'o1')
    await send('changed', 'o1', { n: 50, card: 's3cret' })
    expect(await toldOf(world)).toMatchObject([{ sensitive: ['payload'] }])
  })

  test('[TG32] is tried no longer than its time allows', async () => {
    const slow = { ...ADD, maxProcessingMs: 2_000 }
    const { world, send } = await begin([CREATE, slow], { data })
    await send('ordered', 'o1')
    await send('changed', 'o1', { n: 50 })
    await world.pass(10_000)
    expect(await deadLettersOf(world)).toMatchObject([{ reason: 'expired', attempts: 2 }])
  })
})

describe('an event that waits for its instance', () => {
  test('[TG32] may do so for its whole buffer, however short its time is', async () => {
    const { world, send } = await begin([CREATE, { ...UPDATE, maxProcessingMs: 1_000 }])
    await send('changed', 'o1')
    await world.pass(50_000)
    expect(await orphansOf(world)).toMatchObject([{ state: 'waiting' }])
    await send('ordered', 'o1')
    await world.pass(2_000)
    expect((await instancesOf(world))[0]?.data.seen).toBe('d1')
    expect(await deadLettersOf(world)).toEqual([])
  })

  test('[TG32] and so while its workflow is paused', async () => {
    const paused = { ...CASE, status: 'paused', triggers: [{ ...CREATE, maxProcessingMs: 1_000 }] } as const
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, paused] })
    await sender(world, node)('ordered', 'o1')
    await world.pass(60_000)
    await heard(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, { ...paused, status: 'active' }]))
    await world.pass(2_000)
    expect(await instancesOf(world)).toHaveLength(1)
  })
})
