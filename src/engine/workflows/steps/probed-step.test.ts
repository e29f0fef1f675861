import { expect, test } from 'vitest'
import { answered, LOST, makeWorld, SOURCE } from '../../engine.fixture.ts'
import { begin, called, look, made, nameOf, post, SETUP, step } from '../saga.fixture.ts'

const probe = {
  method: 'GET',
  url: 'https://vendor.example/probe',
  headers: {},
  found: 'result.body.id != null',
  afterMs: 1_000,
}

test('[FI13] the result of a probe is the result of its step: the instance goes on with it', async () => {
  const world = makeWorld((request) => {
    if (nameOf(request) === 'b') return LOST
    return nameOf(request) === 'probe' ? { ...answered(200), body: '{"id":"found"}' } : made(request)
  })
  const transitions = SETUP.transitions.map((one) =>
    one.name === 'b' ? step('b', 'one', 'two', { do: post('b', { probe }) }) : one,
  )
  const node = await world.node({ documents: [SOURCE, { ...SETUP, transitions }] })
  const { instance } = await begin(world, node)
  await world.pass(120_000)
  expect(called(world)).toEqual(['a', 'b', 'probe', 'c'])
  expect(await look(world, instance)).toMatchObject({
    state: 'completed',
    data: { a: 'v-a', b: 'found', c: 'v-c' },
  })
})
