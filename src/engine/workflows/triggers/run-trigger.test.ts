import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { accept, makeWorld, type Node, ROUTE, SOURCE, type World } from '../../engine.fixture.ts'
import {
  CASE,
  CLOSE,
  CREATE,
  heard,
  instanceOf,
  instancesOf,
  itemsOf,
  orphansOf,
  place,
  sender,
  transition,
  UPDATE,
} from '../order-workflow.fixture.ts'

const T = DEFAULT_TENANT

async function begin(workflow: WorkflowDocument = CASE, more: Parameters<World['node']>[0] = {}) {
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, workflow], ...more })
  return { world, node, send: sender(world, node) }
}

/** The writes of a node from now on, commit by commit. */
function commitsOf(node: Node): string[][] {
  const commits: string[][] = []
  node.faults.commit = (commit, pass) => {
    commits.push(commit.writes.map(({ w }) => w))
    return pass()
  }
  return commits
}

describe('an event that starts an instance', () => {
  test('[TG1] creates one instance, with the data and keys that its trigger maps', async () => {
    const { world, send } = await begin()
    const eventId = await send('ordered', 'o1')
    const [item, ...others] = await itemsOf(world, eventId)
    expect(others).toEqual([])
    expect(item).toMatchObject({ kind: 'trigger', consumer: 'workflow:order', step: '0', state: 'done' })
    const [instance] = await instancesOf(world)
    expect(item?.effectRef).toBe(instance?.id)
    expect(instance).toMatchObject({
      state: 'active',
      marking: { open: 1 },
      data: { order: 'o1', by: 'd1' },
      correlations: [{ name: 'order', value: 'o1' }],
      eventId,
    })
  })

  test('[TG10] costs one commit, including its first step, like an event without routes', async () => {
    const emitting: WorkflowDocument = {
      ...CASE,
      transitions: [
        transition('tell', 'open', 'closed', { do: { type: 'emit', subject: 'shop.told', data: null } }),
      ],
      triggers: [CREATE],
    }
    const { node, send } = await begin(emitting)
    const commits = commitsOf(node)
    await send('ordered', 'o1')
    expect(commits[0]).toEqual(
      expect.arrayContaining(['event.append', 'work.settle', 'instance.put', 'correlation.put', 'work.add']),
    )
    expect(commits).toHaveLength(2)
    commits.length = 0
    await send('stranger', 'o1')
    expect(commits).toEqual([['event.append']])
  })

  test('[TG2] is named by its job: a run whose response was lost creates no second one', async () => {
    const { world, node, send } = await begin()
    let isLost = false
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (isLost || !commit.writes.some(({ w }) => w === 'instance.put')) return result
      isLost = true
      node.crash()
      return result
    }
    void send('ordered', 'o1').catch(() => {})
    await world.pass()
    await world.node({ name: 'one', documents: [SOURCE, CASE] })
    await world.pass(60_000)
    expect(isLost).toBe(true)
    expect(await instancesOf(world)).toHaveLength(1)
  })

  test('[TG1] [TG6] two at once with one key start one instance: the other is skipped and points to it', async () => {
    const world = makeWorld()
    const [one, two] = [
      await world.node({ name: 'one', documents: [SOURCE, CASE] }),
      await world.node({ name: 'two', documents: [SOURCE, CASE] }),
    ]
    const accepted = [one, two].map((node, index) =>
      (node as Node).send({ kind: 'ordered', order: 'o1', id: `d${index}` }),
    )
    await world.pass(5_000)
    const items = await Promise.all(
      accepted.map(async (promise) => (await itemsOf(world, (await promise).eventId))[0]),
    )
    const [instance, ...others] = await instancesOf(world)
    expect(others).toEqual([])
    expect(items.map((item) => item?.state).sort()).toEqual(['done', 'skipped'])
    expect(items.find((item) => item?.state === 'skipped')).toMatchObject({
      lastError: 'EXISTS',
      effectRef: instance?.id,
    })
  })

  test('[TG11] without `unique` starts another each time; a duplicate event starts none', async () => {
    const { unique: _unique, ...free } = CREATE
    const { world, node, send } = await begin({ ...CASE, triggers: [free] })
    await send('ordered', 'o1')
    await send('ordered', 'o1')
    expect(await instancesOf(world)).toHaveLength(2)
    await accept(world, node, { kind: 'ordered', order: 'o1', id: 'd1' })
    expect(await instancesOf(world)).toHaveLength(2)
  })

  test('[TG12] `live`: its key is free again when it ends; `ever`: never', async () => {
    const live = await begin()
    await live.send('ordered', 'o1')
    await live.send('closed', 'o1')
    await live.send('ordered', 'o1')
    expect((await instancesOf(live.world)).map(({ state }) => state)).toEqual(['completed', 'active'])
    const ever = await begin({ ...CASE, triggers: [{ ...CREATE, unique: 'ever' }, UPDATE, CLOSE] })
    await ever.send('ordered', 'o1')
    await ever.send('closed', 'o1')
    const again = await ever.send('ordered', 'o1')
    const [first, ...others] = await instancesOf(ever.world)
    expect(others).toEqual([])
    expect(await itemsOf(ever.world, again)).toMatchObject([
      { state: 'skipped', lastError: 'EXISTS', effectRef: first?.id },
    ])
  })

  test('[TG3] whose key or mapping fails is a dead letter with path and type, and leaves nothing behind', async () => {
    const broken = { ...CREATE, map: { 'data.sum': 'payload.lines.size()' } }
    const { world, send } = await begin({ ...CASE, triggers: [broken] })
    const failed = await send('ordered', 'o1', { lines: 7 })
    expect(await itemsOf(world, failed)).toMatchObject([{ state: 'dead', class: 'validation' }])
    expect(await instancesOf(world)).toEqual([])
    expect((await world.kept.system('verification').dump()).correlations).toEqual([])
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ consumer: 'workflow:order', step: 'trigger', severity: 'high' })
    const keyless = await send('ordered', null as unknown as string)
    expect(await itemsOf(world, keyless)).toMatchObject([
      { state: 'dead', lastError: expect.stringContaining('correlate.order') },
    ])
  })

  test('[TG13] a replayed dead letter is handled the same way; a replayed event starts no second instance', async () => {
    const where = { ...CREATE, map: { 'data.sum': 'payload.lines.size()' } }
    const { world, node, send } = await begin({ ...CASE, triggers: [where] })
    await send('ordered', 'o1', { lines: 7 })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    await heard(world, node.engine.apply(T, [SOURCE, CASE]))
    await heard(world, node.engine.replay(T, letter!.id, { force: false }))
    await world.pass(1_000)
    expect(await instancesOf(world)).toMatchObject([{ data: { order: 'o1' } }])
    expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'resolved' })
    const { unique: _unique, ...free } = CREATE
    await heard(world, node.engine.apply(T, [SOURCE, { ...CASE, triggers: [free] }]))
    const eventId = await send('ordered', 'o2')
    await heard(world, node.engine.replays.beginEvents(T, { ids: [eventId] }, { actor: 'ann', reason: null }))
    await world.pass(5_000)
    const last = (await itemsOf(world, eventId)).at(-1)
    expect(last).toMatchObject({ kind: 'trigger', state: 'skipped', lastError: 'EXISTS', replayOf: eventId })
    expect(await instancesOf(world)).toHaveLength(2)
  })
})

describe('an event that updates an instance', () => {
  test('[TG5] and the end of its job are one commit', async () => {
    const { node, send } = await begin()
    await send('ordered', 'o1')
    const commits = commitsOf(node)
    await send('changed', 'o1')
    const changing = commits.filter((writes) => writes.includes('instance.put'))
    expect(changing).toEqual([expect.arrayContaining(['work.settle', 'instance.put', 'history.append'])])
  })

  test('[CR4] a key that comes back has a row with another version', async () => {
    const { world, send } = await begin()
    const versionOf = async () =>
      (await world.store.system('verification').dump()).correlations.map(({ version }) => version)
    await send('ordered', 'o1')
    const before = await versionOf()
    await send('closed', 'o1')
    expect(await versionOf()).toEqual([])
    await send('ordered', 'o1')
    expect(await versionOf()).not.toEqual(before)
  })

  test('[TG4] updates of one key are applied in order of arrival', async () => {
    const { world, node, send } = await begin()
    await send('ordered', 'o1')
    const sent = ['a', 'b', 'c', 'd'].map((id) => node.send({ kind: 'changed', order: 'o1', id }))
    await world.pass(5_000)
    await Promise.all(sent)
    expect(await instancesOf(world)).toMatchObject([{ data: { seen: 'abcd' } }])
  })

  test('[CR3] updates that arrive before their instance wait for it, and are applied in order after it', async () => {
    const { world, send } = await begin()
    const early = [await send('changed', 'o1', { id: 'a' }), await send('changed', 'o1', { id: 'b' })]
    expect((await itemsOf(world, early[0]!)).map(({ state, lastError }) => [state, lastError])).toEqual([
      ['skipped', 'BUFFERED'],
      ['ready', null],
    ])
    expect(await orphansOf(world)).toMatchObject([
      { state: 'waiting', reason: 'nobody', keys: 'order=o1' },
      { state: 'waiting' },
    ])
    await send('ordered', 'o1')
    await world.pass(2_000)
    const [instance] = await instancesOf(world)
    expect(instance?.data).toMatchObject({ order: 'o1', seen: 'ab' })
    expect(await orphansOf(world)).toMatchObject([
      { state: 'correlated', instance: instance?.id },
      { state: 'correlated', instance: instance?.id },
    ])
    expect((await itemsOf(world, early[1]!)).at(-1)).toMatchObject({ state: 'done', effectRef: instance?.id })
  })

  test('[CR5] an instance and its update at the same moment: the update is applied, whichever is first', async () => {
    const world = makeWorld()
    const nodes = [
      await world.node({ name: 'one', documents: [SOURCE, CASE] }),
      await world.node({ name: 'two', documents: [SOURCE, CASE] }),
    ]
    const sent = [
      nodes[0]!.send({ kind: 'changed', order: 'o1', id: 'a' }),
      nodes[1]!.send({ kind: 'ordered', order: 'o1', id: 'b' }),
      nodes[0]!.send({ kind: 'changed', order: 'o1', id: 'c' }),
    ]
    await world.pass(5_000)
    await Promise.all(sent)
    expect(await instancesOf(world)).toMatchObject([{ data: { seen: 'ac' } }])
    expect((await orphansOf(world)).every(({ state }) => state === 'correlated')).toBe(true)
  })

  test('[TG14] creates or updates: the first starts the instance, early ones follow, later ones update it', async () => {
    const both = { ...UPDATE, id: '0', on: ['shop.events.seen'], action: 'createOrUpdate' as const }
    const { world, send } = await begin({ ...CASE, triggers: [both, UPDATE] })
    await send('changed', 'o1', { id: 'early' })
    await send('seen', 'o1', { id: '-1' })
    await world.pass(2_000)
    await send('seen', 'o1', { id: '-2' })
    await world.pass(2_000)
    expect((await instancesOf(world)).map(({ data }) => data.seen)).toEqual(['-1early-2'])
  })

  test('[CR9] that matches several is an orphan at once, and escalated', async () => {
    const { unique: _unique, ...free } = CREATE
    const { world, send } = await begin({ ...CASE, triggers: [free, UPDATE] })
    await send('ordered', 'o1')
    await send('ordered', 'o1')
    const eventId = await send('changed', 'o1')
    expect(await orphansOf(world)).toMatchObject([{ state: 'open', reason: 'several', eventId }])
    expect(await itemsOf(world, eventId)).toMatchObject([{ state: 'skipped', lastError: 'ORPHAN' }])
    const { escalations } = await world.store.system('verification').dump()
    expect(escalations).toMatchObject([{ reason: 'orphaned', consumer: 'workflow:order', severity: 'high' }])
  })

  test('[CR13] without an instance in time is an open orphan, escalated, and emitted as an event', async () => {
    const route = { ...ROUTE, name: 'heard', on: ['workflow.order.orphaned'], key: null }
    const { world, send } = await begin(CASE, { documents: [SOURCE, CASE, route] })
    const eventId = await send('changed', 'o1')
    await world.pass(59_000)
    expect(await orphansOf(world)).toMatchObject([{ state: 'waiting' }])
    await world.pass(5_000)
    const [orphan] = await orphansOf(world)
    expect(orphan).toMatchObject({ state: 'open', reason: 'nobody', expiresAt: null })
    expect((await itemsOf(world, eventId)).at(-1)).toMatchObject({
      lastError: 'ORPHAN',
      effectRef: orphan?.id,
    })
    const { events, escalations, correlations } = await world.store.system('verification').dump()
    expect(escalations.map(({ reason }) => reason)).toContain('orphaned')
    const told = events.find(({ subject }) => subject === 'workflow.order.orphaned')
    expect(JSON.parse(told?.data ?? '{}')).toMatchObject({ orphan: orphan?.id, workflow: 'order', eventId })
    expect(correlations).toEqual([])
    // Too late: it stays visible to operators.
    await send('ordered', 'o1')
    await world.pass(2_000)
    expect((await instancesOf(world))[0]?.data.seen).toBeUndefined()
  })

  test('[TG15] an ended instance has freed its key: later updates are orphans', async () => {
    const { world, send } = await begin({ ...CASE, triggers: [CREATE, { ...UPDATE, bufferMs: 0 }, CLOSE] })
    await send('ordered', 'o1')
    await send('closed', 'o1')
    expect((await world.store.system('verification').dump()).correlations).toEqual([])
    await send('changed', 'o1')
    expect(await orphansOf(world)).toMatchObject([{ state: 'open', reason: 'nobody' }])
  })

  test('[CR14] a key that is learned later leads to the instance, also for updates that waited for it', async () => {
    const learning: WorkflowDocument = {
      ...CASE,
      places: [place('open', 'waiting'), place('known', 'waiting'), place('closed', 'final')],
      transitions: [
        transition('learn', 'open', 'known', {
          on: 'event',
          out: { 'correlation.invoice': "'i' + data.order" },
        }),
        transition('close', 'known', 'closed', { on: 'event' }),
      ],
      triggers: [
        CREATE,
        { ...UPDATE, correlate: { invoice: 'payload.invoice' } },
        { ...CLOSE, id: '2', on: ['shop.events.billed'], fire: 'learn' },
      ],
    }
    const { world, send } = await begin(learning)
    await send('ordered', 'o1')
    await send('changed', 'x', { invoice: 'io1', id: 'a' })
    await send('changed', 'x', { invoice: 'io1', id: 'b' })
    expect((await instancesOf(world))[0]?.data.seen).toBeUndefined()
    await send('billed', 'o1')
    await world.pass(3_000)
    await send('changed', 'x', { invoice: 'io1', id: 'c' })
    await world.pass(1_000)
    expect(await instancesOf(world)).toMatchObject([{ data: { seen: 'abc' }, marking: { known: 1 } }])
  })

  test('[CR8] that names several keys is for the one instance that has them all', async () => {
    const two = { ...CREATE, correlate: { order: 'payload.order', shop: 'payload.shop' } }
    const { unique: _unique, ...free } = two
    const update = { ...UPDATE, correlate: two.correlate }
    const { world, send } = await begin({ ...CASE, triggers: [free, update] })
    await send('ordered', 'o1', { shop: 's1' })
    await send('ordered', 'o1', { shop: 's2' })
    await send('changed', 'o1', { shop: 's2', id: 'x' })
    await world.pass(1_000)
    expect((await instancesOf(world)).map(({ data }) => data.seen)).toEqual([undefined, 'x'])
  })

  test('[TG16] a waiting update that cannot be mapped is a dead letter, and blocks no other', async () => {
    const strict = { ...UPDATE, map: { 'data.seen': 'payload.text.size()' } }
    const { world, send } = await begin({ ...CASE, triggers: [CREATE, strict] })
    await send('changed', 'o1', { text: 7 })
    await send('changed', 'o1', { text: 'four' })
    await send('ordered', 'o1')
    await world.pass(3_000)
    expect(await instancesOf(world)).toMatchObject([{ data: { seen: 4 } }])
    const letters = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letters).toMatchObject([{ class: 'validation' }])
    expect((await orphansOf(world)).map(({ state }) => state)).toEqual(['discarded', 'correlated'])
  })
})

describe('a trigger', () => {
  test('[TG17] beyond its rate events wait, and none is dropped', async () => {
    const slow = { ...CREATE, rateLimit: { profile: null, perMinute: 60, burst: 1 } }
    const { world, send } = await begin({ ...CASE, triggers: [slow] })
    for (const order of ['a', 'b', 'c']) await send('ordered', order)
    expect(await instancesOf(world)).toHaveLength(1)
    await world.pass(1_100)
    expect(await instancesOf(world)).toHaveLength(2)
    await world.pass(1_100)
    expect((await instancesOf(world)).map(({ data }) => data.order)).toEqual(['a', 'b', 'c'])
  })

  test('[TG18] of a paused workflow holds events, of a disabled one skips them', async () => {
    const { world, node, send } = await begin({ ...CASE, status: 'paused' })
    const kept = await send('ordered', 'o1')
    await world.pass(5_000)
    expect(await itemsOf(world, kept)).toMatchObject([{ state: 'ready' }])
    await heard(world, node.engine.apply(T, [SOURCE, CASE]))
    await world.pass(5_000)
    expect(await itemsOf(world, kept)).toMatchObject([{ state: 'done' }])
    await heard(world, node.engine.apply(T, [SOURCE, { ...CASE, status: 'disabled' }]))
    const skipped = await send('ordered', 'o2')
    expect(await itemsOf(world, skipped)).toMatchObject([{ state: 'skipped', lastError: 'DISABLED' }])
  })

  test('[TG19] does not count for `fanOut` of routes', async () => {
    const only = { ...ROUTE, on: ['shop.events.ordered'], fanOut: 'one' as const }
    const { world, send } = await begin(CASE, { documents: [SOURCE, CASE, only] })
    const eventId = await send('ordered', 'o1')
    expect((await itemsOf(world, eventId)).map(({ kind }) => kind).sort()).toEqual(['route', 'trigger'])
    expect(await instanceOf(world, (await instancesOf(world))[0]!.id)).toMatchObject({ state: 'active' })
  })

  test('[TG27] is listed beside routes when an event is explained, with the reason', async () => {
    const { world, node, send } = await begin({
      ...CASE,
      triggers: [{ ...CREATE, where: "payload.order == 'o2'" }, UPDATE],
    })
    const explain = async (eventId: Awaited<ReturnType<typeof send>>) =>
      (await heard(world, node.engine.inspect.explain(T, eventId))).consumers
    const no = await send('ordered', 'o1')
    expect(await explain(no)).toMatchObject([
      { kind: 'workflow', name: 'order', verdict: 'condition', workId: null, why: [{}] },
    ])
    const yes = await send('ordered', 'o2')
    const [item] = await itemsOf(world, yes)
    expect(await explain(yes)).toMatchObject([{ kind: 'workflow', verdict: 'matched', workId: item?.id }])
    expect(await explain(await send('stranger', 'o2'))).toMatchObject([{ verdict: 'subject' }])
  })

  test('[TG20] selects only what its condition says', async () => {
    const { world, send } = await begin({
      ...CASE,
      triggers: [{ ...CREATE, where: "payload.order == 'o2'" }],
    })
    const no = await send('ordered', 'o1')
    await send('ordered', 'o2')
    expect(await itemsOf(world, no)).toEqual([])
    expect((await instancesOf(world)).map(({ data }) => data.order)).toEqual(['o2'])
  })
})
