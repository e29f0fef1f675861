import { describe, expect, test } from 'vitest'
import type {
  DefinitionDocument,
  PollerDocument,
  RouteDocument,
  VarsDocument,
} from '../../core/definitions/documents/index.ts'
import { CANONICAL_EVENTS } from '../../core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { PollerState } from '../../core/polling/poller/index.ts'
import type { HttpRequest } from '../../ports/http-client.ts'
import { answered, makeWorld, ROUTE, SOURCE, type World } from '../engine.fixture.ts'
import { makeSource, ok, POLLER, type SourceItem } from './pollers.fixture.ts'

const MINUTE = 60_000

function ago(world: World, ms: number): string {
  return new Date(world.now() - ms).toISOString()
}

async function stateOf(world: World): Promise<PollerState> {
  const record = await world.reads.record('poller', 'orders')
  return JSON.parse(record?.body ?? 'null') as PollerState
}

async function stored(world: World): Promise<readonly string[]> {
  const { items } = await world.reads.events({ cursor: null, limit: 1_000, source: 'poller:orders' })
  return items.filter(({ subject }) => subject === 'shop.events.paid').map(({ objectId }) => objectId ?? '')
}

async function runOf(world: World, document: PollerDocument) {
  const node = await world.node({ documents: [SOURCE, ROUTE, document] })
  return {
    node,
    poll: async () => {
      const begun = node.engine.pollers.run(DEFAULT_TENANT, 'orders', 'test')
      await world.pass(10)
      return begun
    },
  }
}

function items(world: World, count: number): SourceItem[] {
  return Array.from({ length: count }, (_, at) => ({ id: `o${at}`, at: ago(world, (60 - at) * MINUTE) }))
}

describe('a poll', () => {
  test('[PO1] reads all pages, stores each item once, and moves the watermark to the end of the window', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push(...items(world, 5))
    const { poll } = await runOf(world, POLLER)
    const at = world.now()
    await poll()
    expect([...(await stored(world))].sort()).toEqual(['o0', 'o1', 'o2', 'o3', 'o4'])
    const state = await stateOf(world)
    expect(state.watermark).toBe(at - 30_000)
    expect(state.runs[0]).toMatchObject({ outcome: 'completed', pages: 4, counts: { found: 5, stored: 5 } })
    expect(world.calls.filter(({ request }) => request.url.includes('vendor')).length).toBe(5)

    await poll()
    expect((await stored(world)).length).toBe(5)
    const [from] = source.requests.slice(-1).map((url) => url.searchParams.get('from'))
    expect(from).toBe(new Date(at - 30_000 - 600_000).toISOString())
  })

  test('[PO1] polls by its cadence, without anyone who asks', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push(...items(world, 1))
    await runOf(world, POLLER)
    await world.pass(11 * MINUTE)
    expect(await stored(world)).toEqual(['o0'])
    expect((await stateOf(world)).runs.length).toBe(2)
  })

  test('[PO2] what the overlap reads again is one event; a change is another', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push({ id: 'a', at: ago(world, 2 * MINUTE) })
    const { poll } = await runOf(world, POLLER)
    await poll()
    await world.pass(MINUTE)
    await poll()
    expect((await stateOf(world)).runs[0]?.counts).toMatchObject({ found: 1, duplicates: 1, stored: 0 })
    source.items.push({ id: 'a', at: ago(world, MINUTE) })
    await poll()
    expect(await stored(world)).toEqual(['a', 'a'])
  })

  test('[PO2] an object that looks as before is skipped, and one that changed back is not', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    const { poll } = await runOf(world, { ...POLLER, unchanged: 'item.name' })
    for (const name of ['x', 'x', 'y', 'x']) {
      source.items.push({ id: 'a', at: ago(world, MINUTE), name })
      await poll()
      await world.pass(20 * MINUTE)
    }
    expect((await stored(world)).length).toBe(3)
  })

  test('[PO3] a malformed item is a dead letter, once, and its page goes on', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push({ id: 'a', at: ago(world, 2 * MINUTE) }, { id: '', at: ago(world, 2 * MINUTE) })
    const { poll } = await runOf(world, POLLER)
    await poll()
    await poll()
    expect(await stored(world)).toEqual(['a'])
    const dead = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(dead.items.map(({ lastError }) => lastError)).toEqual(['`event.objectId` gives no id for it'])
    expect((await stateOf(world)).runs[1]?.counts).toMatchObject({ stored: 1, deadLettered: 1 })
  })

  test('[PO4] while a poll runs, no other begins', async () => {
    const world = makeWorld(() => null)
    const { poll } = await runOf(world, POLLER)
    const first = await poll()
    await world.pass(10 * MINUTE)
    const second = await poll()
    expect(first.isNew).toBe(true)
    expect(second).toEqual({ workId: first.workId, isNew: false })
  })

  test('[PO6] a window with more pages than a run may read keeps the watermark, is announced, and goes on', async () => {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push(...items(world, 5))
    const paging = { ...POLLER.paging, maxPages: 2 }
    const { poll } = await runOf(world, { ...POLLER, paging })
    await poll()
    const first = await stateOf(world)
    expect(first).toMatchObject({ watermark: null, runs: [{ outcome: 'truncated', pages: 2 }] })
    expect((await stored(world)).length).toBe(4)
    const behind = await world.reads.events({ cursor: null, limit: 9, subject: 'integration.poller.behind' })
    expect(behind.items.length).toBe(1)
    const published = await world.reads.event(behind.items[0]!.id)
    expect(Object.keys(JSON.parse(published!.data)).sort()).toEqual(
      Object.keys(CANONICAL_EVENTS['integration.poller.behind'].example).sort(),
    )
    await poll()
    const state = await stateOf(world)
    expect(state).toMatchObject({ watermark: first.window?.to, window: null })
    expect((await stored(world)).length).toBe(5)
  })
})

describe('a source that fails', () => {
  test('[PO5] keeps the watermark; the poll goes on at the page that failed', async () => {
    const source = makeSource([])
    let refuses = 0
    const answer = (request: HttpRequest) =>
      request.url.includes('page=2') && refuses++ < 2 ? answered(503) : source.answer(request)
    const world = makeWorld(answer)
    source.items.push(...items(world, 3))
    const { poll } = await runOf(world, POLLER)
    await poll()
    expect((await stateOf(world)).watermark).toBeNull()
    await world.pass(5_000)
    expect(source.requests.map((url) => url.searchParams.get('page'))).toEqual(['1', '2', '3'])
    expect((await stateOf(world)).watermark).not.toBeNull()
  })

  test('[PO5] for good is one dead letter, and the next polls wait longer and longer', async () => {
    const world = makeWorld(() => answered(404))
    const { poll } = await runOf(world, POLLER)
    await poll()
    await world.pass(60 * MINUTE)
    const state = await stateOf(world)
    expect(state.watermark).toBeNull()
    expect(state.runs[0]?.outcome).toBe('failed')
    const dead = await world.reads.deadLetters({ cursor: null, limit: 99 })
    expect(dead.items.length).toBe(state.runs.length)
    expect(state.runs.length).toBeLessThan(7)
  })

  test.each([
    ['wrong_shape', () => ok({ other: [] })],
    ['wrong_shape', () => ok('text')],
    ['repeated_page', (world: World) => ok({ items: [{ id: 'a', at: ago(world, MINUTE) }] })],
    ['back_in_time', (world: World) => ok({ items: [{ id: 'a', at: ago(world, 48 * 60 * MINUTE) }] })],
  ])('[PO7] %s is named, and the watermark stays', async (code, answer) => {
    const world: World = makeWorld(() => answer(world))
    const { poll } = await runOf(world, POLLER)
    await poll()
    const state = await stateOf(world)
    expect(state).toMatchObject({ watermark: null, window: null, runs: [{ outcome: 'failed', code }] })
    const dead = await world.reads.deadLetters({ cursor: null, limit: 9 })
    expect(dead.items[0]).toMatchObject({ class: 'validation', consumer: 'poller:orders' })
    expect(dead.items[0]?.lastError).toContain(code)
  })

  test('[PO7] a cursor that loops is named, and the watermark stays', async () => {
    const next = ['b', 'c', 'b', 'c', 'b']
    const world: World = makeWorld((_, call) =>
      ok({ items: [{ id: `a${call}`, at: ago(world, MINUTE) }], next: next[call - 1] }),
    )
    const paging = {
      style: 'cursor',
      param: 'after',
      next: 'result.body.next',
      pageSize: 2,
      maxPages: 50,
    } as const
    const { poll } = await runOf(world, { ...POLLER, paging })
    await poll()
    expect(await stateOf(world)).toMatchObject({ watermark: null, runs: [{ code: 'looping_cursor' }] })
  })
})

describe('links', () => {
  const paging = { style: 'link', pageSize: 2, maxPages: 50 } as const

  test('[PO1] lead from page to page', async () => {
    const link = { link: '</orders?page=2>; rel="next", </orders?page=9>; rel="last"' }
    const world: World = makeWorld(({ url }) =>
      url.endsWith('/orders?page=2')
        ? ok({ items: [{ id: 'b', at: ago(world, MINUTE) }] })
        : ok({ items: [{ id: 'a', at: ago(world, MINUTE) }] }, link),
    )
    const { poll } = await runOf(world, { ...POLLER, paging })
    await poll()
    expect([...(await stored(world))].sort()).toEqual(['a', 'b'])
  })

  test('[PO7] to another server are not followed', async () => {
    const link = { link: '<https://evil.example/orders>; rel=next' }
    const world: World = makeWorld(() => ok({ items: [] }, link))
    const { poll } = await runOf(world, { ...POLLER, paging })
    await poll()
    expect((await stateOf(world)).runs[0]?.code).toBe('foreign_link')
    expect(world.calls.length).toBe(1)
  })
})

describe('a window that is no longer valid', () => {
  const cursor = {
    style: 'cursor',
    param: 'after',
    next: 'result.body.next',
    pageSize: 2,
    maxPages: 50,
  } as const

  test('[PO5] a cursor that expired is not asked for again: the next poll begins at the first page', async () => {
    let hasExpired = true
    const world: World = makeWorld(({ url }) => {
      if (!url.includes('after=')) return ok({ items: [{ id: 'a', at: ago(world, MINUTE) }], next: 'c1' })
      return hasExpired ? answered(410) : ok({ items: [{ id: 'b', at: ago(world, MINUTE) }] })
    })
    const { poll } = await runOf(world, { ...POLLER, paging: cursor })
    await poll()
    expect(await stateOf(world)).toMatchObject({
      watermark: null,
      window: null,
      runs: [{ outcome: 'failed' }],
    })
    hasExpired = false
    await poll()
    const state = await stateOf(world)
    expect(state).toMatchObject({ runs: [{ outcome: 'completed', pages: 2 }, {}] })
    expect(state.watermark).not.toBeNull()
  })

  test('[PO8] the credential of a new server is not sent to the stored link of the former one', async () => {
    const paging = { style: 'link', pageSize: 2, maxPages: 1 } as const
    const world: World = makeWorld(({ url }) =>
      url.includes('page=2')
        ? ok({ items: [] })
        : ok({ items: [{ id: 'a', at: ago(world, MINUTE) }] }, { link: '</orders?page=2>; rel="next"' }),
    )
    const list = {
      ...POLLER.list,
      url: '{{ vars.base }}/orders?from={{ window.from }}',
    } as PollerDocument['list']
    const at = (base: string): VarsDocument => ({
      kind: 'Vars',
      name: 'app',
      description: null,
      values: { base },
      environments: {},
    })
    const poller = { ...POLLER, list, paging }
    const node = await world.node({ documents: [SOURCE, ROUTE, poller, at('https://old.example')] })
    const poll = async () => {
      void node.engine.pollers.run(DEFAULT_TENANT, 'orders', 'test')
      await world.pass(10)
    }
    await poll()
    expect((await stateOf(world)).window?.next).toBe('https://old.example/orders?page=2')
    const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE, poller, at('https://new.example')])
    await world.pass()
    await applied
    const before = world.calls.length
    await poll()
    const hosts = world.calls.slice(before).map(({ request }) => new URL(request.url).host)
    expect(hosts).toContain('new.example')
    expect(hosts).not.toContain('old.example')
    expect((await stateOf(world)).window?.next).toBe('https://new.example/orders?page=2')
  })
})

test('[PO2] of a request without a lower bound, an unchanged object is skipped, not left to dedup', async () => {
  const object = { id: 'a', at: '' }
  const world: World = makeWorld(({ url }) => ok(url.includes('source') ? { items: [object] } : { id: 'v1' }))
  object.at = ago(world, MINUTE)
  const paging = { style: 'none', pageSize: 2, maxPages: 1 } as const
  const list = {
    ...POLLER.list,
    url: 'https://source.example/all?to={{ window.to }}',
  } as PollerDocument['list']
  const { poll } = await runOf(world, { ...POLLER, list, paging })
  await poll()
  await poll()
  expect((await stateOf(world)).runs[0]?.counts).toMatchObject({ found: 1, stored: 0, unchanged: 1 })
  object.at = ago(world, MINUTE)
  await poll()
  expect((await stateOf(world)).runs[0]?.counts).toMatchObject({ stored: 1 })
})

test('[PO8] a node that crashes between two pages is followed by one that goes on at the checkpoint', async () => {
  const source = makeSource([])
  let isSilent = true
  const answer = (request: HttpRequest) =>
    request.url.includes('page=2') && isSilent ? null : source.answer(request)
  const world = makeWorld(answer)
  source.items.push(...items(world, 3))
  const { node, poll } = await runOf(world, POLLER)
  await poll()
  expect((await stored(world)).length).toBe(2)
  node.crash()
  isSilent = false
  await world.node({ name: 'two', documents: [SOURCE, ROUTE, POLLER] })
  await world.pass(3 * MINUTE)
  expect(source.requests.map((url) => url.searchParams.get('page')).slice(0, 3)).toEqual(['1', '2', '3'])
  expect([...(await stored(world))].sort()).toEqual(['o0', 'o1', 'o2'])
  expect((await stateOf(world)).watermark).not.toBeNull()
})

test('[PO8] the dead letter of a poll can be replayed once its cause is fixed', async () => {
  const source = makeSource([])
  let isBroken = true
  const world = makeWorld((request) => (isBroken ? answered(404) : source.answer(request)))
  source.items.push(...items(world, 1))
  const { node, poll } = await runOf(world, POLLER)
  await poll()
  isBroken = false
  const dead = await world.reads.deadLetters({ cursor: null, limit: 9 })
  const id = dead.items[0]?.id
  if (id === undefined) throw new Error('there is no dead letter')
  const replayed = node.engine.replay(DEFAULT_TENANT, id, { force: false })
  await world.pass(10)
  await replayed
  expect(await stored(world)).toEqual(['o0'])
  expect((await world.reads.deadLetter(id))?.state).toBe('resolved')
})

describe('a malformed item', () => {
  const ALL: RouteDocument = { ...ROUTE, name: 'ALL', on: ['>'] }
  const NUMBERED: PollerDocument = { ...POLLER, event: { ...POLLER.event, objectId: 'item.number' } }

  async function malformed(poller: PollerDocument = NUMBERED, more: object = {}) {
    const source = makeSource([])
    const world = makeWorld(source.answer)
    source.items.push({ id: 'a', at: ago(world, 2 * MINUTE), name: 'ann', ...more })
    const node = await world.node({ documents: [SOURCE, ALL, poller] })
    const poll = async () => {
      const begun = node.engine.pollers.run(DEFAULT_TENANT, 'orders', 'test')
      await world.pass(10)
      await begun
    }
    await poll()
    const dead = await world.reads.deadLetters({ cursor: null, limit: 9 })
    const letter = dead.items.find(({ lastError }) => lastError.includes('objectId'))
    if (letter === undefined) throw new Error('there is no dead letter')
    const replay = async () => {
      const replayed = node.engine.replay(DEFAULT_TENANT, letter.id, { force: true })
      await world.pass(30_000)
      await replayed
      return world.reads.deadLetter(letter.id)
    }
    const deploy = async (documents: readonly DefinitionDocument[]) => {
      const applied = node.engine.apply(DEFAULT_TENANT, documents)
      await world.pass()
      await applied
    }
    const events = async () =>
      (await world.reads.events({ cursor: null, limit: 99, source: 'poller:orders' })).items
    const itsCalls = () => world.calls.filter(({ request }) => request.url.includes('vendor')).length
    return { world, node, letter, poll, replay, deploy, events, itsCalls }
  }

  test('[PO20] becomes the event that the corrected poller reads, once, and no route gets the item', async () => {
    const { world, letter, poll, replay, deploy, itsCalls } = await malformed()
    expect(await replay()).toMatchObject({
      state: 'open',
      reason: 'unparseable',
      lastError: letter.lastError,
    })
    expect(itsCalls()).toBe(0)
    await deploy([SOURCE, ALL, POLLER])
    expect(await replay()).toMatchObject({ state: 'resolved' })
    expect(await stored(world)).toEqual(['a'])
    expect(itsCalls()).toBe(1)
    const { items } = await world.reads.events({ cursor: null, limit: 9, subject: 'shop.events.paid' })
    const event = await world.reads.event(items[0]!.id)
    expect(event).toMatchObject({ causationId: letter.eventId, dedupKey: expect.stringMatching(/^a:20/) })
    expect(JSON.parse(event!.data)).toMatchObject({ kind: 'paid', order: 'a', item: { name: 'ann' } })
    expect(JSON.parse(event!.headers)).toEqual({ 'millrace-changed-at': expect.any(String) })
    await poll()
    expect(await stored(world)).toEqual(['a'])
    expect(itsCalls()).toBe(1)
  })

  test('[PO20] that a poll stored meanwhile is not stored again', async () => {
    const { world, poll, replay, deploy, itsCalls } = await malformed()
    await deploy([SOURCE, ALL, POLLER])
    await poll()
    expect(await stored(world)).toEqual(['a'])
    expect(await replay()).toMatchObject({ state: 'resolved' })
    expect(await stored(world)).toEqual(['a'])
    expect(itsCalls()).toBe(1)
  })

  test('[PO20] can be edited, and its poller reads the edited item', async () => {
    const { world, node, letter, replay, itsCalls } = await malformed()
    const data = { id: 'a', number: 'n7', at: ago(world, 2 * MINUTE) }
    const edited = node.engine.edit(DEFAULT_TENANT, letter.id, {
      data,
      actor: 'ann',
      reason: 'mended',
    })
    await world.pass(10)
    await edited
    expect(await replay()).toMatchObject({ state: 'resolved' })
    expect(await stored(world)).toEqual(['n7'])
    expect(itsCalls()).toBe(1)
  })

  test('[PO20] stays a dead letter while its poller is not deployed', async () => {
    const { replay, deploy, itsCalls } = await malformed()
    await deploy([SOURCE, ALL])
    expect(await replay()).toMatchObject({
      state: 'open',
      reason: 'definition_missing',
      lastError: 'the poller orders is no longer deployed, so its item cannot be read',
    })
    expect(itsCalls()).toBe(0)
  })

  test('[PO22] is sensitive as a whole if parts of its event are', async () => {
    const sensitive = ['payload.item.name']
    const { world, letter, replay, deploy } = await malformed({ ...NUMBERED, sensitive })
    expect((await world.reads.event(letter.eventId))?.sensitive).toEqual(['payload'])
    await deploy([SOURCE, ALL, { ...POLLER, sensitive }])
    await replay()
    const { items } = await world.reads.events({ cursor: null, limit: 9, subject: 'shop.events.paid' })
    expect((await world.reads.event(items[0]!.id))?.sensitive).toEqual(sensitive)
  })
})
