import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { StoreError } from '../../ports/store.ts'
import { answered, LOST, makeWorld, PAID, SOURCE } from '../engine.fixture.ts'
import {
  begin,
  called,
  historyOf,
  look,
  made,
  nameOf,
  place,
  post,
  SAGA,
  SETUP,
  step,
  transition,
} from './saga.fixture.ts'

const documents = [SOURCE, SAGA]
const BY = { by: 'ann', reason: 'mended' }

const refusing = (...names: readonly string[]) =>
  makeWorld((request) => (names.includes(nameOf(request)) ? answered(400) : made(request)))

describe('rolling back', () => {
  test('[SG1] [SG2] undoes exactly the steps that are done, newest first, each under its own key', async () => {
    const world = refusing('c')
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    expect(called(world)).toEqual(['a', 'b', 'c', 'undo-b', 'undo-a'])
    const undo = world.calls.at(-1)!.request
    expect(JSON.parse(String(undo.body))).toEqual({ id: 'v-a' })
    expect(await world.reads.ledger(`undo:setup:${instance.id}:a:1`)).toMatchObject({ state: 'done' })
    expect(await look(world, instance)).toMatchObject({ state: 'failed', marking: { broken: 1 } })
    expect(await historyOf(world, instance)).toEqual([
      'created',
      'began a',
      'ended a',
      'began b',
      'ended b',
      'began c',
      'failed c',
      'rolling_back c',
      'began b',
      'undone b',
      'began a',
      'undone a',
      'rolling_back',
    ])
  })

  test('[SG15] an undone effect is repeated by the next instance under the same key, and undone again', async () => {
    const shared = (name: string, from: string, to: string) =>
      step(name, from, to, { key: `'${name}:' + data.order` })
    const transitions = [shared('a', 'begun', 'one'), shared('b', 'one', 'two'), step('c', 'two', 'ready')]
    const world = refusing('c')
    const node = await world.node({ documents: [SOURCE, { ...SAGA, transitions }] })
    const first = await begin(world, node)
    expect(await look(world, first.instance)).toMatchObject({ state: 'failed' })
    const second = await begin(world, node, { ...PAID, id: 'd2' })
    expect(await look(world, second.instance)).toMatchObject({ state: 'failed' })
    const round = ['a', 'b', 'c', 'undo-b', 'undo-a']
    expect(called(world)).toEqual([...round, ...round])
    const sent = world.calls.map(({ request }) => request.headers['idempotency-key'])
    expect(sent.filter((key) => key?.includes('a:o1'))).toEqual([
      'a:o1',
      'undo:a:o1',
      'a:o1#2',
      'undo:a:o1#2',
    ])
  })

  test('[SG3] [FI7] the failure that it handles has no dead letter; the failed instance is reported once', async () => {
    const world = refusing('b')
    const node = await world.node({ documents })
    await begin(world, node)
    expect((await world.reads.deadLetters({ cursor: null, limit: 9 })).items).toEqual([])
    const { items } = await world.reads.escalations({ cursor: null, limit: 9 })
    expect(items).toMatchObject([{ reason: 'instance_failed', consumer: 'workflow:setup', count: 1 }])
    expect(items[0]!.lastError).toContain('answered 400')
  })

  test('[SG3] [FI1] a store failure while the instance ends does not lose the vendor’s response', async () => {
    const world = refusing('a')
    let failures = 0
    const node = await world.node({
      documents,
      faults: {
        correlation(pass) {
          // Once the call was made: when the key is released.
          if (world.calls.length === 0 || failures > 0) return pass()
          failures += 1
          throw new StoreError('unavailable', 'away for a moment')
        },
      },
    })
    const { instance } = await begin(world, node)
    await world.pass(60_000)
    expect(failures).toBe(1)
    expect(called(world)).toEqual(['a'])
    expect(await look(world, instance)).toMatchObject({ state: 'failed', marking: { broken: 1 } })
  })

  test('[SG3] without a completed step there is nothing to undo', async () => {
    const world = refusing('a')
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    expect(called(world)).toEqual(['a'])
    expect(await look(world, instance)).toMatchObject({ state: 'failed' })
  })

  test('[SG4] an undo that fails permanently stops the rollback there, and resumes when its dead letter is replayed', async () => {
    let isDown = true
    const world = makeWorld((request) => {
      const isRefused = nameOf(request) === 'c' || (nameOf(request) === 'undo-b' && isDown)
      return isRefused ? answered(400) : made(request)
    })
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({
      state: 'active',
      attention: 'undo_failed',
      marking: { rolling_back: 1 },
    })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ step: 'rolling_back/undo b' })
    isDown = false
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false })
    await world.pass(2_000)
    await replayed
    expect(await look(world, instance)).toMatchObject({ state: 'failed', marking: { broken: 1 } })
    expect(called(world)).toEqual(['a', 'b', 'c', 'undo-b', 'undo-b', 'undo-a'])
  })

  test('[SG5] waits for steps in progress, and undoes those too when they succeed late', async () => {
    const world = makeWorld((request) =>
      nameOf(request) === 'right' ? null : nameOf(request) === 'left' ? answered(400) : made(request),
    )
    const net = {
      ...SAGA,
      places: [...SAGA.places, place('x'), place('y')],
      transitions: [
        step('a', 'begun', 'one'),
        transition('split', 'one', ['x', 'y']),
        step('right', 'y', 'two'),
        step('left', 'x', 'two'),
        transition('join', ['two', 'two'], 'ready'),
      ],
    } as const
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    expect(called(world)).toEqual(['a', 'right', 'left'])
    expect(await look(world, instance)).toMatchObject({ marking: { rolling_back: 1 } })
    const open = world.calls.find(({ request }) => nameOf(request) === 'right')!
    open.answer(made(open.request))
    await world.pass()
    expect(called(world)).toEqual(['a', 'right', 'left', 'undo-right', 'undo-a'])
    expect(await look(world, instance)).toMatchObject({ state: 'failed' })
    expect(await historyOf(world, instance)).toContain('late right')
  })

  test('[SG6] without `undo` the token goes where `onFailure` says, and the instance continues there', async () => {
    const world = refusing('b')
    const net = {
      ...SETUP,
      transitions: SETUP.transitions.map((one) =>
        one.name === 'b' ? { ...one, onFailure: { to: 'two' } } : one,
      ),
    }
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', failure: { name: 'b' } })
    expect(called(world)).toEqual(['a', 'b', 'c'])
    expect((await world.reads.deadLetters({ cursor: null, limit: 9 })).items).toEqual([])
  })
})

describe('timeouts', () => {
  const timed = (b = step('b', 'one', 'two')) => ({
    ...SETUP,
    places: [
      place('begun'),
      place('one', { timeout: { afterMs: 60_000, fire: 'give_up' } }),
      place('two'),
      place('ready', { type: 'final' }),
      place('given_up', { type: 'final' }),
    ],
    transitions: [
      step('a', 'begun', 'one'),
      b,
      step('c', 'two', 'ready'),
      transition('give_up', 'one', 'given_up', { on: 'timer' }),
    ],
  })

  test('[FI9] a token that leaves in time takes its timer along', async () => {
    const world = makeWorld(made)
    const node = await world.node({ documents: [SOURCE, timed()] })
    const { eventId, instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', stays: [] })
    const timers = (await world.reads.workOfEvent(eventId)).filter(({ kind }) => kind === 'timer')
    expect(timers).toMatchObject([{ state: 'cancelled', step: 'stay/1/one' }])
  })

  test('[FI5] a step that only waits for its next attempt is cancelled with the timeout', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'b' ? answered(503) : made(request)))
    const slow = step('b', 'one', 'two', { retry: { profile: null, attempts: 2, delaysMs: [600_000] } })
    const node = await world.node({ documents: [SOURCE, timed(slow)] })
    const { eventId, instance } = await begin(world, node)
    await world.pass(61_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', marking: { given_up: 1 } })
    const items = await world.reads.workOfEvent(eventId)
    expect(items.find(({ step }) => step === 'fire/2/b')).toMatchObject({ state: 'cancelled' })
    const failures = await world.reads.failures({ cursor: null, limit: 9 })
    expect(failures.items).toMatchObject([{ state: 'resolved' }])
    expect(called(world)).toEqual(['a', 'b'])
  })

  test('[FI8] the late success of an interrupted step is recorded, and undone', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'b' ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, timed()] })
    const { instance } = await begin(world, node)
    await world.pass(61_000)
    expect(await look(world, instance)).toMatchObject({ state: 'active', marking: { given_up: 1 } })
    const open = world.calls.at(-1)!
    open.answer(made(open.request))
    await world.pass()
    expect(called(world)).toEqual(['a', 'b', 'undo-b'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed', marking: { given_up: 1 } })
  })

  test('[FI8] an interrupted step is not retried', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'b' ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, timed()] })
    const { instance } = await begin(world, node)
    await world.pass(61_000)
    world.calls.at(-1)!.answer(answered(503))
    await world.pass(10_000)
    expect(called(world)).toEqual(['a', 'b'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
  })

  test('[FI8] an unknown outcome is probed, and the call is not repeated if it did nothing', async () => {
    const world = makeWorld((request) => {
      if (nameOf(request) === 'b') return null
      return nameOf(request) === 'probe' ? { ...answered(200), body: '{"count":0}' } : made(request)
    })
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/probe',
      headers: {},
      found: 'result.body.count > 0',
      afterMs: 1_000,
    }
    const net = timed(step('b', 'one', 'two', { do: post('b', { probe }) }))
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    await world.pass(61_000)
    world.calls.at(-1)!.answer(LOST)
    await world.pass(120_000)
    expect(called(world)).toEqual(['a', 'b', 'probe'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed', marking: { given_up: 1 } })
  })

  test('[FI8] [FI13] an unknown outcome stays so until an operator resolves it', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'b' ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, timed()] })
    const { eventId, instance } = await begin(world, node)
    await world.pass(61_000)
    world.calls.at(-1)!.answer(LOST)
    await world.pass()
    expect(await look(world, instance)).toMatchObject({ state: 'active', attention: 'step_parked' })
    const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')
    const resolved = node.engine.resolve(DEFAULT_TENANT, parked!.id, { ...BY, as: 'released' })
    await world.pass(2_000)
    await resolved
    expect(called(world)).toEqual(['a', 'b'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
  })
})

describe('locks and slots', () => {
  const order = (id: string, order: string) => ({ kind: 'paid', id, order, customer: 'k' })
  const locked = {
    ...SETUP,
    lock: { by: 'data.customer', ttlMs: 600_000, whenHeld: 'wait' },
    triggers: [
      { ...SETUP.triggers[0]!, map: { 'data.order': 'payload.order', 'data.customer': 'payload.customer' } },
    ],
  } as const

  test.each([
    ['[SG7] one lock: the second begins when the first has ended, and not before', locked],
    ['[SG8] so many at once: the others wait for a place', { ...SETUP, maxConcurrent: 1 }],
  ] as const)('%s', async (_name, net) => {
    const world = makeWorld((request, call) => (call === 2 ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, net] })
    const first = await begin(world, node, order('d1', 'o1'))
    const second = await begin(world, node, order('d2', 'o2'))
    const third = await begin(world, node, order('d3', 'o3'))
    await world.pass(60_000)
    expect(called(world)).toEqual(['a', 'b'])
    expect((await look(world, second.instance)).admission.waitsFor).not.toBeNull()
    const open = world.calls.at(-1)!
    open.answer(made(open.request))
    await world.pass(10_000)
    for (const { instance } of [first, second, third]) {
      expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    }
    const orders = world.calls.map(
      ({ request }) => (JSON.parse(String(request.body)) as { order: string }).order,
    )
    expect(orders).toEqual(['o1', 'o1', 'o1', 'o2', 'o2', 'o2', 'o3', 'o3', 'o3'])
  })

  test('[SG9] a lock that is held for too long is reported, and stays', async () => {
    const world = makeWorld((request, call) => (call === 1 ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, locked] })
    const first = await begin(world, node, order('d1', 'o1'))
    const second = await begin(world, node, order('d2', 'o2'))
    await world.pass(601_000)
    expect(await look(world, first.instance)).toMatchObject({ attention: 'lock_expired' })
    expect((await look(world, second.instance)).admission.waitsFor).toBe('lock')
    const { items } = await world.reads.escalations({ cursor: null, limit: 9 })
    expect(items).toMatchObject([{ reason: 'lock_expired' }])
    expect(called(world)).toEqual(['a'])
  })
})
