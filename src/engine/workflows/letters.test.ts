import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/ids/index.ts'
import { answered, LOST, makeWorld, SOURCE, type World } from '../world.fixture.ts'
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

test('[FI4] two letters of one instance are replayed in one go, and each resumes its own firing', async () => {
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

test('[FI4] the event of a step is not the letter’s to edit', async () => {
  const world = makeWorld(() => answered(400))
  const node = await world.node({ documents: [SOURCE, SETUP] })
  await begin(world, node)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  const edit = node.engine.edit(DEFAULT_TENANT, letter!.id, { ...BY, data: { order: 'o2' } })
  await expect(edit).rejects.toMatchObject({ code: 'conflict' })
})

test('[FI13] a parked step that a person cancels leaves its firing failed, for a person to go on', async () => {
  const world = makeWorld(() => LOST)
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { eventId, instance } = await begin(world, node)
  const parked = (await world.reads.workOfEvent(eventId)).find(({ state }) => state === 'parked')!
  await heard(world, node.engine.cancel(DEFAULT_TENANT, parked.id, BY))
  expect(await look(world, instance)).toMatchObject({ state: 'active', attention: 'step_failed' })
  expect((await look(world, instance)).firings).toMatchObject([{ name: 'a', state: 'failed' }])
})

test('[FI13] an answer that comes after its node was given up moves the instance on, with its result', async () => {
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
