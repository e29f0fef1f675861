// Ways in which a step could end without its instance learning of it, or an effect could be made twice or left behind.

import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { answered, makeWorld, SOURCE } from '../engine.fixture.ts'
import { ANN, heard } from './operator-actions/instance-actions.fixture.ts'
import {
  begin,
  CREATE,
  called,
  historyOf,
  look,
  made,
  nameOf,
  place,
  post,
  rows,
  SAGA,
  SETUP,
  step,
  transition,
} from './saga.fixture.ts'

const CHILD: WorkflowDocument = {
  ...SETUP,
  name: 'child',
  places: [place('begun'), place('ready', { type: 'final' }), place('broken', { type: 'error' })],
  transitions: [transition('make', 'begun', 'ready', { do: post('make'), onFailure: { to: 'broken' } })],
  triggers: [
    {
      id: '0',
      manual: {},
      action: 'create',
      where: null,
      correlate: {},
      map: { 'data.order': 'payload.order' },
      bufferMs: 0,
    },
  ],
}

const PARENT: WorkflowDocument = {
  ...SETUP,
  name: 'parent',
  places: [
    place('begun', { timeout: { afterMs: 60_000, fire: 'give_up' } }),
    place('ready', { type: 'final' }),
    place('given_up', { type: 'final' }),
  ],
  transitions: [
    transition('sub', 'begun', 'ready', {
      do: { type: 'start', workflow: 'child', with: { order: '{{ data.order }}' }, wait: true },
      undo: post('undo-sub', { body: { child: '{{ result.instance }}' } }),
      out: { 'data.state': 'result.state' },
    }),
    transition('give_up', 'begun', 'given_up', { on: 'timer' }),
  ],
}

describe('a step that waits for an instance', () => {
  test('[SG11] and is interrupted ends when the child ends, and is undone if the child succeeded', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'make' ? null : made(request)))
    const node = await world.node({ documents: [SOURCE, PARENT, CHILD] })
    const { instance } = await begin(world, node)
    await world.pass(61_000)
    expect(await look(world, instance)).toMatchObject({
      state: 'active',
      marking: { given_up: 1 },
      firings: [{ name: 'sub', state: 'interrupted' }],
    })
    const open = world.calls.at(-1)!
    open.answer(made(open.request))
    await world.pass(2_000)
    expect(called(world)).toEqual(['make', 'undo-sub'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed', firings: [] })
  })

  test('[SG10] and that failed starts another child when an operator retries it', async () => {
    let isDown = true
    const world = makeWorld((request) => (isDown ? answered(400) : made(request)))
    const node = await world.node({ documents: [SOURCE, PARENT, CHILD] })
    const { instance } = await begin(world, node)
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_failed' })
    isDown = false
    const { instanceActions } = node.engine.workflows
    await heard(world, instanceActions.retry(ANN, instance.id, { firing: null, reason: 'mended' }))
    await world.pass(5_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { state: 'completed' } })
    const children = (await rows(world)).filter(({ workflow }) => workflow === 'child')
    expect(children.map(({ state }) => state).sort()).toEqual(['completed', 'failed'])
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ state: 'resolved' })
  })

  test('[SG10] and that failed starts another child also if the dead letter was discarded', async () => {
    let isDown = true
    const world = makeWorld((request) => (isDown ? answered(400) : made(request)))
    const node = await world.node({ documents: [SOURCE, PARENT, CHILD] })
    const { instance } = await begin(world, node)
    await world.pass(2_000)
    isDown = false
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    await heard(world, node.engine.discard(ANN.tenant, letter!.id, { actor: 'ann', reason: 'wrong' }))
    const { instanceActions } = node.engine.workflows
    await heard(world, instanceActions.retry(ANN, instance.id, { firing: null, reason: 'mended' }))
    await world.pass(5_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { state: 'completed' } })
    expect((await rows(world)).filter(({ workflow }) => workflow === 'child')).toHaveLength(2)
  })

  test('[SG14] and could not map the child’s result maps the same one again when its dead letter is replayed', async () => {
    const world = makeWorld(made)
    const [sub, giveUp] = PARENT.transitions
    const parent = {
      ...PARENT,
      transitions: [{ ...sub!, out: { 'data.order.state': 'result.state' } }, giveUp!],
    }
    const node = await world.node({ documents: [SOURCE, parent, CHILD] })
    const { instance } = await begin(world, node)
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_failed' })
    const changes = [{ path: 'data.order', value: {} }]
    await heard(
      world,
      node.engine.workflows.instanceActions.edit(ANN, instance.id, { changes, reason: 'mended' }),
    )
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    await heard(
      world,
      node.engine.replay(ANN.tenant, letter!.id, { actor: 'ann', reason: 'mended', force: false }),
    )
    await world.pass(5_000)
    expect(await look(world, instance)).toMatchObject({
      state: 'completed',
      data: { order: { state: 'completed' } },
    })
    expect(called(world)).toEqual(['make'])
  })
})

test('[FI15] a step that another node caused is noticed, whatever this node has cached of its instance', async () => {
  const net: WorkflowDocument = {
    ...SETUP,
    places: [...'begun w x y z p q'.split(' ').map((name) => place(name)), place('ready', { type: 'final' })],
    transitions: [
      transition('split', 'begun', ['w', 'x', 'y'], { do: post('split') }),
      transition('aside', 'w', 'ready', { do: post('aside') }),
      transition('left', 'x', 'p', { do: post('left') }),
      transition('right', 'y', ['z', 'q'], { do: post('right') }),
      transition('extra', 'z', 'ready', { do: post('extra') }),
      transition('next', 'q', 'ready', { do: post('next') }),
      transition('done', 'p', 'ready'),
    ],
  }
  const world = makeWorld()
  const documents = [SOURCE, net]
  const find = (name: string) => world.calls.find(({ request }) => nameOf(request) === name)!
  const answer = async (name: string) => {
    find(name).answer(made(find(name).request))
    await world.pass(3_000)
  }
  type Claim = () => ReturnType<typeof world.store.claim>
  let isTwoFull = false
  let letOneClaim: () => void = () => {}
  const oneMay = new Promise<void>((resolve) => {
    letOneClaim = resolve
  })
  const ofTwo = { claim: (pass: Claim) => (isTwoFull ? new Promise<never>(() => {}) : pass()) }
  const ofOne = { claim: (pass: Claim) => oneMay.then(pass) }
  await world.node({ documents, name: 'two', config: { concurrency: 1 }, faults: ofTwo })
  const one = await world.node({ documents, name: 'one', config: { concurrency: 2 }, faults: ofOne })
  const { instance } = await begin(world, one)
  // Of the jobs that follow from one commit, a node gets as many as it has free slots.
  await answer('split')
  expect([find('aside').node, find('left').node, find('right').node]).toEqual(['one', 'one', 'two'])
  isTwoFull = true
  letOneClaim()
  await answer('aside')
  await answer('right')
  expect([find('extra').node, find('next').node]).toEqual(['two', 'one'])
  await answer('next')
  await answer('extra')
  await answer('left')
  expect(await look(world, instance)).toMatchObject({ state: 'completed', marking: { ready: 4 } })
})

describe('the key of a step', () => {
  const net: WorkflowDocument = {
    ...SETUP,
    transitions: [transition('a', 'begun', 'ready', { do: post('a'), key: "'a-' + data.note", on: 'auto' })],
    triggers: [{ ...CREATE, map: { ...CREATE.map, 'data.note': "'first'" } }],
  }

  test('[FI16] is that of its first call, whatever happens to the data meanwhile', async () => {
    const world = makeWorld()
    const documents = [SOURCE, net]
    const next = await world.node({ documents, name: 'two' })
    const node = await world.node({ documents, name: 'one' })
    const { instance } = await begin(world, node)
    expect(called(world)).toEqual(['a'])
    node.crash()
    const changes = [{ path: 'data.note', value: 'second' }]
    await heard(
      world,
      next.engine.workflows.instanceActions.edit(ANN, instance.id, { changes, reason: 'typo' }),
    )
    await world.pass(60_000)
    expect(called(world)).toEqual(['a'])
    expect(await look(world, instance)).toMatchObject({ attention: 'step_parked' })
  })

  test('[FI16] also if it is retried after a failure', async () => {
    const world = makeWorld((request, call) => (call === 1 ? answered(503) : made(request)))
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    const changes = [{ path: 'data.note', value: 'second' }]
    await heard(
      world,
      node.engine.workflows.instanceActions.edit(ANN, instance.id, { changes, reason: 'typo' }),
    )
    await world.pass(5_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    const sent = world.calls.map(({ request }) => request.headers['idempotency-key'])
    expect(new Set(sent).size).toBe(1)
  })
})

describe('the effect of a step whose result could not be mapped', () => {
  test('[SG12] is undone with the rest', async () => {
    const world = makeWorld(made)
    const transitions = [
      step('a', 'begun', 'one'),
      step('b', 'one', 'ready', { out: { 'data.order.b': 'result.body.id' } }),
    ]
    const node = await world.node({ documents: [SOURCE, { ...SAGA, transitions }] })
    const { instance } = await begin(world, node)
    await world.pass(1_000)
    expect(called(world)).toEqual(['a', 'b', 'undo-b', 'undo-a'])
    expect(await look(world, instance)).toMatchObject({ state: 'failed', marking: { broken: 1 } })
  })

  test('[SG12] is undone if its token goes elsewhere', async () => {
    const world = makeWorld(made)
    const transitions = [
      step('a', 'begun', 'ready', { out: { 'data.order.b': 'result.body.id' }, onFailure: { to: 'ready' } }),
    ]
    const node = await world.node({ documents: [SOURCE, { ...SETUP, transitions }] })
    const { instance } = await begin(world, node)
    await world.pass(1_000)
    expect(called(world)).toEqual(['a', 'undo-a'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed', firings: [] })
    const history = await historyOf(world, instance)
    expect(history).toEqual(['created', 'began a', 'failed a', 'late a', 'began a', 'undone a'])
  })

  test('[SG12] is undone if its firing waits for an operator and is interrupted', async () => {
    const world = makeWorld(made)
    const net: WorkflowDocument = {
      ...SETUP,
      places: [
        place('begun', { timeout: { afterMs: 60_000, fire: 'give_up' } }),
        place('ready', { type: 'final' }),
      ],
      transitions: [
        step('a', 'begun', 'ready', { out: { 'data.order.b': 'result.body.id' } }),
        transition('give_up', 'begun', 'ready', { on: 'timer' }),
      ],
    }
    const node = await world.node({ documents: [SOURCE, net] })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ attention: 'step_failed' })
    await world.pass(61_000)
    expect(called(world)).toEqual(['a', 'undo-a'])
    expect(await look(world, instance)).toMatchObject({ state: 'completed', firings: [] })
  })
})

test('[SG13] an effect of another instance is not undone by one that only found it done', async () => {
  let isDown = false
  const world = makeWorld((request) => (nameOf(request) === 'b' && isDown ? answered(400) : made(request)))
  const transitions = [step('a', 'begun', 'one', { key: "'customer'" }), step('b', 'one', 'ready')]
  const node = await world.node({ documents: [SOURCE, { ...SAGA, transitions }] })
  const first = await begin(world, node, { kind: 'paid', id: 'd1', order: 'o1' })
  isDown = true
  const second = await begin(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  await world.pass(1_000)
  expect(await look(world, first.instance)).toMatchObject({ state: 'completed' })
  expect(await look(world, second.instance)).toMatchObject({ state: 'failed' })
  expect(called(world)).toEqual(['a', 'b', 'b'])
})

test('[TG1] two triggers on the same event start one instance per key', async () => {
  const world = makeWorld()
  const net: WorkflowDocument = { ...SETUP, triggers: [CREATE, { ...CREATE, id: '1' }] }
  const node = await world.node({ documents: [SOURCE, net] })
  const { eventId } = await begin(world, node)
  await world.pass(2_000)
  expect(await rows(world)).toHaveLength(1)
  const triggers = (await world.reads.workOfEvent(eventId)).filter(({ kind }) => kind === 'trigger')
  expect(triggers.map(({ state }) => state).sort()).toEqual(['done', 'skipped'])
})

test('[MG6] an instance is not migrated to a version that could not undo what is done', async () => {
  const world = makeWorld((request) => (nameOf(request) === 'b' ? answered(400) : made(request)))
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { instance } = await begin(world, node)
  const transitions = SETUP.transitions.map((one) => (one.name === 'a' ? { ...one, name: 'first' } : one))
  await heard(world, node.engine.apply(ANN.tenant, [SOURCE, { ...SETUP, transitions }]))
  const { migrations } = node.engine.workflows
  const asked = migrations.one(ANN, instance.id, { dryRun: true, reason: null })
  expect(await heard(world, asked)).toMatchObject({
    ok: false,
    message: expect.stringContaining('a is done'),
  })
})
