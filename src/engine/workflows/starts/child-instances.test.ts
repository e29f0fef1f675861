import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { answered, makeWorld, type Node, SOURCE, type World } from '../../engine.fixture.ts'
import {
  begin,
  called,
  look,
  made,
  nameOf,
  place,
  post,
  rows,
  SETUP,
  step,
  transition,
} from '../saga.fixture.ts'

const BY = { by: 'ann', reason: 'mended' }

const PARENT: WorkflowDocument = {
  ...SETUP,
  name: 'parent',
  transitions: [
    step('a', 'begun', 'one'),
    transition('sub', 'one', 'two', {
      do: { type: 'start', workflow: 'child', with: { order: '{{ data.order }}' }, wait: true },
      out: { 'data.child': 'result.data.made', 'data.state': 'result.state' },
    }),
    step('c', 'two', 'ready'),
  ],
}

const CHILD: WorkflowDocument = {
  ...SETUP,
  name: 'child',
  places: [place('begun'), place('ready', { type: 'final' }), place('broken', { type: 'error' })],
  transitions: [
    transition('make', 'begun', 'ready', {
      do: post('make'),
      out: { 'data.made': 'result.body.id' },
      onFailure: { to: 'broken' },
    }),
  ],
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

const documents = [SOURCE, PARENT, CHILD]

describe('a step that waits for an instance', () => {
  test('[SG10] goes on with the child’s result when it ends', async () => {
    const world = makeWorld((request) => (nameOf(request) === 'make' ? null : made(request)))
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({
      state: 'active',
      firings: [{ name: 'sub', state: 'waiting' }],
    })
    const open = world.calls.at(-1)!
    open.answer(made(open.request))
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({
      state: 'completed',
      data: { child: 'v-make', state: 'completed' },
    })
    expect(called(world)).toEqual(['a', 'make', 'c'])
  })

  test('[SG10] fails if the child failed; its dead letter, replayed, starts another child', async () => {
    let isDown = true
    const world = makeWorld((request) =>
      nameOf(request) === 'make' && isDown ? answered(400) : made(request),
    )
    const node = await world.node({ documents })
    const { instance } = await begin(world, node)
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ state: 'active', attention: 'step_failed' })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ step: 'one/sub', consumer: 'workflow:parent' })
    isDown = false
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { ...BY, force: false })
    await world.pass(5_000)
    await replayed
    expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { state: 'completed' } })
    expect(called(world)).toEqual(['a', 'make', 'make', 'c'])
    const children = (await rows(world)).filter(({ workflow }) => workflow === 'child')
    expect(children.map(({ state }) => state).sort()).toEqual(['completed', 'failed'])
  })

  test('[SG10] also if the child ends at once', async () => {
    const world = makeWorld(made)
    const quick = { ...CHILD, transitions: [transition('make', 'begun', 'ready')] }
    const node = await world.node({ documents: [SOURCE, PARENT, quick] })
    const { instance } = await begin(world, node)
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { state: 'completed' } })
  })
})

describe('other actions of steps', () => {
  const nets: readonly [string, Partial<WorkflowDocument>, object][] = [
    [
      'emit',
      {
        transitions: [
          transition('tell', 'begun', 'ready', {
            do: { type: 'emit', subject: 'shop.told', data: { order: '{{ data.order }}' } },
            out: { 'data.event': 'result.eventId' },
          }),
        ],
      },
      { data: { event: expect.stringMatching(/^evt_/) } },
    ],
    [
      'what a place does on entry',
      {
        places: [place('begun', { onEnter: post('enter') }), place('ready', { type: 'final' })],
        transitions: [
          transition('go', 'begun', 'ready', { out: { 'data.id': 'steps.begun.result.body.id' } }),
        ],
      },
      { data: { id: 'v-enter' } },
    ],
  ]

  test.each(nets)('[FI11] %s', async (_name, more, expected) => {
    const world = makeWorld(made)
    const node = await world.node({ documents: [SOURCE, { ...SETUP, ...more }] })
    const { instance } = await begin(world, node)
    await world.pass(1_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', ...expected })
  })

  test('[FI11] a function, with its result', async () => {
    const world = makeWorld(made)
    const functions = { double: (input: unknown) => ({ twice: (input as { n: number }).n * 2 }) }
    const { makeStaticCode } = await import('../../../adapters/code-static/index.ts')
    const codeHash = makeStaticCode(functions as never).find('double', DEFAULT_TENANT) ?? ''
    const net: WorkflowDocument = {
      ...SETUP,
      transitions: [
        transition('run', 'begun', 'ready', {
          do: { type: 'function', name: 'double', codeHash, with: { n: 21 }, timeoutMs: 1_000 },
          out: { 'data.answer': 'result.twice' },
        }),
      ],
    }
    const node = await world.node({ documents: [SOURCE, net], functions: functions as never })
    const { instance } = await begin(world, node)
    expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { answer: 42 } })
  })
})

describe('jobs of an instance’s own waits', () => {
  const waiting: WorkflowDocument = {
    ...SETUP,
    places: [place('begun', { timeout: { afterMs: 60_000, fire: 'go' } }), place('ready', { type: 'final' })],
    transitions: [transition('go', 'begun', 'ready', { on: 'timer' })],
  }

  test('[FI10] cannot be retried or cancelled by an operator, and run at their time', async () => {
    const world = makeWorld(made)
    const node = await world.node({ documents: [SOURCE, waiting] })
    const { eventId, instance } = await begin(world, node)
    const timer = (await world.reads.workOfEvent(eventId)).find(({ kind }) => kind === 'timer')!
    const refused = { code: 'conflict' }
    await expect(node.engine.retry(DEFAULT_TENANT, timer.id, BY)).rejects.toMatchObject(refused)
    await expect(node.engine.cancel(DEFAULT_TENANT, timer.id, BY)).rejects.toMatchObject(refused)
    expect(await node.engine.allowed(timer, null)).toEqual([])
    await world.pass(59_000)
    expect(await look(world, instance)).toMatchObject({ state: 'active' })
    await world.pass(2_000)
    expect(await look(world, instance)).toMatchObject({ state: 'completed' })
    expect(await world.reads.work(timer.id)).toMatchObject({ state: 'done' })
  })
})

describe('a lock', () => {
  const locked = (name: string, source: string): WorkflowDocument => ({
    ...SETUP,
    name,
    lock: { by: "'the one'", ttlMs: 3_600_000, whenHeld: 'wait', name: 'shared' },
    triggers: [{ ...SETUP.triggers[0]!, where: `payload.to == '${source}'` }],
  })

  const run = (world: World, node: Node, id: string, to: string) =>
    begin(world, node, { kind: 'paid', id, order: id, to })

  test('[SG7] of one name is shared by workflows, and survives a crash of its node', async () => {
    const nets = [SOURCE, locked('left', 'left'), locked('right', 'right')]
    const world = makeWorld((request, call) => (call === 1 ? null : made(request)))
    const node = await world.node({ documents: nets })
    const first = await run(world, node, 'd1', 'left')
    const second = await run(world, node, 'd2', 'right')
    node.crash()
    const next = await world.node({ documents: nets })
    await world.pass(120_000)
    expect(await look(world, first.instance)).toMatchObject({ attention: 'step_parked' })
    expect((await look(world, second.instance)).admission.waitsFor).toBe('lock')
    const parked = (await world.reads.workOfEvent(first.eventId)).find(({ state }) => state === 'parked')!
    const resolved = next.engine.resolve(DEFAULT_TENANT, parked.id, { ...BY, as: 'done' })
    await world.pass(60_000)
    await resolved
    expect(await look(world, first.instance)).toMatchObject({ state: 'completed' })
    expect(await look(world, second.instance)).toMatchObject({ state: 'completed' })
  })
})
