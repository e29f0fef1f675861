import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { answered, LOST, makeDeferred, makeWorld, SOURCE, type World } from '../engine.fixture.ts'
import { ANN } from './operator-actions/instance-actions.fixture.ts'
import { begin, called, look, made, nameOf, place, post, SETUP, transition } from './saga.fixture.ts'

const BY = { by: 'ann', reason: 'mended' }

async function heard<Value>(world: World, asked: Promise<Value>): Promise<Value> {
  await world.pass(3_000)
  return asked
}

const FORK = {
  ...SETUP,
  places: [...'begun x y p q'.split(' ').map((name) => place(name)), place('ready', { type: 'final' })],
  transitions: [
    transition('split', 'begun', ['x', 'y']),
    transition('left', 'x', 'p', { do: post('left') }),
    transition('right', 'y', 'q', { do: post('right') }),
    transition('join', ['p', 'q'], 'ready'),
  ],
} as const

test('[FI4] two dead letters of one instance are replayed together, and each resumes its own firing', async () => {
  let isDown = true
  const world = makeWorld((request) => (isDown ? answered(400) : made(request)))
  const node = await world.node({ documents: [SOURCE, FORK] })
  const { instance } = await begin(world, node)
  expect((await look(world, instance)).firings).toMatchObject([{ state: 'failed' }, { state: 'failed' }])
  const preview = await heard(world, node.engine.replays.preview(DEFAULT_TENANT, {}, { force: false }))
  expect(preview.items.map(({ verdict }) => verdict)).toEqual(['would-call', 'would-call'])
  expect(preview.items[0]!.reason).toMatch(/^goes on with ins_.* at [xy]\/(left|right)$/)
  isDown = false
  await heard(world, node.engine.replays.begin(DEFAULT_TENANT, {}, { ...BY, force: false }))
  await world.pass(10_000)
  expect(await look(world, instance)).toMatchObject({ state: 'completed', attention: null })
  expect(called(world).toSorted()).toEqual(['left', 'left', 'right', 'right'])
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 9 })
  expect(items.map(({ state }) => state)).toEqual(['resolved', 'resolved'])
})

const MANUAL = {
  ...SETUP,
  transitions: [...SETUP.transitions, transition('skip', 'one', 'ready', { on: 'manual' })],
} as const

/** Its step b failed. Commits of node `late` about it wait for `go`; nothing is claimed meanwhile, unless by `late`. */
async function startRace({ isLateClaiming = false } = {}) {
  const go = makeDeferred<void>()
  let isRace = false
  let waiting = 0
  const never = new Promise<never>(() => {})
  const world = makeWorld((request) => (nameOf(request) === 'b' ? answered(400) : made(request)))
  const claim = <Value>(pass: () => Promise<Value>) => (isRace ? never : pass())
  const node = await world.node({ documents: [SOURCE, MANUAL], name: 'one', faults: { claim } })
  const late = await world.node({
    documents: [SOURCE, MANUAL],
    name: 'late',
    faults: {
      claim: (pass) => (isLateClaiming ? pass() : claim(pass)),
      commit({ writes }, pass) {
        if (!isRace || !writes.some(({ w }) => w === 'deadLetter.put' || w === 'instance.put')) return pass()
        waiting += 1
        return go.promise.then(pass)
      },
    },
  })
  const { instance, eventId } = await begin(world, node)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  isRace = true
  const skip = { transition: 'skip', input: null, comment: null }
  const steps = async () => (await world.reads.workOfEvent(eventId)).filter(({ step }) => step === 'fire/2/b')
  return {
    world,
    instance,
    letter: letter!,
    steps,
    go: () => go.give(),
    waiting: () => waiting,
    fire: (by: typeof node) => by.engine.workflows.instanceActions.fire(ANN, instance.id, skip),
    replay: (by: typeof node) => by.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false }),
    node,
    late,
  }
}

test('[FI17] [FI5] a step replayed while a user fires past it is cancelled with that', async () => {
  const { world, instance, letter, steps, go, fire, replay, node, late } = await startRace()
  const firing = fire(late)
  await world.pass()
  await heard(world, replay(node))
  expect((await steps()).map(({ state }) => state)).toEqual(['dead', 'ready'])
  go()
  await heard(world, firing)
  expect(await look(world, instance)).toMatchObject({ state: 'completed', firings: [] })
  expect((await steps()).map(({ state }) => state)).toEqual(['dead', 'cancelled'])
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'open' })
})

test('[FI17] [FI5] a replayed step that a node has leased and not resumed is cancelled too', async () => {
  const { world, instance, steps, go, waiting, fire, replay, node } = await startRace({
    isLateClaiming: true,
  })
  await heard(world, replay(node))
  expect((await steps()).map(({ state }) => state)).toEqual(['dead', 'leased'])
  expect(waiting()).toBe(1)
  await heard(world, fire(node))
  expect(await look(world, instance)).toMatchObject({ state: 'completed', firings: [] })
  expect((await steps()).map(({ state }) => state)).toEqual(['dead', 'cancelled'])
  go()
  await world.pass(10_000)
  expect((await steps()).map(({ state }) => state)).toEqual(['dead', 'cancelled'])
  expect(called(world).filter((name) => name === 'b')).toHaveLength(1)
})

test('[FI17] [FI4] a step is not replayed after a user fired past it', async () => {
  const { world, instance, letter, steps, go, fire, replay, node, late } = await startRace()
  const replaying = replay(late)
  replaying.catch(() => {})
  await world.pass()
  await heard(world, fire(node))
  expect(await look(world, instance)).toMatchObject({ state: 'completed' })
  go()
  await world.pass()
  await expect(replaying).rejects.toMatchObject({ code: 'conflict' })
  expect((await steps()).map(({ state }) => state)).toEqual(['dead'])
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'open', replays: 0 })
})

test('[FI17] a bulk replay leaves out what an instance abandoned meanwhile, and replays what only moved on', async () => {
  const { world, steps, go, waiting, fire, node, late, letter } = await startRace()
  const { instance: other } = await begin(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  const replays = late.engine.replays
  const beginning = replays.begin(DEFAULT_TENANT, {}, { ...BY, force: false })
  await world.pass()
  const { id } = await beginning
  // Its piece is prepared, and waits to be committed.
  await world.pass(1_500)
  expect(waiting()).toBe(1)
  const firing = fire(node)
  await world.pass()
  await firing
  const changes = [{ path: 'data.note', value: 1 }]
  const edited = node.engine.workflows.instanceActions.edit(ANN, other.id, { changes, reason: null })
  await world.pass()
  await edited
  go()
  await world.pass(10_000)
  const replay = await heard(world, replays.find(DEFAULT_TENANT, id))
  expect(replay).toMatchObject({ replayed: 1, refused: 1 })
  expect((await steps()).map(({ state }) => state)).toEqual(['dead'])
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'open' })
})

test('[FI4] the event of a step cannot be edited through its dead letter', async () => {
  const world = makeWorld(() => answered(400))
  const node = await world.node({ documents: [SOURCE, SETUP] })
  await begin(world, node)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  const edit = node.engine.edit(DEFAULT_TENANT, letter!.id, { ...BY, data: { order: 'o2' } })
  await expect(edit).rejects.toMatchObject({ code: 'conflict' })
})

test('[FI13] a parked step that an operator cancels leaves its firing failed, to be retried by an operator', async () => {
  const world = makeWorld(() => LOST)
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { eventId, instance } = await begin(world, node)
  const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')!
  await heard(world, node.engine.cancel(DEFAULT_TENANT, parked.id, BY))
  expect(await look(world, instance)).toMatchObject({ state: 'active', attention: 'step_failed' })
  expect((await look(world, instance)).firings).toMatchObject([{ name: 'a', state: 'failed' }])
})

test('[FI13] a response that arrives after its node was fenced moves the instance on, with its result', async () => {
  const world = makeWorld((request) => (nameOf(request) === 'a' ? null : made(request)))
  const documents = [SOURCE, SETUP]
  let isCut = false
  const never = new Promise<never>(() => {})
  const one = await world.node({
    documents,
    name: 'one',
    faults: { renew: (pass) => (isCut ? never : pass()) },
  })
  const { instance } = await begin(world, one)
  isCut = true
  await world.node({ documents, name: 'two' })
  await world.pass(120_000)
  expect(await look(world, instance)).toMatchObject({ attention: 'step_parked' })
  world.calls[0]!.answer(made(world.calls[0]!.request))
  await world.pass(10_000)
  expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { a: 'v-a' } })
  expect(called(world)).toEqual(['a', 'b', 'c'])
})
