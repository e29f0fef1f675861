import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { StoreError } from '../../../ports/store.ts'
import { accept, makeWorld, type Node, SOURCE } from '../../engine.fixture.ts'
import {
  CASE,
  CLOSE,
  CREATE,
  instancesOf,
  itemsOf,
  sender,
  transition,
  UPDATE,
} from '../order-workflow.fixture.ts'

/** Its first step calls the world, and ends it. */
const TELLING: WorkflowDocument = {
  ...CASE,
  transitions: [
    transition('tell', 'open', 'closed', { do: { type: 'emit', subject: 'shop.told', data: null } }),
  ],
  triggers: [CREATE],
}

async function begin(workflow: WorkflowDocument = CASE) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, workflow] })
  return { world, node, send: sender(world, node) }
}

/** The commits that a node attempts from now on, and whether they succeeded. */
function triesOf(node: Node): { readonly writes: readonly string[]; readonly ok: boolean }[] {
  const tries: { writes: string[]; ok: boolean }[] = []
  node.faults.commit = async (commit, pass) => {
    const result = await pass()
    tries.push({ writes: commit.writes.map(({ w }) => w), ok: result.ok })
    return result
  }
  return tries
}

describe('an instance that starts inline', () => {
  test('[TG28] is complete in the commit of its event, with its first step leased to the node', async () => {
    const { world, node, send } = await begin(TELLING)
    const tries = triesOf(node)
    const eventId = await send('ordered', 'o1')
    expect(tries[0]?.writes).toEqual([
      'event.append',
      'work.add',
      'work.settle',
      'instance.put',
      'history.append',
      'correlation.put',
      'fact.add',
      'fact.add',
      'work.add',
    ])
    const [instance] = await instancesOf(world)
    expect(instance).toMatchObject({ state: 'completed', eventId })
    const [trigger, step] = await itemsOf(world, eventId)
    expect(trigger).toMatchObject({ kind: 'trigger', state: 'done', attempts: 1, effectRef: instance?.id })
    expect(step).toMatchObject({ kind: 'step', state: 'done', epoch: 1, instance: instance?.id })
    expect(node.log.controls.map(({ action }) => action)).toContain('CREATED')
    expect(node.engine.health().running).toBe(0)
  })

  test('[TG28] exists once when the store’s response is lost', async () => {
    const { world, node } = await begin(TELLING)
    let isLost = false
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (isLost || !commit.writes.some(({ w }) => w === 'event.append')) return result
      isLost = true
      throw new StoreError('unavailable', 'gone', { applied: 'indeterminate' })
    }
    const accepted = node.send({ kind: 'ordered', order: 'o1', id: 'd1' })
    await world.pass(60_000)
    expect(await accepted).toMatchObject({ duplicate: false })
    expect(await instancesOf(world)).toMatchObject([{ state: 'completed', done: [{ name: 'tell' }] }])
    expect(node.engine.health().running).toBe(0)
  })

  test('[TG28] leaves nothing if the store refuses the commit', async () => {
    const { world, node } = await begin(TELLING)
    node.faults.commit = async () => {
      throw new StoreError('unavailable', 'gone', { applied: 'no' })
    }
    const refused = node.send({ kind: 'ordered', order: 'o1', id: 'd1' }).catch((error: unknown) => error)
    await world.pass()
    expect(await refused).toMatchObject({ code: 'store_unavailable' })
    const { events, instances, work } = await world.store.system('verification').dump()
    expect([events, instances, work]).toEqual([[], [], []])
    expect(node.engine.health().running).toBe(0)
  })

  test('[TG29] does not start if its key is taken: the job says so, and nothing is left half done', async () => {
    const { world, node, send } = await begin()
    await send('ordered', 'o1')
    const tries = triesOf(node)
    const eventId = await send('ordered', 'o1')
    expect(tries[0]).toMatchObject({ ok: false })
    expect(tries[1]).toEqual({ writes: ['event.append', 'work.add'], ok: true })
    const [first, ...others] = await instancesOf(world)
    expect(others).toEqual([])
    expect(await itemsOf(world, eventId)).toMatchObject([
      { kind: 'trigger', state: 'skipped', lastError: 'EXISTS', effectRef: first?.id },
    ])
    expect(node.engine.health().running).toBe(0)
  })

  test('[TG29] a duplicate is reported as one, also if its key is taken', async () => {
    const { world, node } = await begin()
    const first = await accept(world, node, { kind: 'ordered', order: 'o1', id: 'd1' })
    const tries = triesOf(node)
    expect(await accept(world, node, { kind: 'ordered', order: 'o1', id: 'd1' })).toBe(first)
    expect(tries.filter(({ writes }) => writes.includes('event.append'))).toHaveLength(1)
    expect(await itemsOf(world, first)).toHaveLength(1)
  })

  test('[TG29] updates that arrived before it are applied in order', async () => {
    const { world, send } = await begin()
    await send('changed', 'o1')
    await send('changed', 'o1')
    await send('ordered', 'o1')
    await world.pass(5_000)
    expect(await instancesOf(world)).toMatchObject([{ data: { order: 'o1', seen: 'd1d2' } }])
  })

  test('[TG29] a mapping that fails is a dead letter of the job', async () => {
    const broken = { ...CREATE, map: { 'data.sum': 'payload.lines.size()' } }
    const { world, send } = await begin({ ...CASE, triggers: [broken] })
    const eventId = await send('ordered', 'o1', { lines: 7 })
    expect(await itemsOf(world, eventId)).toMatchObject([{ state: 'dead', class: 'validation' }])
    expect(await instancesOf(world)).toEqual([])
  })

  test('[TG29] two triggers with the same key for one event start one instance', async () => {
    const { world, send } = await begin({ ...CASE, triggers: [CREATE, { ...CREATE, id: '1' }] })
    const eventId = await send('ordered', 'o1')
    await world.pass(1_000)
    expect(await instancesOf(world)).toHaveLength(1)
    expect((await itemsOf(world, eventId)).map(({ state }) => state).sort()).toEqual(['done', 'skipped'])
  })

  const limited = { ...CREATE, rateLimit: { perMinute: 60, burst: 1 } }
  const locked = { name: 'order', by: 'data.order', ttlMs: 60_000, whenHeld: 'wait' } as const
  test.each([
    ['a rate limit', { ...CASE, triggers: [limited] }],
    ['a lock', { ...CASE, lock: locked }],
    ['a greatest number of cases', { ...CASE, maxConcurrent: 1 }],
    ['a place in an order', { ...CASE, triggers: [{ ...CREATE, action: 'createOrUpdate' }, UPDATE, CLOSE] }],
    ['a workflow that is paused', { ...CASE, status: 'paused' }],
  ] as const)('[TG29] does not start inline with %s', async (_name, workflow) => {
    const { node, send } = await begin(workflow as unknown as WorkflowDocument)
    const tries = triesOf(node)
    await send('ordered', 'o1')
    expect(tries[0]?.writes).toEqual(['event.append', 'work.add'])
  })
})
