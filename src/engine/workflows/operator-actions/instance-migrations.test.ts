import { describe, expect, test } from 'vitest'
import { makeStaticCode } from '../../../adapters/code-static/index.ts'
import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { HistoryEntry } from '../../../core/workflows/instance/index.ts'
import { makeWorld, type Node, type World } from '../../engine.fixture.ts'
import { look, made, place, transition } from '../saga.fixture.ts'
import { ADA, ANN, documents, heard, open, refusal, TRIAGE } from './instance-actions.fixture.ts'

/** `review` is called `board` now, and orders are numbers of something. */
const NEXT: WorkflowDocument = {
  ...TRIAGE,
  version: '2.0.0',
  places: [place('incoming'), place('board', { type: 'review' }), place('closed', { type: 'final' })],
  transitions: [
    ...TRIAGE.transitions
      .filter(({ name }) => name === 'prioritise')
      .map((one) => ({ ...one, to: ['board'] })),
    transition('close', 'board', 'closed', { on: 'manual' }),
  ],
  migrations: [
    {
      from: '1.0.0',
      to: '2.0.0',
      strategy: 'inPlace',
      places: { review: 'board' },
      data: [
        { rename: 'order', to: 'case' },
        { default: 'priority', value: 'none' },
      ],
    },
  ],
}

async function start() {
  const world = makeWorld(made)
  const node = await world.node({ documents: documents(TRIAGE) })
  return { world, node, ...node.engine.workflows }
}

async function apply(world: World, node: Node, workflow: WorkflowDocument) {
  await heard(world, node.engine.apply(DEFAULT_TENANT, documents(workflow)))
}

const RUN = { dryRun: false, reason: 'new board' }
const DRY = { dryRun: true, reason: null }

describe('one instance', () => {
  test('[MG1] stays on its version until it is migrated', async () => {
    const { world, node, instanceActions } = await start()
    const { id } = await open(world, node)
    await apply(world, node, NEXT)
    expect(await look(world, { id })).toMatchObject({ version: '1.0.0', marking: { review: 1 } })
    const rejected = await heard(
      world,
      instanceActions.fire(ANN, id, { transition: 'reject', input: null, comment: null }),
    )
    expect(rejected).toMatchObject({ version: '1.0.0', state: 'failed' })
    expect((await open(world, node, 'd2')).version).toBe('2.0.0')
  })

  test('[MG5] [MG7] previews what would change, and is migrated with who and why', async () => {
    const { world, node, migrations, instanceActions } = await start()
    const { id } = await open(world, node)
    await apply(world, node, NEXT)
    const before = await world.reads.instance(id)
    const planned = await heard(world, migrations.one(ANN, id, DRY))
    expect(planned).toMatchObject({
      id,
      from: '1.0.0',
      to: '2.0.0',
      ok: true,
      before: { review: 1 },
      after: { board: 1 },
      changes: expect.arrayContaining([
        { path: 'data.order', before: 'o-d1' },
        { path: 'data.case', after: 'o-d1' },
      ]),
    })
    expect(await world.reads.instance(id)).toEqual(before)
    expect(await heard(world, migrations.one(ANN, id, RUN))).toMatchObject({ ok: true, after: { board: 1 } })
    expect(await look(world, { id })).toMatchObject({
      version: '2.0.0',
      marking: { board: 1 },
      data: { case: 'o-d1' },
    })
    const rows = await world.reads.instanceHistory(id, { after: 0, limit: 100 })
    const migrated = rows.map(({ body }) => JSON.parse(body) as HistoryEntry).at(-1)
    expect(migrated).toMatchObject({ type: 'migrated', version: '2.0.0', actor: 'ann', comment: 'new board' })
    expect(node.log.messages).toContainEqual(
      expect.objectContaining({
        name: 'instance.migrated',
        fields: expect.objectContaining({
          from: '1.0.0',
          version: '2.0.0',
          actor: 'ann',
          reason: 'new board',
        }),
      }),
    )
    const closed = await heard(
      world,
      instanceActions.fire(ANN, id, { transition: 'close', input: null, comment: null }),
    )
    expect(closed.state).toBe('completed')
  })

  test('[MG6] is refused if a place is not mapped, or if it could never end', async () => {
    const { world, node, migrations } = await start()
    const { id } = await open(world, node)
    const [rule] = NEXT.migrations ?? []
    if (rule === undefined) throw new Error('there is no migration')
    await apply(world, node, { ...NEXT, migrations: [{ ...rule, places: {} }] })
    expect(await refusal(world, migrations.one(ANN, id, RUN))).toMatchObject({
      code: 'cannot_migrate',
      message: expect.stringContaining('review'),
    })
    expect(await refusal(world, migrations.one(ANN, id, RUN))).toMatchObject({
      message: expect.stringContaining('its tokens: review'),
    })
    const trap = { ...NEXT, places: [...NEXT.places, place('trap')] }
    await apply(world, node, { ...trap, migrations: [{ ...rule, places: { review: 'trap' } }] })
    expect(await heard(world, migrations.one(ANN, id, DRY))).toMatchObject({
      ok: false,
      message: expect.stringContaining('could never reach an end'),
      after: { review: 1 },
    })
    expect(await look(world, { id })).toMatchObject({ version: '1.0.0' })
  })
})

describe('[MG9] a manual migration', () => {
  const [rule] = NEXT.migrations ?? []
  const MANUAL = { ...NEXT, migrations: [{ ...rule!, strategy: 'manual' as const }] }

  test('passes over all instances but the one that a user names with a reason', async () => {
    const { world, node, migrations } = await start()
    const [one, other] = [await open(world, node, 'd1'), await open(world, node, 'd2')]
    await apply(world, node, MANUAL)
    const all = { from: null, reason: 'all', cursor: null, limit: 10 }
    for (const dryRun of [true, false]) {
      const page = await heard(world, migrations.many(ADA, 'triage', { ...all, dryRun }))
      expect(page).toMatchObject({ migrated: 0, refused: 2, left: 2 })
      expect(page.items[0]?.message).toContain('manual')
    }
    const { code, message } = await refusal(
      world,
      migrations.one(ANN, one.id, { dryRun: false, reason: null }),
    )
    expect([code, message]).toEqual(['cannot_migrate', expect.stringContaining('with a reason')])
    expect(await heard(world, migrations.one(ANN, one.id, DRY))).toMatchObject({ ok: true })
    expect(await heard(world, migrations.one(ANN, one.id, RUN))).toMatchObject({
      ok: true,
      after: { board: 1 },
    })
    expect((await look(world, one)).version).toBe('2.0.0')
    expect((await look(world, other)).version).toBe('1.0.0')
  })
})

describe('[MG10] a new instance', () => {
  const [rule] = NEXT.migrations ?? []
  const REPLACING = { ...NEXT, migrations: [{ ...rule!, strategy: 'newInstance' as const }] }

  test('[MG11] takes over keys, data and tokens in the commit that ends the old one', async () => {
    const { world, node, migrations, instanceActions } = await start()
    const { id } = await open(world, node)
    await apply(world, node, REPLACING)
    const dry = await heard(world, migrations.one(ANN, id, DRY))
    expect(dry).toMatchObject({ ok: true, successor: null, message: expect.stringContaining('takes over') })
    expect((await look(world, { id })).state).toBe('active')
    const { successor } = await heard(world, migrations.one(ANN, id, RUN))
    const old = await look(world, { id })
    expect(old).toMatchObject({ state: 'cancelled', version: '1.0.0' })
    const next = await look(world, { id: successor! })
    expect(next).toMatchObject({
      state: 'active',
      version: '2.0.0',
      marking: { board: 1 },
      data: { case: 'o-d1', priority: 'v-prioritise' },
      correlations: [{ name: 'order', value: 'o-d1' }],
      correlationId: old.correlationId,
      done: [],
    })
    const entries = async (of: string) =>
      (await world.reads.instanceHistory(of as never, { after: 0, limit: 100 })).map(
        ({ body }) => JSON.parse(body) as HistoryEntry,
      )
    expect((await entries(id)).at(-1)).toMatchObject({
      type: 'migrated',
      successor,
      actor: 'ann',
      comment: 'new board',
    })
    expect((await entries(successor!))[0]).toMatchObject({ type: 'created', predecessor: id, put: ['board'] })
    // Asked again, nothing happens a second time.
    expect(await refusal(world, migrations.one(ANN, id, RUN))).toMatchObject({ code: 'cannot_migrate' })
    // The key is the new one's: no second instance begins.
    const calls = world.calls.length
    await heard(
      world,
      open(world, node).catch(() => null),
    )
    expect(world.calls).toHaveLength(calls)
    const fired = { transition: 'close', input: null, comment: null }
    expect((await heard(world, instanceActions.fire(ANN, successor!, fired))).state).toBe('completed')
  })

  test('is refused while something is under way, and where something could not be undone', async () => {
    const { world, node, migrations, instanceActions } = await start()
    const { id } = await open(world, node)
    const undoable = {
      ...TRIAGE,
      version: '1.5.0',
      transitions: TRIAGE.transitions.map((one) =>
        one.name === 'prioritise' ? { ...one, undo: one.do! } : one,
      ),
      compatibility: { supported: ['1.0.0'], deprecationWarnings: true, strict: false },
    }
    await apply(world, node, undoable)
    await heard(world, migrations.one(ANN, id, RUN))
    await apply(world, node, {
      ...REPLACING,
      migrations: REPLACING.migrations.map((one) => ({ ...one, from: '1.5.0' })),
    })
    expect(await refusal(world, migrations.one(ANN, id, RUN))).toMatchObject({
      code: 'cannot_migrate',
      message: expect.stringContaining('prioritise is done and can be undone'),
    })
    expect((await look(world, { id })).state).toBe('active')
    const cancel = await heard(world, instanceActions.cancel(ANN, id, { reason: 'over' }))
    expect(cancel.state).toBe('cancelled')
  })
})

describe('[MG12] a function maps the data', () => {
  const functions = {
    shorten: (input: unknown) => {
      const { data, from } = input as { data: Record<string, string>; from: string }
      return { case: data.order!.toUpperCase(), from }
    },
    fails: () => {
      throw new Error('no such case')
    },
    emits: (_input: unknown, context: { emit(subject: string, data: unknown): void }) => {
      context.emit('a.b', {})
      return {}
    },
    lists: () => [1],
    never: () => new Promise(() => {}),
  }
  const mapped = async (
    transform: keyof typeof functions,
    strategy: 'inPlace' | 'newInstance' = 'inPlace',
  ) => {
    const world = makeWorld(made)
    const node = await world.node({ documents: documents(TRIAGE), functions: functions as never })
    const { id } = await open(world, node)
    const codeHash = makeStaticCode(functions as never).find(transform, DEFAULT_TENANT)!
    const data = [{ transform, codeHash, timeoutMs: 1_000 }]
    await apply(world, node, {
      ...NEXT,
      migrations: NEXT.migrations!.map((one) => ({ ...one, strategy, data })),
    })
    return { world, id, ...node.engine.workflows }
  }

  test.each(['inPlace', 'newInstance'] as const)('and what it returns is the data: %s', async (strategy) => {
    const { world, id, migrations } = await mapped('shorten', strategy)
    const changes = [{ path: 'data.case', after: 'O-D1' }]
    expect(await heard(world, migrations.one(ANN, id, DRY))).toMatchObject({
      ok: true,
      changes: expect.arrayContaining(changes),
    })
    const { successor } = await heard(world, migrations.one(ANN, id, RUN))
    const { data, version } = await look(world, { id: successor ?? id })
    expect([data, version]).toEqual([{ case: 'O-D1', from: '1.0.0' }, '2.0.0'])
  })

  test.each([
    ['fails', 'no such case'],
    ['emits', 'it may not emit events'],
    ['lists', 'returned no object'],
    ['never', 'longer than 1000 ms'],
  ] as const)('[MG12] %s: the instance stays on its version', async (transform, why) => {
    const { world, id, migrations } = await mapped(transform)
    const before = await world.reads.instance(id)
    const asked = migrations.one(ANN, id, RUN)
    asked.catch(() => {})
    await world.pass(2_000)
    expect(await refusal(world, asked)).toMatchObject({
      code: 'cannot_migrate',
      message: expect.stringContaining(why),
    })
    expect(await world.reads.instance(id)).toEqual(before)
  })
})

test('[HD12] of restricted instances a migration shows operators no values', async () => {
  const world = makeWorld(made)
  const classified = { classification: 'restricted', enforced: true, encrypt: ['data', 'metadata'] } as const
  const restricted = { ...TRIAGE, security: { ...TRIAGE.security!, ...classified } }
  const node = await world.node({ documents: documents(restricted) })
  const { migrations } = node.engine.workflows
  const { id } = await open(world, node)
  await apply(world, node, { ...NEXT, security: restricted.security })
  const of = async (operator: typeof ANN) => (await heard(world, migrations.one(operator, id, DRY))).changes
  expect(await of(ANN)).toContainEqual({ path: 'data.order', hidden: true })
  expect(await of(ADA)).toContainEqual({ path: 'data.order', before: 'o-d1' })
})

describe('many', () => {
  test('[MG7] go in pages, each with its results and the number left', async () => {
    const { world, node, migrations } = await start()
    const ids = []
    for (const name of ['d1', 'd2', 'd3', 'd4']) ids.push((await open(world, node, name)).id)
    await apply(world, node, NEXT)
    const many = (cursor: string | null, dryRun: boolean) =>
      heard(world, migrations.many(ADA, 'triage', { from: '1.0.0', reason: 'all', cursor, limit: 3, dryRun }))
    const dry = await many(null, true)
    expect(dry).toMatchObject({ migrated: 0, left: 4 })
    expect(dry.items).toHaveLength(3)
    const page = await many(null, false)
    expect(page.items).toHaveLength(3)
    expect(page.migrated + page.refused).toBe(3)
    expect(page.nextCursor).not.toBeNull()
    const rest = await many(page.nextCursor, false)
    expect(rest.nextCursor).toBeNull()
    expect([...page.items, ...rest.items].map(({ id }) => id).sort()).toEqual([...ids].sort())
    expect(page.migrated + rest.migrated).toBe(4)
    expect(rest.left).toBe(0)
  })

  test('[MG6] one that cannot be migrated does not stop the others', async () => {
    const { world, node, migrations } = await start()
    const stays = await open(world, node, 'd1')
    const goes = await open(world, node, 'd2')
    const edit = { changes: [{ path: 'data.order' }], reason: 'gone' }
    await heard(world, node.engine.workflows.instanceActions.edit(ANN, stays.id, edit))
    await apply(world, node, { ...NEXT, data: { type: 'object', required: ['case'] } })
    const request = { from: null, reason: null, cursor: null, limit: 10, dryRun: false }
    const page = await heard(world, migrations.many(ADA, 'triage', request))
    expect(page).toMatchObject({ migrated: 1, refused: 1, left: 1, nextCursor: null })
    expect(page.items.find(({ ok }) => !ok)).toMatchObject({ id: stays.id })
    expect((await look(world, goes)).version).toBe('2.0.0')
  })

  test('[MG5] of an unknown workflow are refused, and so is a foreign cursor', async () => {
    const { world, migrations } = await start()
    const request = { from: null, reason: null, cursor: null, limit: 10, dryRun: true }
    expect(await refusal(world, migrations.many(ADA, 'nobody', request))).toMatchObject({ code: 'not_found' })
    const strange = migrations.many(ADA, 'triage', { ...request, cursor: 'strange' })
    expect(await refusal(world, strange)).toMatchObject({ code: 'invalid_cursor' })
  })
})
