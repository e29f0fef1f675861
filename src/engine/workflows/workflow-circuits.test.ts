// The circuits of steps and triggers, with a memory store.
import { describe, expect, test } from 'vitest'
import type { TransitionDocument, WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { USUAL_CIRCUIT } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { accept, answered, makeWorld, PAID, SOURCE, type World } from '../engine.fixture.ts'
import { CASE, CREATE, heard, instancesOf, itemsOf, sender } from './order-workflow.fixture.ts'
import { called, made, nameOf, rows, SETUP } from './saga.fixture.ts'

const T = DEFAULT_TENANT
const BY = { by: 'ops', reason: 'the vendor is back' }
/** Attempts beyond the failures that open a circuit. */
const RETRY = { profile: null, attempts: 20, delaysMs: Array(19).fill(1_000) }

const setup = (
  change: (one: TransitionDocument) => Partial<TransitionDocument> = () => ({}),
): WorkflowDocument => ({
  ...SETUP,
  transitions: SETUP.transitions.map((one) => ({ ...one, retry: RETRY, ...change(one) })),
})

async function raised(world: World) {
  const { items } = await world.reads.escalations({ cursor: null, limit: 20 })
  return items.filter(({ reason }) => reason === 'circuit_open')
}

async function published(world: World, subject: string) {
  const { items } = await world.reads.events({ cursor: null, limit: 50, subject })
  const found = await Promise.all(items.map(({ id }) => world.reads.event(id)))
  return found.map((event) => JSON.parse(event?.data ?? 'null'))
}

const started = (world: World, node: Awaited<ReturnType<World['node']>>, order: string) =>
  accept(world, node, { ...PAID, id: `d-${order}`, order })

describe('the circuit of a step', () => {
  test('[PA25] opens for all instances, holds their jobs without an attempt, tries one, and goes on; other steps are free', async () => {
    let isWell = false
    const world = makeWorld((request) => (nameOf(request) === 'b' && !isWell ? answered(503) : made(request)))
    const node = await world.node({ documents: [SOURCE, setup()] })
    await started(world, node, 'o1')
    await world.pass(6_000)
    const callsOf = (name: string) => called(world).filter((one) => one === name).length
    expect(callsOf('b')).toBe(5)
    for (const order of ['o2', 'o3', 'o4']) await started(world, node, order)
    await world.pass(15_000)
    expect(callsOf('b')).toBe(5)
    // The step before it is called for each.
    expect(callsOf('a')).toBe(4)
    const steps = (await world.reads.workList({ cursor: null, limit: 50, kind: 'step', state: 'ready' }))
      .items
    expect(steps.map(({ attempts }) => attempts).sort()).toEqual([0, 0, 0, 5])
    for (const { lastError } of steps.filter(({ attempts }) => attempts === 0))
      expect(lastError).toBe('setup/fire/b paused itself, because too many of its jobs failed')
    expect(node.engine.flowControl.workflows(T)).toContainEqual({
      workflow: 'setup',
      part: 'fire/b',
      circuit: expect.objectContaining({ state: 'open', class: 'transient' }),
    })
    // One trial while the other side is still down.
    await world.pass(25_000)
    expect(callsOf('b')).toBe(6)
    isWell = true
    await world.pass(70_000)
    expect((await rows(world)).map(({ state }) => state)).toEqual(Array(4).fill('completed'))
    const done = (await world.reads.workList({ cursor: null, limit: 50, kind: 'step', state: 'done' })).items
    expect(
      done
        .filter(({ key }) => key?.includes(':b:'))
        .map(({ attempts }) => attempts)
        .sort(),
    ).toEqual([1, 1, 1, 7])
  })

  test('[PA27] opening raises one escalation and one event, closing another event', async () => {
    let isWell = false
    const world = makeWorld((request) => (isWell ? made(request) : answered(503)))
    const node = await world.node({ documents: [SOURCE, setup()] })
    await started(world, node, 'o1')
    await world.pass(10_000)
    expect(await raised(world)).toMatchObject([
      { consumer: 'workflow:setup', class: 'transient', count: 1, severity: 'high' },
    ])
    const about = { workflow: 'setup', part: 'fire/a', consumer: 'workflow:setup' }
    expect(await published(world, 'integration.workflow.paused')).toEqual([
      { ...about, class: 'transient', tryAt: expect.any(String) },
    ])
    isWell = true
    await world.pass(60_000)
    expect(await published(world, 'integration.workflow.resumed')).toEqual([about])
    expect(await published(world, 'integration.route.paused')).toEqual([])
  })

  test('[PA25] [PA5] a restarted node knows it, and an operator closes it', async () => {
    let isWell = false
    const world = makeWorld((request) => (isWell ? made(request) : answered(503)))
    const documents = [SOURCE, setup(() => ({ circuit: { ...USUAL_CIRCUIT, openMs: 600_000 } }))]
    const first = await world.node({ documents })
    await started(world, first, 'o1')
    await world.pass(6_000)
    first.crash()
    const node = await world.node({ documents })
    await world.pass(60_000)
    expect(world.calls).toHaveLength(5)
    isWell = true
    const circuits = node.engine.flowControl
    await expect(
      heard(world, circuits.closeWorkflowCircuit(T, 'setup', { ...BY, part: 'fire/b' })),
    ).rejects.toMatchObject({ code: 'conflict' })
    await expect(
      heard(world, circuits.closeWorkflowCircuit(T, 'setup', { ...BY, part: 'fire/x' })),
    ).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('fire/a, undo/a, fire/b') })
    expect(
      await heard(world, circuits.closeWorkflowCircuit(T, 'setup', { ...BY, part: 'fire/a' })),
    ).toMatchObject({
      circuit: { state: 'closed' },
    })
    await world.pass(40_000)
    expect((await rows(world)).map(({ state }) => state)).toEqual(['completed'])
  })

  test('[PA25] `off`: it never opens', async () => {
    const world = makeWorld(() => answered(503))
    const node = await world.node({ documents: [SOURCE, setup(() => ({ circuit: 'off' }))] })
    await started(world, node, 'o1')
    await world.pass(15_500)
    expect(world.calls.length).toBeGreaterThan(10)
    expect(node.engine.flowControl.workflows(T)).toEqual([])
  })

  test('[PA25] a step that waits longer than it may is dead', async () => {
    const world = makeWorld(() => answered(503))
    const circuit = { ...USUAL_CIRCUIT, openMs: 600_000 }
    const node = await world.node({ documents: [SOURCE, setup(() => ({ circuit, maxWaitMs: 60_000 }))] })
    await started(world, node, 'o1')
    await world.pass(6_000)
    await started(world, node, 'o2')
    await world.pass(100_000)
    expect(world.calls).toHaveLength(5)
    const letters = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letters.map(({ reason }) => reason)).toEqual(['expired', 'expired'])
  })
})

describe('the circuit of a trigger', () => {
  const circuit = { ...USUAL_CIRCUIT, consecutive: 3 }
  const strict = { ...CREATE, map: { ...CREATE.map, 'data.size': 'payload.text.size()' } }
  const workflow = { ...CASE, triggers: [{ ...strict, circuit }] }

  test('[PA26] opens after so many dead events; later ones wait without an attempt, none is lost', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, workflow] })
    const send = sender(world, node)
    const bad = []
    for (const order of ['b1', 'b2', 'b3']) bad.push(await send('ordered', order, { text: 7 }))
    for (const id of bad) expect(await itemsOf(world, id)).toMatchObject([{ state: 'dead' }])
    const good = []
    for (const order of ['o1', 'o2', 'o3']) good.push(await send('ordered', order, { text: 'four' }))
    await world.pass(20_000)
    for (const id of good)
      expect(await itemsOf(world, id)).toMatchObject([
        { state: 'ready', attempts: 0, lastError: expect.stringContaining('order/trigger/0 paused itself') },
      ])
    expect(await raised(world)).toMatchObject([{ consumer: 'workflow:order', class: 'validation', count: 1 }])
    expect(await published(world, 'integration.workflow.paused')).toMatchObject([
      { workflow: 'order', part: 'trigger/0' },
    ])
    await world.pass(50_000)
    for (const id of good) expect(await itemsOf(world, id)).toMatchObject([{ state: 'done', attempts: 1 }])
    expect(await instancesOf(world)).toHaveLength(3)
    expect(node.engine.flowControl.workflows(T)).toContainEqual({
      workflow: 'order',
      part: 'trigger/0',
      circuit: expect.objectContaining({ state: 'closed' }),
    })
  })

  test('[PA26] a failed trial pauses it again; an operator lets it go on', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, workflow] })
    const send = sender(world, node)
    for (const order of ['b1', 'b2', 'b3', 'b4', 'b5']) await send('ordered', order, { text: 7 })
    const good = await send('ordered', 'o1', { text: 'four' })
    await world.pass(35_000)
    const dead = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(dead).toHaveLength(4)
    expect(await itemsOf(world, good)).toMatchObject([{ state: 'ready' }])
    await heard(world, node.engine.flowControl.closeWorkflowCircuit(T, 'order', { ...BY, part: 'trigger/0' }))
    await world.pass(31_000)
    expect(await itemsOf(world, good)).toMatchObject([{ state: 'done' }])
  })

  test('[PA26] a trial that the trigger tries again pauses it again, and the event is tried later', async () => {
    const world = makeWorld()
    const retry = { profile: null, attempts: 3, delaysMs: [40_000, 40_000] }
    const document = { ...CASE, triggers: [{ ...strict, circuit, retry }] }
    const node = await world.node({ documents: [SOURCE, document] })
    const send = sender(world, node)
    for (const order of ['b1', 'b2', 'b3']) await send('ordered', order, { text: 7 })
    await world.pass(90_000)
    const state = () => node.engine.flowControl.workflows(T).find(({ part }) => part === 'trigger/0')?.circuit
    expect(state()).toMatchObject({ state: 'open', opened: 1 })
    const late = await send('ordered', 'b4', { text: 7 })
    await world.pass(40_000)
    expect(await itemsOf(world, late)).toMatchObject([{ state: 'ready', attempts: 1, class: 'validation' }])
    expect(state()).toMatchObject({ state: 'open', opened: 2 })
  })

  test('[PA26] without one, however many fail, nothing waits', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, { ...CASE, triggers: [strict] }] })
    const send = sender(world, node)
    for (let count = 0; count < 30; count += 1) await send('ordered', `b${count}`, { text: 7 })
    const good = await send('ordered', 'o1', { text: 'four' })
    expect(await itemsOf(world, good)).toMatchObject([{ state: 'done' }])
    expect(node.engine.flowControl.workflows(T).filter(({ part }) => part.startsWith('trigger'))).toEqual([])
  })
})
