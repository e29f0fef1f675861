import { expect, test } from 'vitest'
import { makeCountingEncryption } from '../../../adapters/encryption-local/encryption.fixture.ts'
import { DEFAULT_TENANT, type InstanceId, type WorkId } from '../../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../../core/foundation/json/index.ts'
import { answered, makeWorld, PAID, ROUTE, SOURCE } from '../../engine.fixture.ts'
import { begin, called, look, made, nameOf, place, post, SETUP, transition } from '../saga.fixture.ts'
import { encryptHistory, encryptInstance, openHistory, openInstance } from './encrypt-instance.ts'

const FORK = {
  ...SETUP,
  places: [...'begun x y p q'.split(' ').map((name) => place(name)), place('ready', { type: 'final' })],
  transitions: [
    transition('split', 'begun', ['x', 'y']),
    transition('left', 'x', 'p', { do: post('left'), out: { 'data.left': 'result.body.id' } }),
    transition('right', 'y', 'q', { do: post('right'), out: { 'data.right': 'result.body.id' } }),
    transition('join', ['p', 'q'], 'ready'),
  ],
} as const

test('[FI1] two nodes that work on one instance both count', async () => {
  const world = makeWorld()
  const documents = [SOURCE, FORK]
  let refused = 0
  const commit = async (_commit: unknown, pass: () => ReturnType<typeof world.store.commit>) => {
    const result = await pass()
    if (!result.ok && result.found?.f === 'version') refused += 1
    return result
  }
  const one = await world.node({ documents, name: 'one', config: { concurrency: 1 }, faults: { commit } })
  await world.node({ documents, name: 'two', faults: { commit } })
  const { instance } = await begin(world, one)
  await world.pass(3_000)
  expect(world.calls.map(({ node }) => node).sort()).toEqual(['one', 'two'])
  for (const { request, answer } of [...world.calls]) answer(made(request))
  await world.pass(1_000)
  expect(refused).toBeGreaterThan(0)
  expect(await look(world, instance)).toMatchObject({
    state: 'completed',
    data: { left: 'v-left', right: 'v-right' },
  })
  expect(called(world)).toHaveLength(2)
})

test('[FI1] a commit whose response was lost is recognised, and nothing is done twice', async () => {
  const world = makeWorld(made)
  let lost = 0
  const { StoreError } = await import('../../../ports/store.ts')
  const node = await world.node({
    documents: [SOURCE, SETUP],
    faults: {
      async commit(commit, pass) {
        const result = await pass()
        const isPut =
          commit.writes.some(({ w }) => w === 'instance.put') &&
          !commit.writes.some(({ w }) => w === 'event.append')
        if (!isPut || lost >= 3) return result
        lost += 1
        throw new StoreError('unavailable', 'gone', { applied: 'indeterminate' })
      },
    },
  })
  const { instance } = await begin(world, node)
  await world.pass(60_000)
  expect(lost).toBe(3)
  expect(await look(world, instance)).toMatchObject({ state: 'completed' })
  expect(called(world)).toEqual(['a', 'b', 'c'])
})

test('[FI3] a job whose firing is gone calls nothing and changes nothing', async () => {
  const world = makeWorld((request) => (nameOf(request) === 'b' ? answered(400) : made(request)))
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { eventId, instance } = await begin(world, node)
  const before = await look(world, instance)
  const id = 'wrk_0197c3f0-6c00-7000-8000-0097bf2f1e4d' as WorkId
  const [item] = (await world.reads.workOfEvent(eventId)).filter(({ step }) => step === 'fire/1/a')
  const added = world.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [
      {
        w: 'work.add',
        work: {
          id,
          kind: 'step',
          consumer: 'workflow:setup',
          definition: item!.definition,
          codeHash: null,
          eventId,
          expiresInMs: 60_000,
          replayOf: null,
          instance: instance.id,
          step: 'fire/1/a',
        },
        lease: null,
        delayMs: 0,
      },
    ],
  })
  await world.pass(2_000)
  await added
  expect(await world.reads.work(id)).toMatchObject({ state: 'skipped' })
  expect(await look(world, instance)).toEqual(before)
  expect(called(world)).toEqual(['a', 'b'])
})

test('[FI12] a change of an instance is an event only if something selects it', async () => {
  const world = makeWorld(made)
  const told = {
    ...ROUTE,
    name: 'tell',
    on: ['workflow.setup.completed', 'workflow.setup.fired.b'],
    key: "event.subject + ':' + payload.instance",
    do: post('told', { body: '{{ payload }}' }),
  } as const
  const node = await world.node({ documents: [SOURCE, SETUP, told] })
  const { instance } = await begin(world, node)
  await world.pass(2_000)
  const { items } = await world.reads.events({ cursor: null, limit: 50 })
  const subjects = items.map(({ subject }) => subject).filter((one) => one.startsWith('workflow.'))
  expect(subjects.sort()).toEqual(['workflow.setup.completed', 'workflow.setup.fired.b'])
  const bodies = world.calls
    .filter(({ request }) => nameOf(request) === 'told')
    .map(({ request }) => request.body)
  expect(bodies.map((body) => JSON.parse(String(body)) as unknown)).toContainEqual({
    instance: instance.id,
    workflow: 'setup',
    version: '1.0.0',
    state: 'completed',
  })
})

const SECRET = 'ann@example.com'
const SEALED = {
  ...SETUP,
  security: { permissions: [], encrypt: ['data.email'], audit: 'full' },
  transitions: SETUP.transitions.map((one) =>
    one.name === 'a' ? { ...one, do: post('a', { body: { email: '{{ data.email }}' } }) } : one,
  ),
  triggers: [
    { ...SETUP.triggers[0]!, map: { 'data.order': 'payload.order', 'data.email': 'payload.email' } },
  ],
} as const

test('[FI14] fields to be encrypted are encrypted in the row and in the history, and clear to steps', async () => {
  const world = makeWorld((request) =>
    nameOf(request) === 'c'
      ? null
      : { ...answered(201), body: JSON.stringify({ id: `v-${nameOf(request)}`, echo: SECRET }) },
  )
  const node = await world.node({ documents: [SOURCE, SEALED] })
  const { instance } = await begin(world, node, { ...PAID, email: SECRET })
  expect(called(world)).toEqual(['a', 'b', 'c'])
  expect(JSON.parse(String(world.calls[0]!.request.body))).toEqual({ email: SECRET })
  const { instances, history } = await world.kept.system('verification').dump()
  expect(instances).toHaveLength(1)
  expect(stringifyJson([instances, history] as never)).not.toContain(SECRET)
  world.calls.at(-1)!.answer(made(world.calls.at(-1)!.request))
  await world.pass()
  expect(await look(world, instance)).toMatchObject({ state: 'completed', data: { c: 'v-c' } })
})

test('[FI14] encryption and decryption round-trip', async () => {
  const world = makeWorld(made)
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { instance: begun } = await begin(world, node)
  const instance = { ...(await look(world, begun)), data: { email: { at: SECRET }, other: 1 } }
  const encryption = makeCountingEncryption()
  const encrypted = encryptInstance(encryption, DEFAULT_TENANT, SEALED, instance)
  expect(stringifyJson(encrypted as never)).not.toContain(SECRET)
  expect(encrypted.data).toMatchObject({ other: 1 })
  expect(openInstance(encryption, DEFAULT_TENANT, SEALED, encrypted)).toEqual(instance)
  const id = 'ins_1' as InstanceId
  const entry = {
    type: 'updated',
    changes: [
      { path: 'data.email.at', after: SECRET },
      { path: 'data', before: { email: SECRET }, after: {} },
      { path: 'data.other', before: 1, after: 2 },
    ],
    result: SECRET,
  } as const
  const kept = encryptHistory(encryption, DEFAULT_TENANT, SEALED, id, entry)
  expect(stringifyJson(kept as never)).not.toContain(SECRET)
  expect(kept.changes?.[2]).toEqual(entry.changes[2])
  expect(openHistory(encryption, DEFAULT_TENANT, id, kept)).toEqual(entry)
})

test('[HD14] a document of the former version encrypts all data as one text, which its nodes read; an enforced one each value', async () => {
  const world = makeWorld(made)
  const node = await world.node({ documents: [SOURCE, SETUP] })
  const { instance } = await begin(world, node)
  const encryption = makeCountingEncryption()
  const former = { permissions: [], encrypt: ['data'], audit: 'full' } as const
  for (const [security, type] of [
    [former, 'string'],
    [{ ...former, enforced: true }, 'object'],
  ] as const) {
    const encrypted = encryptInstance(encryption, DEFAULT_TENANT, { security }, instance)
    expect(typeof encrypted.data).toBe(type)
    expect(openInstance(encryption, DEFAULT_TENANT, { security }, encrypted)).toEqual(instance)
  }
})
