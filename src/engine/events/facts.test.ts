// What this system notes of deliveries, runs and instances: as a fact where nothing selects it, readable, replayable and published.

import { describe, expect, test } from 'vitest'
import { makeLocalHub } from '../../adapters/bus-local/index.ts'
import type { RouteDocument, SubscriptionDocument } from '../../core/definitions/documents/index.ts'
import { type Fact, unpackFact } from '../../core/events/canonical/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { documents, makeManualCredentials, makeShop } from '../connections/connections.fixture.ts'
import { accept, answered, CREATED, makeWorld, ROUTE, SOURCE, type World } from '../engine.fixture.ts'
import { endpointWorld, HOOK } from '../webhooks/deliveries/deliveries.fixture.ts'
import { CASE, heard, sender } from '../workflows/order-workflow.fixture.ts'
import { listReads, withFacts } from './index.ts'

const T = DEFAULT_TENANT
const ALL = { after: 'evt_' as EventId, below: 'evt_~' as EventId, limit: 200, order: 'oldest' } as const
const LATER: SubscriptionDocument = {
  ...HOOK,
  name: 'later',
  url: 'https://later.example/hooks',
  on: ['webhook.delivered'],
}

async function factsOf({ reads, pass }: Pick<World, 'reads' | 'pass'>): Promise<readonly Fact[]> {
  const facts = reads.facts(ALL)
  await pass()
  return facts
}

const subjectsOf = async (world: Pick<World, 'reads' | 'pass'>) =>
  (await factsOf(world)).map((fact) => unpackFact(fact).subject)

describe('a delivery that nothing listens to', () => {
  test('[FA1] [FA2] is noted once, as a fact that becomes its event', async () => {
    const world = endpointWorld()
    const id = await accept(world, await world.start())
    const [work] = await world.deliveries()
    const facts = await factsOf(world)
    expect(facts).toHaveLength(1)
    const event = unpackFact(facts[0]!)
    const cause = (await world.got(world.reads.event(id)))!
    expect(event).toMatchObject({
      subject: 'webhook.delivered',
      causationId: id,
      correlationId: cause.correlationId,
      traceId: cause.traceId,
      objectId: cause.objectId,
      dedupKey: `webhook.delivered:${work?.id}:1`,
    })
    expect(JSON.parse(event.data)).toMatchObject({
      deliveryId: work?.id,
      eventId: id,
      subscription: 'crm',
      consumer: 'subscription:crm',
      attempts: 1,
      httpStatus: 204,
    })
    expect(await world.emitted()).toEqual([])
  })

  test('[FA1] is an event alone where a definition selects it', async () => {
    const world = endpointWorld()
    const watch: RouteDocument = {
      ...ROUTE,
      name: 'watch',
      on: ['webhook.delivered'],
      key: null,
      where: null,
    }
    const node = await world.node({ documents: [SOURCE, HOOK, watch] })
    await accept(world, node)
    expect(await world.emitted()).toEqual(['webhook.delivered'])
    expect(await factsOf(world)).toEqual([])
  })

  test('[FA1] [DY6] is a fact where its own subscription alone selects it, or a condition rejects it', async () => {
    const own = endpointWorld()
    await accept(own, await own.start([{ ...HOOK, on: ['shop.events.*', 'webhook.*'] }]))
    expect([await own.emitted(), await subjectsOf(own)]).toEqual([[], ['webhook.delivered']])
    const other = endpointWorld()
    const rejecting = { ...LATER, where: 'payload.attempts > 5' }
    await accept(other, await other.start([HOOK, rejecting]))
    expect([await other.emitted(), await subjectsOf(other)]).toEqual([[], ['webhook.delivered']])
  })

  test.each([
    ['failures', ['webhook.dead']],
    ['none', []],
  ] as const)(
    '[FA4] is left out by the setting %s, what failed only by none',
    async (systemEvents, expected) => {
      const once = { ...HOOK, retry: { profile: null, attempts: 1, delaysMs: [] } }
      const world = endpointWorld([answered(204), answered(500)])
      const node = await world.start([once], { config: { systemEvents } })
      await accept(world, node)
      await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
      await world.pass(5_000)
      expect(await subjectsOf(world)).toEqual(expected)
    },
  )
})

describe('a list with facts', () => {
  test('[FA7] has each once, among the events, by whatever page', async () => {
    const world = endpointWorld()
    const node = await world.start()
    for (let index = 0; index < 7; index += 1)
      await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
    const events = (await world.got(world.reads.events({ cursor: null, limit: 99 }))).items.map(
      ({ id }) => id,
    )
    const facts = (await factsOf(world)).map(({ id }) => id)
    expect([events.length, facts.length]).toEqual([7, 7])
    const reads = withFacts(world.reads)
    for (const limit of [1, 2, 3, 5, 13, 14, 50]) {
      const found: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<typeof reads.events>> = await world.got(
          reads.events({ cursor, limit }),
        )
        expect(page.items.length).toBeLessThanOrEqual(limit)
        found.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(found).toEqual([...events, ...facts].sort().reverse())
    }
    const named = { cursor: null, limit: 99, subject: 'webhook.delivered', correlationId: 'none' }
    expect((await world.got(reads.events(named))).items).toEqual([])
    expect((await world.got(reads.events({ cursor: null, limit: 99, q: facts[2]! }))).items).toMatchObject([
      { id: facts[2] },
    ])
    expect((await world.got(reads.event(facts[3]!)))?.subject).toBe('webhook.delivered')
    expect(await world.got(reads.event(events[3]!))).toMatchObject({ source: 'shop' })
    await expect(world.got(reads.events({ cursor: 'x', limit: 9 }))).rejects.toThrow('cursor')
  })
})

const idOf = (number: number) => `evt_0197c3f0-6bff-7000-8000-${String(number).padStart(12, '0')}` as EventId
const factOf = (number: number, subject = 'webhook.delivered') => ({
  id: idOf(number),
  body: JSON.stringify([subject, 0, 'c', 0, null, null, 1, '=k', -1, { number }]),
})
const NEWER = { id: idOf(5), body: JSON.stringify(['webhook.new', 0, 'c', 0, null, null, 1, '=k', 999, 'x']) }

function add(world: World, facts: readonly { id: EventId; body: string }[]) {
  const writes = facts.map((fact) => ({ w: 'fact.add', fact }) as const)
  return heard(world, world.store.commit({ tenant: T, guards: [], writes }))
}

async function pagesOf(
  world: Pick<World, 'pass'>,
  reads: ReturnType<typeof withFacts>,
  query: object,
): Promise<readonly (readonly EventId[])[]> {
  const pages: (readonly EventId[])[] = []
  let cursor: string | null = null
  do {
    const asked = reads.events({ limit: 50, ...query, cursor })
    await world.pass()
    const page: Awaited<typeof asked> = await asked
    pages.push(page.items.map(({ id }) => id))
    cursor = page.nextCursor
  } while (cursor !== null)
  return pages
}

describe('a list with more than one page looks at', () => {
  test('[FA7] shows the facts as far as a scan of events came that found none', async () => {
    const world = endpointWorld()
    const node = await world.start()
    for (let index = 0; index < 7; index += 1)
      await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
    const facts = (await factsOf(world)).map(({ id }) => id).reverse()
    const { reads } = world
    const scanning = withFacts({ ...reads, events: (query) => reads.events({ ...query, scanMax: 2 }) })
    const pages = await pagesOf(world, scanning, { subject: 'webhook.delivered' })
    expect(pages.length).toBeGreaterThan(2)
    expect(pages[0]).not.toEqual([])
    expect(pages.flat()).toEqual(facts)
  })

  test('[FA7] goes on behind the facts that one page reads', async () => {
    const world = makeWorld()
    await add(world, [factOf(0, 'webhook.dead'), ...Array.from({ length: 2_050 }, (_, at) => factOf(at + 1))])
    const pages = await pagesOf(world, withFacts(world.reads), { subject: 'webhook.dead' })
    expect(pages).toEqual([[], [idOf(0)]])
  })

  test('[FA7] [FA8] has a fact that was replayed once', async () => {
    const world = endpointWorld()
    const node = await world.start()
    const event = await accept(world, node)
    const [fact] = await factsOf(world)
    await heard(world, node.engine.replays.beginEvents(T, { ids: [fact!.id] }, { reason: 'r' }))
    await world.pass(10_000)
    expect(await world.got(world.reads.event(fact!.id))).not.toBeNull()
    for (const limit of [1, 2, 50])
      expect((await pagesOf(world, withFacts(world.reads), { limit })).flat()).toEqual([fact!.id, event])
  })

  test('[FA10] leaves out what a newer version wrote; a walk counts it', async () => {
    const world = makeWorld()
    await add(world, [factOf(1), NEWER, factOf(9)])
    const reads = withFacts(world.reads)
    expect((await pagesOf(world, reads, {})).flat()).toEqual([idOf(9), idOf(1)])
    expect((await pagesOf(world, reads, { q: NEWER.id })).flat()).toEqual([])
    const walked = await heard(world, reads.eventsAfter(ALL))
    expect(walked.map(({ id, subject }) => [id, subject])).toContainEqual([NEWER.id, 'webhook.new'])
    const asked = expect(reads.event(NEWER.id)).rejects.toThrow('newer version')
    await world.pass()
    await asked
  })
})

describe('a fact that somebody asks for later', () => {
  test('[FA8] a recovery of a subscription that can select no fact reads none', async () => {
    const world = endpointWorld()
    const node = await world.start()
    await accept(world, node)
    expect(await factsOf(world)).toHaveLength(1)
    await world.pass(60_000)
    const walked = async (subscription: string) =>
      (
        await heard(
          world,
          node.engine.replays.previewDeliveries(T, { subscription, since: 0, what: 'all' } as const),
        )
      ).walked
    expect(await walked('crm')).toBe(1)
    await heard(world, node.engine.apply(T, [SOURCE, HOOK, LATER]))
    expect(await walked('later')).toBe(2)
  })

  test('[FA8] a recovery sends it to a subscription that was made after it, once', async () => {
    const world = endpointWorld()
    const node = await world.start()
    await accept(world, node)
    const [fact] = await factsOf(world)
    await world.pass(60_000)
    await heard(world, node.engine.apply(T, [SOURCE, HOOK, LATER]))
    const filter = { subscription: 'later', since: 0, what: 'all' } as const
    expect(await heard(world, node.engine.replays.previewDeliveries(T, filter))).toMatchObject({
      totals: { missing: 1 },
    })
    await heard(world, node.engine.replays.beginDeliveries(T, filter, { reason: 'r' }))
    await world.pass(10_000)
    const sent = world.calls.filter(({ request }) => request.url === LATER.url)
    expect(sent.map(({ request }) => request.headers['webhook-id'])).toEqual([fact?.id])
    expect(JSON.parse(String(sent[0]?.request.body))).toMatchObject({
      ...{ id: fact?.id, type: 'webhook.delivered', data: { subscription: 'crm' } },
    })
    // Its delivery is one of a system event: nothing is noted of it.
    expect(await factsOf(world)).toHaveLength(1)
    await heard(world, node.engine.replays.beginDeliveries(T, filter, { reason: 'again' }))
    await world.pass(10_000)
    expect(world.calls.filter(({ request }) => request.url === LATER.url)).toHaveLength(1)
  })

  test('[FA11] a replay by a filter takes system events only if it asks for them', async () => {
    const world = endpointWorld()
    const node = await world.start([HOOK, LATER])
    const event = await accept(world, node)
    await world.pass(5_000)
    const found = async (filter: object) =>
      (await heard(world, node.engine.replays.previewEvents(T, filter))).items.map(({ subject }) => subject)
    expect(await found({ from: 0 })).toEqual(['shop.events.paid'])
    for (const asked of [{ from: 0, system: true }, { source: 'millrace' }])
      expect(await found(asked)).toContain('webhook.delivered')
    const reads = listReads(world.reads, { q: event })
    expect((await world.got(reads.events({ cursor: null, limit: 9, q: event }))).items).toHaveLength(1)
  })

  test('[HD2] a preview of a recovery names no events of workflows that the caller may not see', async () => {
    const world = makeWorld(() => CREATED)
    const watch = { ...LATER, on: ['workflow.>'] }
    const node = await world.node({ documents: [SOURCE, CASE] })
    await sender(world, node)('ordered', 'o1')
    await world.pass(60_000)
    await heard(world, node.engine.apply(T, [SOURCE, CASE, watch]))
    const filter = { subscription: 'later', since: 0, what: 'all' } as const
    const seen = await heard(world, node.engine.replays.previewDeliveries(T, filter))
    expect(seen.items).not.toEqual([])
    const hidden = await heard(
      world,
      node.engine.replays.previewDeliveries(T, filter, () => false),
    )
    expect(hidden).toEqual({ ...seen, items: [] })
  })

  test('[FA8] a replay finds it by its subject or its id, and a route that selects it by then runs', async () => {
    const world = endpointWorld([answered(204), CREATED])
    const node = await world.start()
    await accept(world, node)
    const [fact] = await factsOf(world)
    const url = 'https://told.example/{{ payload.subscription }}'
    const told: RouteDocument = {
      ...ROUTE,
      ...{ name: 'told', on: ['webhook.delivered'], where: null, key: 'payload.deliveryId' },
      do: { ...ROUTE.do, url } as RouteDocument['do'],
    }
    await heard(world, node.engine.apply(T, [SOURCE, HOOK, told]))
    const filter = { subject: 'webhook.delivered', system: true }
    expect(await heard(world, node.engine.replays.previewEvents(T, filter))).toMatchObject({
      items: [{ id: fact?.id, consumers: [{ name: 'told', verdict: 'would-call' }] }],
    })
    await heard(world, node.engine.replays.beginEvents(T, filter, { reason: 'r' }))
    await world.pass(10_000)
    await heard(world, node.engine.replays.beginEvents(T, { ids: [fact!.id] }, { reason: 'again' }))
    await world.pass(10_000)
    const calls = world.calls.filter(({ request }) => request.url === 'https://told.example/crm')
    expect(calls).toHaveLength(1)
  })

  test('[FA6] it is gone when its time is over', async () => {
    const world = endpointWorld()
    const node = await world.start([HOOK], {
      config: { canonicalRetentionMs: 1 * DAY, retentionEveryMs: 60_000 },
    })
    await accept(world, node)
    expect(await factsOf(world)).toHaveLength(1)
    await world.pass(2 * DAY)
    expect(await factsOf(world)).toEqual([])
  })
})

const EVENTS = 'millrace.default.events.>'

describe('a reader of the bus', () => {
  const openHub = (world: World) => {
    const hub = makeLocalHub({ clock: world.clock })
    const bus = hub.connect('one')
    return { hub, options: { bus, wakes: bus.wakes, config: { hasOutbox: true } } }
  }
  const typesOn = (hub: ReturnType<typeof makeLocalHub>) =>
    hub
      .stored(EVENTS)
      .map(({ body }) => (JSON.parse(new TextDecoder().decode(body)) as { subject: string }).subject)

  test('[FA9] gets the event of a delivery that nothing selects, under its id', async () => {
    const world = endpointWorld()
    const { hub, options } = openHub(world)
    await accept(world, await world.start([HOOK], options))
    await world.pass(1_000)
    const [fact] = await factsOf(world)
    const [, told] = hub.stored(EVENTS)
    expect(told).toMatchObject({ id: fact?.id, subject: 'millrace.default.events.webhook.delivered' })
    expect(JSON.parse(new TextDecoder().decode(told?.body))).toMatchObject({
      id: fact?.id,
      source: 'millrace',
      subject: 'webhook.delivered',
      data: { subscription: 'crm', httpStatus: 204 },
    })
    const relay = await heard(world, world.store.system('relay').outboxCount(9))
    expect(relay).toBe(0)
  })

  test('[FA8] [FA9] gets it once, also if it is replayed', async () => {
    const world = endpointWorld()
    const { hub, options } = openHub(world)
    const node = await world.start([HOOK], options)
    await accept(world, node)
    await world.pass(1_000)
    const [fact] = await factsOf(world)
    await heard(world, node.engine.replays.beginEvents(T, { ids: [fact!.id] }, { reason: 'r' }))
    await world.pass(10_000)
    expect(await world.got(world.reads.event(fact!.id))).not.toBeNull()
    expect(hub.stored(EVENTS).filter(({ id }) => id === fact?.id)).toHaveLength(1)
  })

  test('[FA9] gets every step of a workflow', async () => {
    const world = makeWorld(() => CREATED)
    const { hub, options } = openHub(world)
    const node = await world.node({ documents: [SOURCE, CASE], ...options })
    const send = sender(world, node)
    await send('ordered', 'o1')
    await send('closed', 'o1')
    await world.pass(1_000)
    const steps = (await subjectsOf(world)).sort()
    expect(steps.length).toBeGreaterThan(1)
    expect(steps.every((subject) => subject.startsWith(`workflow.${CASE.name}.`))).toBe(true)
    expect(
      typesOn(hub)
        .filter((subject) => subject.startsWith('workflow.'))
        .sort(),
    ).toEqual(expect.arrayContaining(steps))
  })

  test('[FA9] gets the end of a run on a connection', async () => {
    const world = makeShop(() => CREATED)
    const { hub, options } = openHub(world)
    const node = await world.node({
      documents: documents(),
      credentials: makeManualCredentials(),
      ...options,
    })
    await world.pass()
    const id = await accept(world, node)
    await world.pass(1_000)
    const [run] = (await heard(world, world.reads.runs({ cursor: null, limit: 9, purpose: 'work' }))).items
    expect(run).toMatchObject({ state: 'completed', eventId: id })
    expect(await subjectsOf(world)).toContain('integration.run.completed')
    const told = hub
      .stored('millrace.default.events.integration.run.completed')
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)))
    expect(told).toMatchObject([{ causationId: id, data: { runId: run?.id, connection: 'shop' } }])
  })
})
