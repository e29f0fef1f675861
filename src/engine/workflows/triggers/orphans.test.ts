import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type InstanceId, type OrphanId } from '../../../core/foundation/ids/index.ts'
import type { InstanceRow, NewInstance } from '../../../core/workflows/instance/index.ts'
import { makeWorld, SOURCE } from '../../engine.fixture.ts'
import {
  CASE,
  CLOSE,
  CREATE,
  heard,
  instancesOf,
  orphansOf,
  sender,
  UPDATE,
} from '../order-workflow.fixture.ts'

const T = DEFAULT_TENANT
const BY = { actor: 'ann', reason: 'the number was mistyped' }
/** Updates do not wait. */
const STRICT = { ...CASE, triggers: [CREATE, { ...UPDATE, bufferMs: 0 }, CLOSE] }

async function begin(workflow: WorkflowDocument = STRICT) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, workflow] })
  return { world, node, orphans: node.engine.orphans, send: sender(world, node) }
}

describe('an orphan', () => {
  test('[CR10] that an operator correlates changes that instance, and is stored with who did it', async () => {
    const { world, orphans, send } = await begin()
    await send('ordered', 'o1')
    await send('changed', 'oops', { id: 'x' })
    const [orphan] = await orphansOf(world)
    const [instance] = await instancesOf(world)
    const { workId } = await heard(world, orphans.correlate(T, orphan!.id, instance!.id, BY))
    await world.pass(1_000)
    expect(await instancesOf(world)).toMatchObject([{ data: { seen: 'x' } }])
    expect(await world.reads.work(workId)).toMatchObject({ state: 'done', effectRef: instance!.id })
    expect(await orphansOf(world)).toMatchObject([
      { state: 'correlated', instance: instance!.id, by: 'ann', note: BY.reason },
    ])
  })

  test('[CR11] is decided once, and only for an active instance of its workflow', async () => {
    const { world, orphans, send } = await begin()
    await send('ordered', 'o1')
    await send('changed', 'oops')
    const [orphan] = await orphansOf(world)
    const [instance] = await instancesOf(world)
    const wrong = (id: string) => heard(world, orphans.correlate(T, orphan!.id, id as InstanceId, BY))
    await expect(wrong('ins_none')).rejects.toMatchObject({ code: 'not_found' })
    await send('closed', 'o1')
    await expect(wrong(instance!.id)).rejects.toMatchObject({ code: 'instance_ended' })
    await heard(world, orphans.discard(T, orphan!.id, BY))
    expect(await orphansOf(world)).toMatchObject([{ state: 'discarded', by: 'ann' }])
    await expect(heard(world, orphans.discard(T, orphan!.id, BY))).rejects.toMatchObject({ code: 'conflict' })
    const nobody = heard(world, orphans.discard(T, 'orp_none' as OrphanId, BY))
    await expect(nobody).rejects.toMatchObject({ code: 'not_found' })
  })

  test('[CR15] that waits can be correlated and discarded too: its job ends, and those behind it go on', async () => {
    const { world, orphans, send } = await begin(CASE)
    await send('ordered', 'o1')
    const [instance] = await instancesOf(world)
    await send('changed', 'o2', { id: 'a' })
    await send('changed', 'o2', { id: 'b' })
    await send('changed', 'o2', { id: 'c' })
    const [a, b] = await orphansOf(world)
    await heard(world, orphans.correlate(T, a!.id, instance!.id, BY))
    await heard(world, orphans.discard(T, b!.id, BY))
    await send('ordered', 'o2')
    await world.pass(2_000)
    expect((await instancesOf(world)).map(({ data }) => data.seen)).toEqual(['a', 'c'])
    expect((await orphansOf(world)).map(({ state }) => state)).toEqual([
      'correlated',
      'discarded',
      'correlated',
    ])
  })

  test('[CR15] that waits is ended only as an orphan: its job alone cannot be cancelled', async () => {
    const { world, node, orphans, send } = await begin(CASE)
    await send('changed', 'o2')
    const [orphan] = await orphansOf(world)
    const called = heard(world, node.engine.cancel(T, orphan!.workId, { reason: 'not needed' }))
    await expect(called).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('orphan'),
    })
    const work = (await world.reads.work(orphan!.workId))!
    expect(await node.engine.allowed(work, null)).toEqual(['retry'])
    await heard(world, orphans.discard(T, orphan!.id, BY))
    expect(await world.reads.work(orphan!.workId)).toMatchObject({ state: 'skipped' })
  })

  test('[CR16] whose instance ends before it is applied is an orphan again', async () => {
    const { world, node, orphans, send } = await begin()
    await send('ordered', 'o1')
    await send('changed', 'oops')
    const [orphan] = await orphansOf(world)
    const [instance] = await instancesOf(world)
    await heard(
      world,
      node.engine.definitions.control(T, 'Workflow', 'order', 'pause', { by: 'ann', reason: null }),
    )
    await heard(world, orphans.correlate(T, orphan!.id, instance!.id, BY))
    const row = await world.reads.instance(instance!.id)
    await heard(
      world,
      world.store.commit({
        tenant: T,
        guards: [],
        writes: [{ w: 'instance.put', row: ended(row!) }],
      }),
    )
    await heard(
      world,
      node.engine.definitions.control(T, 'Workflow', 'order', 'resume', { by: 'ann', reason: null }),
    )
    await world.pass(5_000)
    expect(await orphansOf(world)).toMatchObject([
      { state: 'correlated' },
      { state: 'open', reason: 'nobody' },
    ])
  })

  test('[CR12] is tried again when its workflow changes, and stays if still no instance has its key', async () => {
    const { world, node, send } = await begin()
    await send('ordered', 'o1')
    await send('changed', 'x', { ref: 'o1', id: 'found' })
    await send('changed', 'y', { ref: 'nobody', id: 'lost' })
    expect((await orphansOf(world)).map(({ state }) => state)).toEqual(['open', 'open'])
    const mended = { ...UPDATE, bufferMs: 0, correlate: { order: 'payload.ref' } }
    const next = { ...STRICT, version: '1.1.0', triggers: [CREATE, mended, CLOSE] }
    await heard(world, node.engine.apply(T, [SOURCE, next]))
    await world.pass(5_000)
    const [instance] = await instancesOf(world)
    expect(instance?.data.seen).toBe('found')
    expect(await orphansOf(world)).toMatchObject([
      { state: 'correlated', by: 'definition', instance: instance?.id },
      { state: 'open' },
    ])
    expect(await heard(world, node.engine.orphans.retry(T, 'order'))).toEqual({ tried: 1, found: 0 })
  })
})

/** As if it had ended unnoticed. */
function ended(row: InstanceRow): NewInstance {
  const { tenant: _tenant, createdAt: _created, updatedAt: _updated, endedAt: _ended, ...kept } = row
  return { ...kept, state: 'cancelled', revision: row.revision + 1 }
}
