// Edge cases of objects that the other side knows by an external reference.

import { expect, test } from 'vitest'
import { LOST, makeWorld, workOf } from '../../src/engine/engine.fixture.ts'
import type { HttpOutcome, HttpRequest } from '../../src/ports/http-client.ts'
import {
  ANNA,
  answer,
  check,
  compile,
  letters,
  makeVendor,
  paid,
  rules,
  SHOP,
  start,
  T,
} from './scene.fixture.ts'

interface Thing {
  readonly id: string
  readonly ref: string | null
  by: string
}

/** Stores objects; looks them up by their reference. `drops`: the response of that call is lost. */
function makeRegister(drops: (request: HttpRequest) => boolean = () => false) {
  const things: Thing[] = []
  const act = (request: HttpRequest): HttpOutcome => {
    const url = new URL(request.url)
    if (request.method === 'GET') {
      return answer(200, { items: things.filter(({ ref }) => ref === url.searchParams.get('ref')) })
    }
    const body = JSON.parse(request.body ?? '{}') as { ref?: string; by: string }
    if (request.method === 'POST') {
      things.push({ id: `t${things.length + 1}`, ref: body.ref ?? null, by: body.by })
      return answer(201, { id: things.at(-1)?.id })
    }
    const thing = things.find(({ id }) => id === url.pathname.split('/').at(-1))
    if (thing === undefined) return answer(404, {})
    thing.by = body.by
    return answer(200, { id: thing.id })
  }
  return {
    things,
    serve(request: HttpRequest): HttpOutcome {
      const outcome = act(request)
      return drops(request) ? LOST : outcome
    },
  }
}

const tasks = ({
  name = 'task_sync',
  key = 'payload.order',
  create = '{ ref: "{{ extRef }}", by: "{{ payload.id }}" }',
  more = '',
  lock = 'single',
} = {}) => `---
kind: Route
name: ${name}
on: [shop.events.paid]
${more}
key: "extRef('shop', '${name}', 'TASK', ${key}, 'sync', event.dedupKey)"
do:
  upsert:
    baseUrl: https://vendor.example
    extRef: "{{ extRef('shop', '${name}', 'TASK', ${key}) }}"
    find: { path: "/tasks?ref={{ extRef }}", found: result.body.items.size(), id: "result.body.items[0].id", after: 5s }
    create: { path: /tasks, body: ${create} }
    update: { path: "/tasks/{{ found.id }}", body: { by: "{{ payload.id }}" } }
    lock: ${lock}
`

test('edge case: two jobs look for an object at once, and neither finds it', async () => {
  const race = async (lock: string) => {
    const register = makeRegister()
    const world = makeWorld()
    const documents = compile(`${SHOP}${tasks({ lock })}`)
    const nodes = [await world.node({ documents }), await world.node({ name: 'two', documents })]
    const sent = nodes.map((node, index) => node.send(paid('o1', { id: `d${index}` })))
    await world.pass(100)
    await Promise.all(sent)
    const met = world.calls.length
    // From here on the register responds, call by call.
    let answered = 0
    for (let round = 0; round < 40; round += 1) {
      for (const call of world.calls.slice(answered)) call.answer(register.serve(call.request))
      answered = world.calls.length
      await world.pass(1_000)
    }
    return { register, world, met }
  }
  const { register, world, met } = await race('single')
  // The second does not even look before the first is over.
  expect(met).toBe(1)
  expect(register.things).toHaveLength(1)
  expect(world.calls.map(({ request }) => request.method)).toEqual(['GET', 'POST', 'GET', 'PUT'])
  const { items } = await world.reads.workList({ cursor: null, limit: 9 })
  expect(items.map(({ state }) => state)).toEqual(['done', 'done'])
  // Without the lock both look, and `check` has warned of the result.
  expect((await race('none')).met).toBe(2)
  expect(rules(check(`${SHOP}${tasks({ lock: 'none', more: 'uniqueness: record' })}`))).toContain(
    'DF11 warning',
  )
})

test('edge case: keys of two routes collide', async () => {
  const post = (name: string, key: string) => `---
kind: Route
name: ${name}
on: [shop.events.paid]
key: ${JSON.stringify(key)}
do:
  http: { method: POST, url: "https://vendor.example/${name}", keyTtl: 24h, body: { order: "{{ payload.order }}" } }
`
  const meeting = `${SHOP}${post('tasks', "'SYNC:' + payload.order")}${post('issues', "'SYNC:' + payload.order")}`
  const findings = check(meeting)
  expect(rules(findings)).toEqual(['KY5 warning'])
  expect(findings[0]?.message).toMatch(/tasks|issues/)
  // If the warning is ignored, one of them is skipped, and the entry names whose effect collided with it.
  const { world, send, vendor } = await start(meeting)
  const [id] = await send(paid('o1'))
  const entry = await world.reads.ledger('SYNC:o1')
  const work = await world.reads.workOfEvent(id!)
  await world.pass(10_000)
  expect((await world.reads.workOfEvent(id!)).map(({ state }) => state).toSorted()).toEqual([
    'done',
    'skipped',
  ])
  expect(work.map(({ consumer }) => consumer)).toContain(entry?.consumer)
  expect(vendor.effects).toHaveLength(1)
  // References that start with source and route never collide, whatever characters the values contain.
  const apart = (name: string) => post(name, `extRef('shop', '${name}', payload.type, payload.order)`)
  const flows = `${SHOP}${apart('tasks')}${apart('issues')}`
  expect(check(flows)).toEqual([])
  const separate = await start(flows)
  await separate.send(paid('b:c', { type: 'a' }), paid('c', { type: 'a:b' }))
  expect(new Set(separate.vendor.keys()).size).toBe(4)
  expect(separate.vendor.effects).toHaveLength(4)
})

test('edge case: one effect per object is intended, and one per change is written, or the other way round', async () => {
  const post = (key: string, more = '', on = 'paid') => `${SHOP}---
kind: Route
name: tasks
on: [shop.events.${on}]
${more}
key: ${JSON.stringify(key)}
do:
  http: { method: POST, url: "https://vendor.example/tasks", keyTtl: 24h, body: { order: "{{ payload.order }}" } }
`
  const record = 'uniqueness: record'
  const object = "extRef('shop', 'tasks', 'TASK', payload.order)"
  const change = "extRef('shop', 'tasks', 'TASK', payload.order, 'update', payload.revision)"
  expect(new Set(rules(check(post(change, record))))).toEqual(new Set(['KY4 warning']))
  expect(rules(check(post(object, '', 'updated')))).toEqual(['KY3 warning'])
  for (const sound of [post(object, record), post(change), post(change, '', 'updated')])
    expect(check(sound)).toEqual([])
  // Per object: created once. Per change: each change once, however often it comes.
  const changes = [1, 2, 2, 3].map((revision) => ({ revision }))
  const made = async (flows: string) => {
    const { send, vendor, world } = await start(flows)
    await send(...changes.map((more) => paid('o1', more)))
    await world.pass(5_000)
    return vendor.keys()
  }
  expect(await made(post(object, record))).toEqual(['shop:tasks:TASK:o1'])
  expect(await made(post(change))).toEqual(
    [1, 2, 3].map((revision) => `shop:tasks:TASK:o1:update:${revision}`),
  )
})

test('edge case: the reference is not written when the object is created', async () => {
  const forgetful = tasks({ create: '{ by: "{{ payload.id }}" }' })
  const findings = check(`${SHOP}${forgetful}`)
  expect(rules(findings)).toContain('DF9 warning')
  expect(findings.find(({ rule }) => rule === 'DF9')?.message).toContain('never found again')
  expect(rules(check(`${SHOP}${tasks()}`))).toEqual([])
  // With it, a create whose response is lost is found again too, and is not repeated.
  const register = makeRegister(({ method }) => method === 'POST' && register.things.length === 1)
  const world = makeWorld(register.serve)
  const node = await world.node({ documents: compile(`${SHOP}${tasks()}`) })
  const accepted = node.send(paid('o1'))
  await world.pass(600_000)
  expect(await workOf(world, (await accepted).eventId)).toMatchObject({ state: 'done', effectRef: 't1' })
  expect(register.things).toMatchObject([{ id: 't1', ref: 'shop:task_sync:TASK:o1' }])
  // Without it the ledger still keeps the same event from creating a second one.
  const blind = makeRegister()
  const other = makeWorld(blind.serve)
  const forgets = await other.node({ documents: compile(`${SHOP}${forgetful}`) })
  const event = paid('o1')
  for (let times = 0; times < 3; times += 1) {
    const sent = forgets.send(event)
    await other.pass(120_000)
    await sent
  }
  expect(blind.things).toHaveLength(1)
})

test('edge case: the meaning of a field has changed at the source before the replay', async () => {
  const post = (key: string, more = '') => `${SHOP}---
kind: Route
name: tasks
on: [shop.events.paid]
${more}
key: ${JSON.stringify(key)}
do:
  http: { method: POST, url: "https://vendor.example/tasks", keyTtl: 24h, body: { order: "{{ payload.order }}" } }
`
  const before = post("'TASK:' + payload.order")
  const key = "'TASK:' + payload.number"
  // Replacing the deployed formula is refused until a note says why that is safe.
  const findings = check(post(key), compile(before))
  expect(findings).toMatchObject([{ rule: 'KY7', severity: 'error' }])
  expect(findings[0]?.suggestion).toContain('keyMigration')
  const after = post(key, `keyMigration: { from: "'TASK:' + payload.order", note: numbers are ids now }`)
  expect(check(after, compile(before))).toEqual([])

  let isDown = true
  const vendor = makeVendor(({ body }) => (isDown && body?.includes('o2') ? 422 : 201))
  const { world, node, send, apply, heard } = await start(before, vendor)
  const ids = await send(paid('o1', { number: 71 }), paid('o2', { number: 72 }))
  const [letter] = await letters(world)
  expect(vendor.keys()).toEqual(['TASK:o1'])
  isDown = false
  await apply(after)
  // The preview says that the definition differs, and a replay keeps the key under which the job started.
  const preview = await heard(node.engine.replays.preview(T, { ids: [letter!.id] }, { force: false }))
  expect(preview.items).toMatchObject([{ verdict: 'would-differ', diff: [{ of: 'definition' }] }])
  await heard(node.engine.replay(T, letter!.id, { force: false, ...ANNA }))
  await heard(node.engine.replays.beginEvents(T, { ids: [ids[0]!] }, ANNA))
  await world.pass(10_000)
  expect(vendor.keys()).toEqual(['TASK:o1', 'TASK:o2'])
  await send(paid('o3', { number: 73 }))
  expect(vendor.keys()).toEqual(['TASK:o1', 'TASK:o2', 'TASK:73'])
})
