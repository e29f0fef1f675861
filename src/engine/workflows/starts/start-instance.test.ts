import { describe, expect, test } from 'vitest'
import type {
  RouteDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { makeWorld, type Node, ROUTE, SOURCE, type World } from '../../engine.fixture.ts'
import { CASE, heard, instancesOf, itemsOf, place, sender, transition } from '../order-workflow.fixture.ts'

const T = DEFAULT_TENANT

const MANUAL: TriggerDocument = {
  id: '0',
  manual: {
    permission: 'order.start',
    input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
  action: 'create',
  where: null,
  correlate: { order: 'payload.order' },
  unique: 'live',
  map: { 'data.order': 'payload.order', 'data.by': 'actor' },
  bufferMs: 0,
}
const ASKED: WorkflowDocument = { ...CASE, triggers: [MANUAL, { ...CASE.triggers[2]!, id: '1' }] }

async function begin(...documents: Parameters<Node['engine']['apply']>[1][number][]) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, ...documents] })
  return { world, node, send: sender(world, node) }
}

const ask = (world: World, node: Node, input: { readonly order?: string | number }) =>
  heard(
    world,
    node.engine.workflows.start({ tenant: T, actor: 'key:ann', role: 'admin', permissions: [] }, 'order', {
      input,
    }),
  )

describe('a requested instance', () => {
  test('[TG7] is one commit: the request as an event, its job, which is done, and the instance', async () => {
    const { world, node } = await begin(ASKED)
    const commits: string[][] = []
    node.faults.commit = (commit, pass) => {
      commits.push(commit.writes.map(({ w }) => w))
      return pass()
    }
    const { instanceId, eventId } = await ask(world, node, { order: 'o1' })
    expect(commits).toHaveLength(1)
    expect(await world.reads.event(eventId)).toMatchObject({
      source: 'workflow:order',
      subject: 'workflow.order.requested',
      data: '{"order":"o1"}',
      matched: 1,
    })
    expect(await itemsOf(world, eventId)).toMatchObject([
      { kind: 'trigger', step: '0', state: 'done', effectRef: instanceId },
    ])
    expect(await instancesOf(world)).toMatchObject([
      { id: instanceId, data: { order: 'o1', by: 'key:ann' }, eventId },
    ])
  })

  test('[TG8] with invalid input changes nothing, and says what is wrong', async () => {
    const { world, node } = await begin(ASKED)
    await expect(ask(world, node, { order: 7 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('input.order'),
    })
    await expect(ask(world, node, {})).rejects.toMatchObject({ code: 'invalid_input' })
    const dump = await world.store.system('verification').dump()
    expect([dump.events, dump.instances, dump.work]).toEqual([[], [], []])
  })

  test('[TG7] a taken key, and a workflow that is unknown, paused or without a manual trigger, are refused', async () => {
    const { world, node } = await begin(ASKED)
    const { instanceId } = await ask(world, node, { order: 'o1' })
    await expect(ask(world, node, { order: 'o1' })).rejects.toMatchObject({
      code: 'conflict',
      details: { instance: instanceId },
    })
    await heard(world, node.engine.apply(T, [SOURCE, { ...ASKED, status: 'paused' }]))
    await expect(ask(world, node, { order: 'o2' })).rejects.toMatchObject({ code: 'conflict' })
    await heard(world, node.engine.apply(T, [SOURCE, CASE]))
    await expect(ask(world, node, { order: 'o2' })).rejects.toMatchObject({ code: 'invalid_request' })
    await heard(world, node.engine.apply(T, [SOURCE]))
    await expect(ask(world, node, { order: 'o2' })).rejects.toMatchObject({ code: 'not_found' })
    expect(await instancesOf(world)).toHaveLength(1)
  })
})

const START: RouteDocument = {
  ...ROUTE,
  name: 'starts',
  on: ['shop.events.paid'],
  key: "'START:' + payload.order",
  do: { type: 'start', workflow: 'order', with: { order: '{{ payload.order }}' }, wait: false },
}

describe('`start`', () => {
  test('[TG21] of a route starts an instance once per key, in the commit that ends its job', async () => {
    const { world, send } = await begin(ASKED, START)
    const eventId = await send('paid', 'o1')
    const again = await send('paid', 'o1')
    const [instance, ...others] = await instancesOf(world)
    expect(others).toEqual([])
    expect(instance).toMatchObject({ data: { order: 'o1' }, parent: null })
    expect(await itemsOf(world, eventId)).toMatchObject([{ state: 'done', key: 'START:o1' }])
    expect(await itemsOf(world, again)).toMatchObject([{ state: 'skipped' }])
    const asked = await world.reads.event(instance!.eventId)
    expect(asked).toMatchObject({ subject: 'workflow.order.requested', causationId: eventId })
    const entry = await world.reads.ledger('START:o1')
    expect(JSON.parse(entry?.result ?? '{}')).toEqual({ instance: instance!.id, eventId: asked!.id })
  })

  test('[TG21] of an unknown workflow, or with invalid input, fails by its class and starts nothing', async () => {
    const { world, send } = await begin(ASKED, {
      ...START,
      do: { type: 'start', workflow: 'order', with: { order: 7 }, wait: false },
    })
    const wrong = await send('paid', 'o1')
    expect(await itemsOf(world, wrong)).toMatchObject([{ state: 'dead', class: 'validation' }])
    const none = await begin(CASE, START)
    const missing = await none.send('paid', 'o1')
    expect(await itemsOf(none.world, missing)).toMatchObject([{ state: 'dead', class: 'config' }])
    expect([...(await instancesOf(world)), ...(await instancesOf(none.world))]).toEqual([])
  })

  test('[TG22] of a step that waits ends when its child does, with the child’s result', async () => {
    const parent: WorkflowDocument = {
      ...CASE,
      name: 'parent',
      places: [place('begun'), place('closed', 'final')],
      transitions: [
        transition('order', 'begun', 'closed', {
          do: { type: 'start', workflow: 'order', with: { order: '{{ data.order }}' }, wait: true },
          out: { 'data.child': 'result' },
        }),
      ],
      start: 'begun',
      triggers: [{ ...CASE.triggers[0]!, on: ['shop.events.ordered'] }],
    }
    const { world, send } = await begin(ASKED, parent)
    await send('ordered', 'o1')
    await world.pass(1_000)
    const [first, child] = await instancesOf(world)
    expect(first).toMatchObject({ workflow: 'parent', firings: [{ state: 'waiting', child: child?.id }] })
    expect(child).toMatchObject({ parent: { instance: first?.id, waits: true }, data: { order: 'o1' } })
    await send('closed', 'o1')
    await world.pass(2_000)
    expect((await instancesOf(world))[0]).toMatchObject({
      state: 'completed',
      data: { child: { instance: child?.id, state: 'completed' } },
    })
  })
})
