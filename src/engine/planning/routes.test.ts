import { describe, expect, test } from 'vitest'
import type { DefinitionDocument, RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'

const routeOf = (name: string, more: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  name,
  key: null,
  ...more,
})

async function worldOf(
  documents: readonly DefinitionDocument[],
  answer: Parameters<typeof makeWorld>[0] = () => CREATED,
): Promise<{ world: World; node: Node }> {
  const world = makeWorld(answer)
  return { world, node: await world.node({ documents: [SOURCE, ...documents] }) }
}

const paid = (id: string, more: object = {}) => ({ kind: 'paid', id, order: 'o1', ...more })
const workOf = async (world: World, id: Parameters<World['reads']['workOfEvent']>[0]) =>
  (await world.reads.workOfEvent(id)).map(({ consumer, state }) => `${consumer} ${state}`)

describe('fanOut', () => {
  test('[FO1] `one` beside another: no route runs, and a dead letter names them', async () => {
    const { world, node } = await worldOf([routeOf('a', { fanOut: 'one' }), routeOf('b')])
    const id = await accept(world, node, paid('e1'))
    await world.pass(1_000)
    expect(await workOf(world, id)).toEqual(['source:shop dead'])
    expect(world.calls).toEqual([])
    const letters = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(letters.items).toMatchObject([
      { class: 'config', reason: 'ambiguous_routes', lastError: expect.stringContaining('a, b') },
    ])
    expect(node.log.controls.map(({ action }) => action)).toContain('DEAD_LETTERED')
  })

  test('[FO1] once the definitions say which route runs, a replay of the dead letter runs it', async () => {
    const { world, node } = await worldOf([routeOf('a', { fanOut: 'one' }), routeOf('b')])
    const id = await accept(world, node, paid('e1'))
    const applying = node.engine.apply(DEFAULT_TENANT, [SOURCE, routeOf('a', { fanOut: 'one' })])
    await world.pass()
    await applying
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    const replaying = node.engine.replay(DEFAULT_TENANT, letter?.id as never, { force: false, reason: 'x' })
    await world.pass(2_000)
    await replaying
    expect(await workOf(world, id)).toEqual(['source:shop dead', 'source:shop done', 'route:a done'])
  })

  test('[FO1] the same holds for an event that an action emits', async () => {
    const emits = routeOf('emits', { do: { type: 'emit', subject: 'shop.booked', data: null } })
    const on = ['shop.booked']
    const { world, node } = await worldOf([emits, routeOf('a', { on, fanOut: 'one' }), routeOf('b', { on })])
    const id = await accept(world, node, paid('e1'))
    await world.pass(1_000)
    const caused = await world.reads.causedBy(id, 10)
    const booked = caused.find(({ subject }) => subject === 'shop.booked')
    expect(await workOf(world, booked?.id as never)).toEqual(['source:route:emits dead'])
    expect(await workOf(world, id)).toEqual(['route:emits done'])
  })

  test('[FO2] of the routes with `first` the first written runs, beside the others', async () => {
    const first = { fanOut: 'first' } as const
    const { world, node } = await worldOf([
      routeOf('a', { ...first, where: 'payload.total > 100' }),
      routeOf('b', first),
      routeOf('c', first),
      routeOf('d'),
    ])
    const small = await accept(world, node, paid('e1', { total: 1 }))
    const large = await accept(world, node, paid('e2', { total: 1_000 }))
    await world.pass(1_000)
    expect(await workOf(world, small)).toEqual(['route:b done', 'route:d done'])
    expect(await workOf(world, large)).toEqual(['route:a done', 'route:d done'])
  })
})

describe('each', () => {
  const each = { of: 'payload.entries', as: 'entry', max: 3 }
  const body = { n: '{{ entry.n }}' }
  const lines = routeOf('lines', { each, do: { ...HTTP, body } })
  const entries = (...numbers: readonly number[]) => ({ entries: numbers.map((n) => ({ n })) })
  const sent = (world: World) =>
    world.calls.map(({ request }) => JSON.parse(request.body ?? '{}').n as number)

  test('[FO3] creates one job and one effect per element', async () => {
    const { world, node } = await worldOf([lines])
    const id = await accept(world, node, paid('e1', entries(7, 8)))
    await world.pass(1_000)
    expect(sent(world)).toEqual([7, 8])
    const rows = await world.reads.workOfEvent(id)
    expect(rows.map(({ element, key }) => [element, key])).toEqual([
      [0, `lines:${id}:0`],
      [1, `lines:${id}:1`],
    ])
  })

  test('[FO3] a dead element is replayed alone, under its key', async () => {
    const { world, node } = await worldOf([lines], ({ body }, call) =>
      body?.includes('8') === true && call < 3 ? answered(400) : CREATED,
    )
    await accept(world, node, paid('e1', entries(7, 8)))
    await world.pass(1_000)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    const replaying = node.engine.replay(DEFAULT_TENANT, letter?.id as never, { force: false, reason: 'x' })
    await world.pass(2_000)
    await replaying
    expect(sent(world)).toEqual([7, 8, 8])
    expect((await world.reads.deadLetter(letter?.id as never))?.state).toBe('resolved')
  })

  test('[FO3] a replay of the whole event repeats nothing', async () => {
    const { world, node } = await worldOf([lines])
    const id = await accept(world, node, paid('e1', entries(7, 8)))
    await world.pass(1_000)
    const replaying = node.engine.replays.beginEvents(DEFAULT_TENANT, { ids: [id] }, { reason: 'x' })
    await world.pass(5_000)
    await replaying
    expect(sent(world)).toEqual([7, 8])
    expect((await workOf(world, id)).filter((text) => text === 'route:lines skipped')).toHaveLength(2)
  })

  test.each([
    ['[FO4] no list', { entries: { n: 1 } }, 'dead', 'rejected'],
    ['[FO4] nothing there', {}, 'dead', 'rejected'],
    ['[FO4] too many', entries(1, 2, 3, 4), 'dead', 'too_many_elements'],
    ['[FO4] none', { entries: [] }, 'skipped', null],
  ])('%s', async (_name, payload, state, reason) => {
    const { world, node } = await worldOf([lines])
    const id = await accept(world, node, paid('e1', payload))
    await world.pass(1_000)
    expect(await workOf(world, id)).toEqual([`route:lines ${state}`])
    const letters = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(letters.items.map((letter) => [letter.class, letter.reason])).toEqual(
      reason === null ? [] : [['validation', reason]],
    )
    expect(world.calls).toEqual([])
  })

  test('[FO5] a list that was too long is expanded once the route allows it', async () => {
    const { world, node } = await worldOf([lines])
    const id = await accept(world, node, paid('e1', entries(1, 2, 3, 4)))
    await world.pass(1_000)
    const wider = { ...lines, each: { ...each, max: 10 } }
    const applying = node.engine.apply(DEFAULT_TENANT, [SOURCE, wider])
    await world.pass()
    await applying
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    const replaying = node.engine.replay(DEFAULT_TENANT, letter?.id as never, { force: false, reason: 'x' })
    await world.pass(3_000)
    await replaying
    expect(sent(world).sort()).toEqual([1, 2, 3, 4])
    expect((await world.reads.deadLetter(letter?.id as never))?.state).toBe('resolved')
    expect((await workOf(world, id)).filter((text) => text === 'route:lines done')).toHaveLength(4)
  })

  test('[LN1] [FO3] elements are ordered by their own lane keys', async () => {
    const ordered = { ...lines, order: { by: 'entry.n % 2' } }
    const { world, node } = await worldOf([ordered], () => null)
    await accept(world, node, paid('e1', entries(1, 2, 3)))
    await world.pass(1_000)
    expect(sent(world)).toEqual([1, 2])
    world.calls[0]?.answer(CREATED)
    await world.pass(1_000)
    expect(sent(world)).toEqual([1, 2, 3])
  })
})

describe('a disabled route', () => {
  const off = async () => {
    const { world, node } = await worldOf([routeOf('a', { status: 'disabled' })])
    const id = await accept(world, node, paid('e1'))
    const enable = async () => {
      const applying = node.engine.apply(DEFAULT_TENANT, [SOURCE, routeOf('a')])
      await world.pass()
      await applying
    }
    return { world, node, id, enable }
  }

  test('[FO6] skips new jobs, logs that and lists them', async () => {
    const { world, node, id } = await off()
    expect(await workOf(world, id)).toEqual(['route:a skipped'])
    const lines = node.log.controls.filter(({ action }) => action === 'DISABLED')
    expect(lines).toMatchObject([{ routeName: 'a', eventId: id }])
    const listed = await world.reads.workList({ cursor: null, limit: 10, consumer: 'route:a' })
    expect(listed.items).toMatchObject([{ state: 'skipped', lastError: 'DISABLED' }])
  })

  test.each([
    ['alone', (id: string) => ({ ids: [id as never] })],
    ['by a filter', () => ({ source: 'shop' })],
  ])('[FO6] its skipped jobs are replayed %s once it is active', async (_name, filterOf) => {
    const { world, node, id, enable } = await off()
    await enable()
    const replaying = node.engine.replays.beginEvents(DEFAULT_TENANT, filterOf(id), { reason: 'x' })
    await world.pass(5_000)
    await replaying
    expect(world.calls).toHaveLength(1)
    expect(await workOf(world, id)).toContain('route:a done')
  })
})

test('[FO7] a change affects only new jobs', async () => {
  const withPath = (path: string) =>
    routeOf('a', { key: 'payload.id', do: { ...HTTP, url: `https://vendor.example/${path}` } })
  const { world, node } = await worldOf([withPath('old')], () => null)
  const first = await accept(world, node, paid('e1'))
  const applying = node.engine.apply(DEFAULT_TENANT, [SOURCE, withPath('new')])
  await world.pass()
  await applying
  world.calls[0]?.answer(answered(503))
  await world.pass(3_000)
  const second = await accept(world, node, paid('e2'))
  await world.pass(1_000)
  expect(world.calls.map(({ request }) => request.url.split('/').at(-1))).toEqual(['old', 'old', 'new'])
  const hashes = []
  for (const id of [first, second]) hashes.push((await world.reads.workOfEvent(id))[0]?.definition)
  expect(new Set(hashes).size).toBe(2)
  world.calls[1]?.answer(CREATED)
  world.calls[2]?.answer(CREATED)
  await world.pass(1_000)
  const done = node.log.controls.filter(({ action }) => action === 'DONE')
  expect(done.map(({ configHash }) => configHash).sort()).toEqual(hashes.sort())
})

describe('delay', () => {
  const late = routeOf('late', { delayMs: 5 * MINUTE })

  test('[FO11] a job starts no sooner, and shows when it is due', async () => {
    const { world, node } = await worldOf([late, routeOf('now')])
    const id = await accept(world, node, paid('e1'))
    await world.pass(5 * MINUTE - 2_000)
    expect(await workOf(world, id)).toEqual(['route:late ready', 'route:now done'])
    const [waiting] = (await world.reads.workOfEvent(id)).filter(({ state }) => state === 'ready')
    expect((waiting?.dueAt ?? 0) - (waiting?.createdAt ?? 0)).toBe(5 * MINUTE)
    await world.pass(4_000)
    expect(await workOf(world, id)).toEqual(['route:late done', 'route:now done'])
  })

  test('[FO11] it outlives a crash, and its time limit starts with the first attempt', async () => {
    const route = { ...late, maxWaitMs: MINUTE }
    const { world, node } = await worldOf([route])
    const id = await accept(world, node, paid('e1'))
    node.crash()
    await world.node({ documents: [SOURCE, route] })
    await world.pass(4 * MINUTE)
    expect(await workOf(world, id)).toEqual(['route:late ready'])
    await world.pass(2 * MINUTE)
    expect(await workOf(world, id)).toEqual(['route:late done'])
  })

  test('[FO11] replays run at once', async () => {
    let status = 400
    const { world, node } = await worldOf([late], () => answered(status))
    const id = await accept(world, node, paid('e1'))
    await world.pass(6 * MINUTE)
    expect(await workOf(world, id)).toEqual(['route:late dead'])
    status = 200
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 10 })).items
    const replaying = node.engine.replay(DEFAULT_TENANT, letter?.id as never, { force: false, reason: 'x' })
    await world.pass(2_000)
    await replaying
    expect(await workOf(world, id)).toEqual(['route:late dead', 'route:late done'])
  })

  test('[FO11] with an order it is kept', async () => {
    const { world, node } = await worldOf([{ ...late, order: { by: 'payload.order' } }])
    const first = await accept(world, node, paid('e1'))
    await world.pass(2 * MINUTE)
    const second = await accept(world, node, paid('e2'))
    await world.pass(4 * MINUTE)
    expect(await workOf(world, first)).toEqual(['route:late done'])
    expect(await workOf(world, second)).toEqual(['route:late ready'])
    await world.pass(2 * MINUTE)
    expect(await workOf(world, second)).toEqual(['route:late done'])
  })
})

describe('the time limit of a job', () => {
  test('[FO9] a job that waited in a paused route for longer than its limit still runs, with all its attempts', async () => {
    const { world, node } = await worldOf(
      [routeOf('a', { status: 'paused', maxWaitMs: 1_000 })],
      (_request, call) => (call === 1 ? answered(503) : CREATED),
    )
    const id = await accept(world, node, paid('e1'))
    await world.pass(3_600_000)
    const resuming = node.engine.definitions.control(DEFAULT_TENANT, 'Route', 'a', 'resume', {
      actor: 'ada',
      reason: null,
    } as never)
    await world.pass(10_000)
    await resuming
    expect(world.calls).toHaveLength(2)
    expect(await workOf(world, id)).toEqual(['route:a done'])
  })

  test('[FO9] starts with the first attempt, and ends', async () => {
    const { world, node } = await worldOf([routeOf('a', { maxWaitMs: 60_000 })], () =>
      answered(429, { 'retry-after': '20' }),
    )
    const id = await accept(world, node, paid('e1'))
    await world.pass(3_600_000)
    expect(await workOf(world, id)).toEqual(['route:a dead'])
    const letters = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(letters.items).toMatchObject([{ reason: 'expired' }])
  })
})

test('[FO10] routes whose pattern does not match the subject are not evaluated', async () => {
  const strangers = Array.from({ length: 50 }, (_, n) =>
    routeOf(`s${n}`, { on: [`other.events.n${n}`], where: 'payload.does.not.matter > 1' }),
  )
  const { world, node } = await worldOf([...strangers, routeOf('a')])
  const id = await accept(world, node, paid('e1'))
  await world.pass(1_000)
  expect(await workOf(world, id)).toEqual(['route:a done'])
})
