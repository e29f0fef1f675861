import { describe, expect, test } from 'vitest'
import { hashDocument, type RouteDocument } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId, type WorkId } from '../core/foundation/ids/index.ts'
import { type Commit, StoreError } from '../ports/store.ts'
import { accept, CREATED, HTTP, makeWorld, PAID, ROUTE, SOURCE, workOf } from './engine.fixture.ts'

const settles = (commit: Commit) => commit.writes.some(({ w }) => w === 'work.settle' || w === 'work.again')

describe('what is known', () => {
  test('[R22] is recorded, however late', async () => {
    const world = makeWorld()
    const first = await world.node()
    first.crash()
    const eventId = 'evt_late' as EventId
    const id = 'wrk_late' as WorkId
    const consumer = 'route:book'
    const common = { objectId: 'o1', payloadHash: 'sha256:0', correlationId: 'c' }
    const committed = world.store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [
        {
          w: 'event.append',
          dedupForMs: 1,
          event: {
            ...common,
            id: eventId,
            tenant: DEFAULT_TENANT,
            source: 'shop',
            subject: 'shop.events.paid',
            objectType: null,
            occurredAt: null,
            causationId: null,
            traceId: 't',
            dedupKey: 'd',
            headers: '{}',
            data: JSON.stringify(PAID),
            raw: null,
            sensitive: [],
            matched: 1,
          },
        },
        {
          w: 'work.add',
          lease: null,
          delayMs: 0,
          work: {
            id,
            kind: 'route',
            consumer,
            definition: hashDocument(ROUTE),
            codeHash: null,
            eventId,
            expiresInMs: 1_000,
            replayOf: null,
          },
        },
        {
          w: 'ledger.done',
          effectRef: 'v1',
          result: null,
          entry: { ...common, key: 'BOOK:o1', work: id, epoch: 1, consumer, eventId },
        },
        {
          w: 'work.again',
          work: id,
          delayMs: 0,
          counters: { attempts: 1, waits: 1, losses: 0 },
          note: {
            key: 'BOOK:o1',
            class: 'unknown',
            lastError: null,
            effectRef: null,
            httpStatus: null,
            durationMs: null,
          },
        },
      ],
    })
    await world.pass()
    expect((await committed).ok).toBe(true)
    await world.pass(5_000)
    await world.node()
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', effectRef: 'v1' })
    expect((await world.reads.deadLetters({ cursor: null, limit: 1 })).items).toEqual([])
  })

  test('[R23] a forgotten reserve means an unknown outcome, not permission to send', async () => {
    const world = makeWorld(() => CREATED)
    let broken = 0
    let lost = 0
    const node = await world.node({
      faults: {
        async commit(commit, pass) {
          if (settles(commit) && broken < 2) {
            broken += 1
            throw new Error('a bug')
          }
          const result = await pass()
          if (broken === 2 && lost === 0 && commit.writes[0]?.w === 'event.append') {
            lost += 1
            throw new StoreError('unavailable', 'the answer got lost', { applied: 'indeterminate' })
          }
          return result
        },
      },
    })
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(broken).toBe(2)
    const second = node.send({ ...PAID, id: 'd2', order: 'o2' })
    await world.pass(60_000)
    await second
    const sent = world.calls.map(({ request }) => request.headers['idempotency-key'])
    expect(sent).toEqual(['BOOK:o1', 'BOOK:o2'])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown' })
  })
})

describe('sharing', () => {
  test('[R24] a backlog of one route does not keep another waiting', async () => {
    const world = makeWorld()
    const route = (name: string, on: string): RouteDocument => ({
      ...ROUTE,
      name,
      on: [on],
      key: null,
      do: { ...HTTP, url: `https://vendor.example/${name}` },
    })
    const documents = [SOURCE, route('first', 'shop.events.paid'), route('other', 'shop.events.sent')]
    const node = await world.node({ documents, config: { concurrency: 1 } })
    for (let index = 0; index < 10; index += 1) await accept(world, node, { ...PAID, id: `a${index}` })
    await accept(world, node, { ...PAID, kind: 'sent', id: 'b' })
    for (let answered = 0; answered < 4; answered += 1) {
      world.calls[answered]?.answer(CREATED)
      await world.pass(100)
    }
    const seen = world.calls.slice(0, 4).map(({ request }) => request.url)
    expect(seen).toContain('https://vendor.example/other')
  })

  test('[R25] slots come back from a decision that breaks', async () => {
    const world = makeWorld()
    const emit: RouteDocument = {
      ...ROUTE,
      name: 'tell',
      key: null,
      do: { type: 'emit', subject: 'shop.told', data: {} },
    }
    const seen: RouteDocument = {
      ...emit,
      name: 'hear',
      on: ['shop.told'],
      do: { type: 'emit', subject: 'shop.heard', data: {} },
    }
    let broken = 0
    const node = await world.node({
      documents: [SOURCE, emit, seen],
      config: { concurrency: 2 },
      faults: {
        async commit(commit, pass) {
          const tells = commit.writes.some(
            (write) => write.w === 'event.append' && write.event.subject === 'shop.told',
          )
          if (tells && broken < 4) {
            broken += 1
            throw new Error('a bug')
          }
          return pass()
        },
      },
    })
    const eventId = await accept(world, node)
    await world.pass(300_000)
    expect(broken).toBe(4)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(node.engine.health().running).toBe(0)
    const next = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, next)).toMatchObject({ state: 'done', waits: 0 })
  })

  test('[R26] a store that does not answer does not fill the memory', async () => {
    const world = makeWorld(() => CREATED)
    let isStuck = false
    const node = await world.node({
      config: { acceptsMax: 3 },
      faults: { commit: (_commit, pass) => (isStuck ? new Promise(() => {}) : pass()) },
    })
    await accept(world, node)
    isStuck = true
    for (let index = 0; index < 3; index += 1) void node.send({ ...PAID, id: `w${index}` })
    await expect(node.send({ ...PAID, id: 'one too many' })).rejects.toMatchObject({ code: 'overloaded' })
  })
})
