import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { answered, LOST, makeWorld, SOURCE } from '../../engine.fixture.ts'
import {
  begin,
  called,
  historyOf,
  look,
  made,
  nameOf,
  place,
  post,
  SETUP,
  transition,
} from '../saga.fixture.ts'

const documents = [SOURCE, SETUP]
const BY = { by: 'ann', reason: 'mended' }

describe('a chain of steps', () => {
  test('[FI1] [FI2] runs in order, each with the data that the previous steps left', async () => {
    const world = makeWorld(made)
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    const after = await look(world, instance)
    expect(after).toMatchObject({ state: 'completed', marking: { ready: 1 } })
    expect(after.data).toEqual({ order: 'o1', a: 'v-a', b: 'v-b', c: 'v-c' })
    expect(called(world)).toEqual(['a', 'b', 'c'])
    expect(await historyOf(world, instance)).toEqual([
      'created',
      'began a',
      'ended a',
      'began b',
      'ended b',
      'began c',
      'ended c',
    ])
  })

  test('[FI11] has a ledger key per firing, and costs no claim', async () => {
    const world = makeWorld(made)
    let claimed = 0
    const claim = async (pass: () => ReturnType<typeof world.store.claim>) => {
      const result = await pass()
      claimed += result.items.length
      return result
    }
    const node = await world.node({ documents, faults: { claim } })
    const { instance } = await begin(world, node)
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      const entry = await world.reads.ledger(`setup:${instance.id}:${name}:${index + 1}`)
      expect(entry).toMatchObject({ state: 'done', effectRef: `v-${name}` })
    }
    expect(claimed).toBe(0)
  })

  test('[FI1] two that end at once both count: the second is decided on the result of the first', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'last' ? made(request) : null))
    const net = {
      ...SETUP,
      places: [...'begun x y p q'.split(' ').map((name) => place(name)), place('ready', { type: 'final' })],
      transitions: [
        transition('split', 'begun', ['x', 'y']),
        transition('left', 'x', 'p', { do: post('left'), out: { 'data.left': 'result.body.id' } }),
        transition('right', 'y', 'q', { do: post('right'), out: { 'data.right': 'result.body.id' } }),
        transition('join', ['p', 'q'], 'ready', { do: post('last') }),
      ],
    } as const
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    expect(called(world)).toEqual(['left', 'right'])
    for (const { request, answer } of [...world.calls]) answer(made(request))
    await world.pass()
    expect(await look(world, instance)).toMatchObject({
      state: 'completed',
      data: { order: 'o1', left: 'v-left', right: 'v-right' },
    })
    expect(called(world)).toEqual(['left', 'right', 'last'])
  })
})

describe('a step that fails', () => {
  test('[FI11] is retried by its own profile, and nothing before it is', async () => {
    let isDown = true
    const world = makeWorld((request) => (nameOf(request) === 'b' && isDown ? answered(503) : made(request)))
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ attention: null, marking: { one: 1 } })
    isDown = false
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    expect(called(world)).toEqual(['a', 'b', 'b', 'c'])
  })

  test('[FI4] permanently has a dead letter that says where, and whose replay resumes exactly there', async () => {
    let isDown = true
    const world = makeWorld((request) => (nameOf(request) === 'b' && isDown ? answered(400) : made(request)))
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    const failed = await look(world, instance)
    expect(failed).toMatchObject({ attention: 'step_failed', failure: { name: 'b', class: 'validation' } })
    expect(failed.firings).toMatchObject([{ name: 'b', state: 'failed', held: ['one'] }])
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ consumer: 'workflow:setup', step: 'one/b', class: 'validation' })
    expect((await world.reads.escalations({ cursor: null, limit: 9 })).items).toHaveLength(1)
    isDown = false
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false })
    await world.pass(2_000)
    await replayed
    expect(await look(world, instance)).toMatchObject({ state: 'completed', attention: null })
    expect(called(world)).toEqual(['a', 'b', 'b', 'c'])
    expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'resolved' })
    expect(await historyOf(world, instance)).toContain('retried b')
  })

  test('[FI4] and whose dead letter is discarded stays failed; a dead letter without a firing is not replayed', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'b' ? answered(400) : made(request)))
    const net = {
      ...SETUP,
      places: SETUP.places.map((one) =>
        one.name === 'one' ? place('one', { timeout: { afterMs: 60_000, fire: 'skip' } }) : one,
      ),
      transitions: [...SETUP.transitions, transition('skip', 'one', 'two', { on: 'timer' })],
    } as const
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    await world.pass(61_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    const replay = node.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false })
    await expect(replay).rejects.toMatchObject({ code: 'conflict' })
    const discarded = node.engine.discard(DEFAULT_TENANT, letter!.id, BY)
    await world.pass()
    await discarded
    expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'discarded' })
  })

  test('[FI6] because its result cannot be mapped keeps its effect, and is mapped again without a call', async () => {
    const world = makeWorld(made)
    const [a, ...others] = SETUP.transitions
    const choose = [{ when: "result.body.id == 'another'", to: ['one'] }]
    const net = { ...SETUP, transitions: [{ ...a!, to: [], choose }, ...others] }
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_failed', data: { order: 'o1' } })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ class: 'validation', reason: 'rejected', step: 'begun/a' })
    expect(await world.reads.ledger(letter!.key!)).toMatchObject({ state: 'done' })
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false })
    await world.pass(2_000)
    await replayed
    expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'open', replays: 1 })
    expect(called(world)).toEqual(['a'])
  })
})

describe('a step with an unknown outcome', () => {
  const lost = () =>
    makeWorld((request, call) => (nameOf(request) === 'b' && call === 2 ? LOST : made(request)))

  test('[FI13] is parked, and an operator who resolves it as done moves the instance on', async () => {
    const world = lost()
    const node = await world.node({ documents })
    const { eventId, instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_parked' })
    const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')
    const resolved = node.engine.resolve(DEFAULT_TENANT, parked!.id, { ...BY, as: 'done' })
    await world.pass()
    await resolved
    expect(await look(world, instance)).toMatchObject({ state: 'completed', attention: null })
    expect(called(world)).toEqual(['a', 'b', 'c'])
  })

  test('[FI13] is repeated if an operator resolves it as not done', async () => {
    const world = lost()
    const node = await world.node({ documents })
    const { eventId, instance } = await begin(world, node)
    const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')
    const resolved = node.engine.resolve(DEFAULT_TENANT, parked!.id, { ...BY, as: 'released' })
    await world.pass(2_000)
    await resolved
    expect(await look(world, instance)).toMatchObject({ state: 'completed', attention: null })
    expect(called(world)).toEqual(['a', 'b', 'b', 'c'])
  })

  test('[FI13] [FI4] because its node died during the call is found by the next node, which repeats nothing', async () => {
    const world = makeWorld((request, call) => (call === 2 ? null : made(request)))
    const node = await world.node({ documents })
    const { eventId, instance } = await begin(world, node)
    node.crash()
    const next = await world.node({ documents })
    await world.pass(60_000)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_parked', marking: { one: 1 } })
    const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')
    const resolved = next.engine.resolve(DEFAULT_TENANT, parked!.id, { ...BY, as: 'done' })
    await world.pass()
    await resolved
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    expect(called(world)).toEqual(['a', 'b', 'c'])
  })

  test('[FI13] is probed if the vendor supports it', async () => {
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/probe?order={{ data.order }}',
      headers: {},
      found: 'result.body.id != null',
      afterMs: 1_000,
    }
    const world = makeWorld((request, call) =>
      call === 1 ? LOST : { ...answered(200), body: JSON.stringify({ id: nameOf(request) }) },
    )
    const [a, ...others] = SETUP.transitions
    const net = { ...SETUP, transitions: [{ ...a!, do: post('a', { probe }) }, ...others] }
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    await world.pass(60_000)
    expect(called(world)).toEqual(['a', 'probe?order=o1', 'b', 'c'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
  })
})
