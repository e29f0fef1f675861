import { describe, expect, test } from 'vitest'
import { makeCountingEncryption } from '../../adapters/encryption-local/encryption.fixture.ts'
import {
  type DefinitionDocument,
  hashDocument,
  LANGUAGE,
  languageOf,
} from '../../core/definitions/documents/index.ts'
import type { PublishDraft } from '../../core/events/cloudevent/index.ts'
import { DEFAULT_TENANT, type TenantId, type WorkId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { WorkKind } from '../../core/queue/work/index.ts'
import {
  answered,
  makeDeferred,
  type Node,
  type NodeOptions,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { BOOK, makeBusWorld, NATS_SOURCE } from '../ingest/bus.fixture.ts'
import { HOOK, makeHookWorld } from '../webhooks/subscriptions/subscriptions.fixture.ts'
import type { ApplyRequest } from './definition-types.ts'

const OTHER = 'other' as TenantId
const BROKEN = 'payload.('
const SHARED = { isShared: true }

const api = (...documents: readonly DefinitionDocument[]): ApplyRequest => ({
  definitions: documents.map((document) => ({ document, authored: null })),
  managedBy: 'api',
  prune: false,
  by: 'mona',
  reason: null,
})

/** As a version that knows more than this one would have written it. */
function spoil(world: World, tenant: TenantId, document: DefinitionDocument, broken: object, version = 1) {
  const body = JSON.stringify({ ...document, ...broken })
  const key = hashDocument(document)
  return world.store.commit({
    tenant,
    guards: [],
    writes: [{ w: 'record.put', kind: 'definition', key, version, body }],
  })
}

const PUBLISHED: PublishDraft = {
  source: '/shop',
  subject: 'shop.events.paid',
  objectId: null,
  occurredAt: 0,
  correlationId: null,
  traceId: null,
  dedupKey: 'p1',
  headers: {},
  data: JSON.stringify(PAID),
  raw: null,
  payload: PAID,
}

const sent = (node: Node) =>
  node.engine.accept({
    tenant: OTHER,
    source: 'shop',
    headers: { 'content-type': 'application/json' },
    body: new TextEncoder().encode(JSON.stringify(PAID)),
  })

describe('beside a newer version', () => {
  test('[ND22] a node claims no job that it cannot compile, dead-letters none, and asks senders to retry', async () => {
    const world = makeHookWorld()
    const paused: DefinitionDocument = { ...SOURCE, status: 'paused' }
    const first = await world.node({ name: 'a', documents: [], config: SHARED })
    await world.got(first.engine.definitions.apply(OTHER, api(paused, ROUTE)))
    await world.got(sent(first))
    first.crash()
    await world.got(spoil(world, OTHER, paused, { subject: '{{ (', status: 'active' }))
    await world.pass(1 * MINUTE)
    const second = await world.node({ name: 'b', documents: [], config: SHARED })
    await world.pass(10 * MINUTE)
    const { items } = await world.got(world.store.forTenant(OTHER).workList({ cursor: null, limit: 10 }))
    expect(items.map(({ consumer, state, epoch }) => [consumer, state, epoch])).toEqual([
      ['source:shop', 'ready', 0],
    ])
    expect(second.log.messages.filter(({ name }) => name === 'definitions.unusable')).toHaveLength(1)
    expect(await world.refusal(sent(second))).toBe('source_unusable')
  })

  test('[ND22] a node that cannot use a route accepts no event of its tenant, and others lose none', async () => {
    const world = makeHookWorld()
    const daily: DefinitionDocument = {
      ...SOURCE,
      name: 'daily',
      verify: { scheme: 'closed' },
      schedule: { cron: '* * * * *', zone: 'UTC', missed: 'all', data: null },
    }
    const first = await world.node({ name: 'a', documents: [], config: SHARED })
    await world.got(
      first.engine.definitions.apply(OTHER, api(SOURCE, ROUTE, { ...ROUTE, name: 'mail' }, daily)),
    )
    await world.got(sent(first))
    first.crash()
    await world.got(spoil(world, OTHER, ROUTE, { key: BROKEN }))
    await world.pass(1 * MINUTE)
    const events = async () => {
      const page = await world.got(world.store.forTenant(OTHER).events({ cursor: null, limit: 100 }))
      return page.items.length
    }
    const before = await events()
    const second = await world.node({ name: 'b', documents: [], config: SHARED })
    await world.pass(10 * MINUTE)
    expect(await world.refusal(sent(second))).toBe('source_unusable')
    expect(await events()).toBe(before)
    expect(second.log.messages.filter(({ name }) => name === 'definitions.unusable')).toHaveLength(1)
    expect(second.log.messages.filter(({ name }) => name === 'schedule.failed')).toEqual([])
  })

  test('[ND24] a document of a newer language is not used, although it compiles, nor are jobs pinned to it run', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [], config: SHARED })
    await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, ROUTE)))
    first.crash()
    const record = await world.got(world.store.forTenant(OTHER).record('definition', hashDocument(ROUTE)))
    expect(record?.version).toBe(languageOf(ROUTE))
    await world.got(spoil(world, OTHER, ROUTE, { onlyOn: 'mondays' }, LANGUAGE + 1))
    await world.pass(1 * MINUTE)
    const second = await world.node({ name: 'b', documents: [], config: SHARED })
    await world.pass(1 * MINUTE)
    expect(await world.refusal(sent(second))).toBe('source_unusable')
    const told = second.log.messages.filter(({ name }) => name === 'definitions.unusable')
    expect(told.map(({ fields }) => fields)).toMatchObject([
      { definition: 'Route/book', error: expect.stringContaining('newer version') },
    ])
  })

  test('[ND24] one that cannot be decrypted keeps no other from being deployed, and works again once it is applied again', async () => {
    const world = makeHookWorld()
    const headers = { authorization: 'Bearer abc123' }
    const secretive = { ...ROUTE, do: { ...ROUTE.do, headers } } as DefinitionDocument
    const first = await world.node({ name: 'a', documents: [], config: SHARED })
    await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, secretive)))
    await world.got(first.engine.definitions.apply(DEFAULT_TENANT, api(SOURCE)))
    await world.create(first, { headers })
    first.crash()
    await world.pass(1 * MINUTE)

    const second = await world.node({
      name: 'b',
      documents: [],
      encryption: makeCountingEncryption(2),
      config: SHARED,
    })
    await world.got(second.engine.definitions.load())
    const namesOf = async (tenant: TenantId) =>
      (await world.got(second.engine.definitions.list(tenant))).map(({ name }) => name)
    expect(await namesOf(OTHER)).toEqual(['shop'])
    expect(await namesOf(DEFAULT_TENANT)).toEqual(['shop'])
    const told = second.log.messages.filter(({ name }) => name.endsWith('.unusable'))
    expect(told.map(({ name, fields }) => ({ name, ...fields }))).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'definitions.unusable',
          definition: 'Route/book',
          error: expect.stringContaining('cannot be read'),
        }),
        expect.objectContaining({ name: 'subscription.unusable', subscription: 'crm' }),
      ]),
    )
    // What the route wants is not known here: no event may miss it.
    expect(await world.refusal(sent(second))).toBe('source_unusable')
    expect(await world.refusal(second.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))).toBe(
      'unknown_subscription',
    )

    await world.got(second.engine.definitions.apply(OTHER, api(secretive)))
    expect((await namesOf(OTHER)).toSorted()).toEqual(['book', 'shop'])
    await world.got(sent(second))
    const third = await world.node({
      name: 'c',
      documents: [],
      encryption: makeCountingEncryption(2),
      config: SHARED,
    })
    await world.got(third.engine.definitions.load())
    expect(third.log.messages.filter(({ name }) => name === 'definitions.unusable')).toEqual([])
  })

  test('[ND22] such a node publishes nothing for its tenant, and says so for each event', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [], config: SHARED })
    await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, ROUTE)))
    first.crash()
    await world.got(spoil(world, OTHER, ROUTE, {}, LANGUAGE + 1))
    const second = await world.node({ name: 'b', documents: [], config: SHARED })
    await world.got(second.engine.definitions.load())
    const published = await world.got(second.engine.publish(OTHER, [PUBLISHED, PUBLISHED]))
    expect(published).toMatchObject([
      { ok: false, error: { code: 'source_unusable' } },
      { ok: false, error: { code: 'source_unusable' } },
    ])
    // Events of other tenants are all accepted.
    expect(await world.got(second.engine.publish(DEFAULT_TENANT, [PUBLISHED]))).toMatchObject([{ ok: true }])
    expect((await world.got(world.store.forTenant(OTHER).events({ cursor: null, limit: 10 }))).items).toEqual(
      [],
    )
  })

  test('[ND22] a message of the bus stays there until a node can say which consumers want it', async () => {
    const { world, node, send, events } = makeBusWorld()
    // Without a list, only the tenant `default` reads streams.
    const READS = { ...SHARED, natsStreams: [{ tenant: OTHER, stream: 'ORDERS' }] }
    const got = async <Value>(promise: Promise<Value>) => {
      await world.pass()
      return promise
    }
    const first = await node({ name: 'a', documents: [], config: READS })
    await got(first.engine.definitions.apply(OTHER, api(NATS_SOURCE, BOOK)))
    first.crash()
    await got(spoil(world, OTHER, BOOK, {}, LANGUAGE + 1))
    const second = await node({ name: 'b', documents: [], config: READS })
    send({})
    await world.pass(10 * MINUTE)
    expect(await events()).toEqual([])
    expect(second.log.controls.map(({ errorCode }) => errorCode)).toContain('source_unusable')
    second.crash()
    await got(spoil(world, OTHER, BOOK, {}, LANGUAGE))
    await node({ name: 'c', documents: [], config: READS })
    await world.pass(10 * MINUTE)
    expect(await events()).toHaveLength(1)
    expect(world.calls.map((call) => call.node)).toEqual(['c'])
  })

  test('[ND25] a single node stores the events of such a tenant, and a version that knows the consumers matches them', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [] })
    // One with more rules for its source than the others: events that are dispatched, unmatched or violate its schema.
    const strict: DefinitionDocument = { ...SOURCE, name: 'strict', unmatched: 'deadLetter' }
    await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, strict, ROUTE)))
    first.crash()
    await world.got(spoil(world, OTHER, ROUTE, {}, LANGUAGE + 1))
    await world.pass(1 * MINUTE)
    const second = await world.node({ name: 'b', documents: [] })
    await world.got(second.engine.definitions.load())
    const to = (source: string, id: string) =>
      second.engine.accept({
        tenant: OTHER,
        source,
        headers: { 'content-type': 'application/json' },
        body: new TextEncoder().encode(JSON.stringify({ ...PAID, id, order: id })),
      })
    const ids = [await world.got(to('shop', 'x1')), await world.got(to('strict', 'x2'))]
    expect(ids.map(({ eventId }) => typeof eventId)).toEqual(['string', 'string'])
    expect(await world.got(second.engine.publish(OTHER, [PUBLISHED]))).toMatchObject([{ ok: true }])
    await world.pass(10 * MINUTE)
    expect(world.calls).toEqual([])
    const { items } = await world.got(world.store.forTenant(OTHER).workList({ cursor: null, limit: 10 }))
    expect(items.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
      'intake ready',
      'intake ready',
      'intake ready',
    ])
    second.crash()
    await world.got(spoil(world, OTHER, ROUTE, {}, LANGUAGE))
    await world.pass(1 * MINUTE)
    await world.node({ name: 'c', documents: [] })
    await world.pass(10 * MINUTE)
    expect(world.calls).toHaveLength(3)
  })

  test('[ND24] a subscription that the API accepted in a newer language is guarded like definitions, until it is known or removed', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [SOURCE], config: SHARED })
    await world.create(first)
    const kept = await world.got(world.reads.record('subscription', HOOK.name))
    const record = JSON.parse(kept?.body ?? '')
    expect(record.language).toBe(languageOf(HOOK))
    first.crash()
    const rewrite = (language: number, version: number) => {
      const body = JSON.stringify({ ...record, language })
      const put = { w: 'record.put', kind: 'subscription', key: HOOK.name, version, body } as const
      return world.got(world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [put] }))
    }
    await rewrite(LANGUAGE + 1, (kept?.version ?? 0) + 1)
    await world.pass(1 * MINUTE)
    const second = await world.node({ name: 'b', documents: [SOURCE], config: SHARED })
    expect(second.log.messages.filter(({ name }) => name === 'subscription.unusable')).toHaveLength(1)
    expect(await world.refusal(second.send(PAID))).toBe('source_unusable')
    second.crash()
    await rewrite(LANGUAGE, (kept?.version ?? 0) + 2)
    await world.pass(1 * MINUTE)
    const third = await world.node({ name: 'c', documents: [SOURCE], config: SHARED })
    await world.got(third.send(PAID))
    await world.pass(1 * MINUTE)
    expect(world.calls.map((call) => call.node)).toEqual(['c'])
  })

  test('[ND22] events of running jobs are stored, and matched by a node that can', async () => {
    const world = makeHookWorld()
    const hand = makeDeferred<void>()
    const options = {
      documents: [
        SOURCE,
        {
          ...ROUTE,
          name: 'announce',
          do: { type: 'function', name: 'announce', codeHash: '', with: null, timeoutMs: 5 * MINUTE },
        },
        { ...ROUTE, name: 'booked', on: ['shop.booked'], key: "'BOOKED:' + payload.order" },
      ],
      functions: {
        announce: async (_input, { emit }) => {
          await hand.promise
          emit('shop.booked', { order: 'o1' })
          return null
        },
      },
    } as const satisfies NodeOptions
    const first = await world.node({ name: 'a', ...options, config: SHARED })
    await world.got(first.send(PAID))
    const later: DefinitionDocument = { ...ROUTE, name: 'later', on: ['shop.later'] }
    const other = await world.node({ name: 'b', ...options, config: SHARED })
    await world.got(other.engine.definitions.apply(DEFAULT_TENANT, api(later)))
    await world.got(spoil(world, DEFAULT_TENANT, later, {}, LANGUAGE + 1))
    other.crash()
    await world.pass(1 * MINUTE)
    expect(await world.refusal(first.send(PAID))).toBe('source_unusable')
    hand.give()
    await world.pass(1 * MINUTE)
    const all = async () => {
      const page = await world.got(world.reads.workList({ cursor: null, limit: 10 }))
      return page.items.map(({ consumer, state }) => `${consumer} ${state}`).sort()
    }
    expect(await all()).toEqual(['route:announce done', 'source:route:announce ready'])
    await world.got(spoil(world, DEFAULT_TENANT, later, {}, LANGUAGE))
    await world.node({ name: 'c', ...options })
    await world.pass(1 * MINUTE)
    expect(world.calls.map((call) => call.node)).toEqual(['c'])
    expect(await all()).toEqual(['route:announce done', 'route:booked done', 'source:route:announce done'])
  })

  test('[ND23] a job of an unknown kind is put back, logged once, and never dead-lettered', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [SOURCE, { ...ROUTE, status: 'paused' }] })
    const { eventId } = await world.got(first.send(PAID))
    const [known] = await world.got(world.reads.workOfEvent(eventId))
    const work = {
      id: 'wrk_new' as WorkId,
      kind: 'errand' as WorkKind,
      consumer: 'errand:new',
      definition: known?.definition ?? '',
      codeHash: null,
      eventId,
      expiresInMs: 1 * MINUTE,
      replayOf: null,
    }
    const writes = [{ w: 'work.add', work, lease: null, delayMs: 0 }] as const
    await world.got(world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes }))
    await world.pass(30 * MINUTE)
    const row = await world.got(world.reads.work(work.id))
    expect(row?.state).toMatch(/ready|leased/)
    expect(row?.waits).toBeGreaterThan(5)
    expect(first.log.messages.filter(({ name }) => name === 'work.not-understood')).toHaveLength(1)
    expect(first.log.messages.filter(({ name }) => name === 'work.broken')).toEqual([])
  })
})

describe('documents that cannot be compiled', () => {
  test.each<[string, DefinitionDocument]>([
    ['a route', { ...ROUTE, where: BROKEN }],
    ['a source', { ...SOURCE, subject: '{{ (' }],
    ['a subscription', { ...HOOK, where: BROKEN }],
  ])('[DV29] %s is refused before anything is written', async (_name, document) => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [] })
    const { definitions } = node.engine
    expect(await world.refusal(definitions.apply(OTHER, api(document)))).toBe('definitions_invalid')
    expect(
      await world.got(world.store.forTenant(OTHER).record('definition', hashDocument(document))),
    ).toBeNull()
    expect(await world.got(definitions.list(OTHER))).toEqual([])
  })

  test('[DV29] so is a rollback to one', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [] })
    const { version } = await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, ROUTE)))
    await world.got(first.engine.definitions.apply(OTHER, api({ ...ROUTE, maxWaitMs: 1_000 })))
    await world.got(spoil(world, OTHER, ROUTE, { where: BROKEN }))
    const { definitions } = (await world.node({ name: 'b', documents: [] })).engine
    const rolled = definitions.rollback(OTHER, { to: version, by: 'mona', reason: null })
    expect(await world.refusal(rolled)).toBe('definitions_invalid')
    expect(await world.got(definitions.list(OTHER))).toMatchObject([
      { name: 'shop' },
      { document: { maxWaitMs: 1_000 } },
    ])
  })

  test('[DV30] a node starts beside them: the rest is deployed, and the jobs of their tenant wait', async () => {
    const world = makeHookWorld()
    const documents = [SOURCE, { ...HOOK, name: 'well' }]
    const first = await world.node({ name: 'a', documents })
    await world.got(first.engine.definitions.apply(DEFAULT_TENANT, api(HOOK)))
    await world.got(first.engine.definitions.apply(OTHER, api(SOURCE, ROUTE, { ...ROUTE, name: 'mail' })))
    world.answer(answered(500))
    await world.pay(first)
    first.crash()
    await world.got(spoil(world, DEFAULT_TENANT, HOOK, { where: BROKEN }))
    await world.got(spoil(world, OTHER, ROUTE, { key: BROKEN }))
    await world.pass(1 * MINUTE)
    world.answer(answered(204))
    const second = await world.node({ name: 'b', documents })
    await world.pass(10 * MINUTE)
    const told = second.log.messages.filter(({ name }) => name === 'definitions.unusable')
    expect(told.map(({ fields }) => fields)).toMatchObject([
      { tenant: 'default', definition: 'Subscription/crm', error: expect.any(String) },
      { tenant: 'other', definition: 'Route/book' },
    ])
    const given = { source: 'shop', subject: 'shop.events.paid', data: { id: 'd9', order: 'o9' } }
    const tried = (name: string) => second.engine.inspect.tryRoute(OTHER, name, given)
    expect(await world.got(tried('mail'))).toMatchObject({ matched: true })
    expect(await world.refusal(tried('book'))).toBe('not_found')
    const page = await world.got(world.reads.workList({ kind: 'delivery', cursor: null, limit: 10 }))
    expect(page.items.map(({ consumer, state }) => `${consumer} ${state}`).sort()).toEqual([
      'subscription:crm ready',
      'subscription:well ready',
    ])
    expect(await world.got(second.engine.definitions.list(DEFAULT_TENANT))).toHaveLength(3)
  })
})
