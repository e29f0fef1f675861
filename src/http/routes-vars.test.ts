import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeDefinitionWorld, SOURCE_YAML } from './definitions.fixture.ts'

let world: ReturnType<typeof makeDefinitionWorld>
beforeEach(() => {
  world = makeDefinitionWorld({
    differingVars: async (tenant) => new Map(tenant === 'default' ? [['BATCH', ['node-2']]] : []),
  })
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.server.close()
})

const VARS = `kind: Vars
name: endpoints
values:
  crm: https://crm.dev.example # of the team
  batch: 25
environments:
  PROD: { crm: https://crm.example }
`
const ROUTE = `kind: Route
name: book
on: shop.events.paid
key: payload.id
uniqueness: record
rateLimit: { perMinute: "{{ vars.batch }}" }
do: { http: { method: PUT, url: "{{ vars.crm }}/orders", idempotent: true } }
`
const apply = (...texts: string[]) =>
  world.post('/definitions/apply', { files: texts.map((text, index) => ({ path: `f${index}.yaml`, text })) })

test('[VR16] lists values with where each comes from, and what depends on them', async () => {
  await apply(SOURCE_YAML, VARS, ROUTE)
  const { body } = await world.get('/vars', await world.key('viewer'))
  const readers = [{ kind: 'Route', name: 'book' }]
  const common = { definition: 'endpoints', managedBy: 'api', from: 'default', setting: null, readers }
  expect(body).toEqual({
    items: [
      { name: 'batch', value: 25, default: 25, environments: {}, ...common, differsOn: ['node-2'] },
      {
        name: 'crm',
        value: 'https://crm.dev.example',
        default: 'https://crm.dev.example',
        environments: { PROD: 'https://crm.example' },
        ...common,
        differsOn: [],
      },
    ],
    nextCursor: null,
  })
  expect((await world.get('/vars/crm')).body).toEqual(body.items[1])
  expect((await world.get('/vars/none')).status).toBe(404)
})

test('[VR16] two changes at the same time are both made', async () => {
  await apply(SOURCE_YAML, VARS, ROUTE)
  const set = await Promise.all([
    world.put('/vars/batch', { value: 50 }),
    world.put('/vars/crm', { value: 'https://other.example' }),
  ])
  expect(set.map(({ status }) => status)).toEqual([200, 200])
  const { items } = (await world.get('/vars')).body as { items: { name: string; value: unknown }[] }
  expect(items.map(({ name, value }) => [name, value])).toEqual([
    ['batch', 50],
    ['crm', 'https://other.example'],
  ])
})

test('[VR16] a value is set in its document, whose comments stay; what reads it changes with it', async () => {
  await apply(SOURCE_YAML, VARS, ROUTE)
  const { status, body } = await world.put('/vars/batch', { value: 50, reason: 'more at once' })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    version: 2,
    changes: [
      { kind: 'Vars', name: 'endpoints', change: 'update' },
      { kind: 'Route', name: 'book', change: 'update' },
    ],
  })
  expect((await world.get('/definitions/Vars/endpoints')).body.yaml).toBe(
    VARS.replace('batch: 25', 'batch: 50'),
  )
  expect((await world.get('/definitions/Route/book')).body.document.rateLimit.perMinute).toBe(50)
  expect((await world.get('/definitions/versions')).body.items[0]).toMatchObject({
    by: 'admin',
    reason: 'more at once',
  })
  await world.put('/vars/crm', { value: 'https://crm.qa.example', environment: 'QA' })
  expect((await world.get('/vars/crm')).body.environments).toEqual({
    QA: 'https://crm.qa.example',
    PROD: 'https://crm.example',
  })
  await world.put('/vars/crm', { value: null, environment: 'QA' })
  expect((await world.get('/vars/crm')).body.environments).toEqual({ PROD: 'https://crm.example' })
})

test('[VR16] new names go into one document, several at once', async () => {
  await world.put('/vars', { values: { a: 1, b: ['x'] } })
  await world.put('/vars/c', { value: true, definition: 'more' })
  const { items } = (await world.get('/vars')).body
  expect(
    items.map(({ name, value, definition }: Record<string, unknown>) => [name, value, definition]),
  ).toEqual([
    ['a', 1, 'vars'],
    ['b', ['x'], 'vars'],
    ['c', true, 'more'],
  ])
})

test('[VR16] what may not be set says what to do', async () => {
  await world.folder(VARS)
  expect(await world.put('/vars/crm', { value: 'x' })).toMatchObject({
    status: 409,
    body: { code: 'managed_by_folder' },
  })
  expect(await world.put('/vars/self', { value: 'x' })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining("the node's own") },
  })
  const token = `ghp_${'a1B2'.repeat(9)}`
  expect(await world.put('/vars/token', { value: token })).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('values are no secrets') },
  })
  expect((await world.put('/vars/x', { value: 1 }, await world.key('operator'))).status).toBe(403)
})

test('[VR7] another tenant has its own', async () => {
  await apply(SOURCE_YAML, VARS)
  const stranger = await world.key('admin', 'other')
  expect((await world.get('/vars', stranger)).body.items).toEqual([])
  await world.put('/vars/crm', { value: 'mine' }, stranger)
  expect((await world.get('/vars/crm', stranger)).body.value).toBe('mine')
  expect((await world.get('/vars/crm')).body.value).toBe('https://crm.dev.example')
})

test('[VR17] a plan lists what depends on a value that changes', async () => {
  await apply(SOURCE_YAML, VARS, ROUTE)
  const plan = (text: string) => world.post('/definitions/plan', { files: [{ path: 'v.yaml', text }] })
  const { body } = await plan(VARS.replace('crm.dev', 'crm.test'))
  expect(body.touched).toEqual([{ var: 'crm', readers: [{ kind: 'Route', name: 'book' }] }])
  expect((await plan(VARS.replace('crm.example', 'crm.next.example'))).body.touched).toEqual([])
  expect((await plan(VARS)).body.touched).toEqual([])
})
