import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeDefinitionWorld } from './definitions.fixture.ts'

let world: ReturnType<typeof makeDefinitionWorld>
beforeEach(async () => {
  world = makeDefinitionWorld()
  const text = [
    'kind: Source\nname: github\nverify: { scheme: none }\nsubjects: github\n',
    `kind: Source
name: shop
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
catalog:
  subjects:
    - { subject: shop.events.paid, description: An order is paid., schema: { type: object, properties: { id: { type: integer } } }, example: { id: 9007199254740993 } }
    - { subject: shop.notes.* }
`,
    'kind: Route\nname: book\non: [shop.events.>]\ndo: { emit: "books.{{ payload.kind }}" }\n',
    'kind: Route\nname: watch\non: ["*.events.paid", github.events.push]\ndo: { emit: seen }\n',
  ].join('---\n')
  await world.post('/definitions/apply', { files: [{ path: 'a.yaml', text }] })
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.server.close()
})

test('[CA19] lists what can be published, by source and by a part of the text', async () => {
  const { body } = await world.get('/catalog?source=shop')
  expect(body).toEqual({
    items: [
      {
        subject: 'shop.events.paid',
        source: 'shop',
        mapping: null,
        description: 'An order is paid.',
        hasSchema: true,
        example: { id: expect.any(Number) },
      },
      { subject: 'shop.notes.*', source: 'shop', mapping: null, description: null, hasSchema: false },
    ],
    nextCursor: null,
  })
  const pushed = await world.get('/catalog?q=PUSH')
  expect(pushed.body.items).toMatchObject([
    { subject: 'github.events.push', mapping: 'github', hasSchema: true },
  ])
  const spelled = await world.get('/catalog?q=pull-request.opened')
  expect(spelled.body.items).toMatchObject([{ subject: 'github.events.pull_request.opened' }])
  const emitted = await world.get('/catalog?source=route:book')
  expect(emitted.body.items).toMatchObject([{ subject: 'books.>', hasSchema: false }])
})

test('[CA19] distinguishes subjects that a route selects from those that none does', async () => {
  const subjects = async (query: string) =>
    (await world.get(`/catalog?source=shop&${query}`)).body.items.map(
      (one: { subject: string }) => one.subject,
    )
  const [all, wanted, other] = [
    await subjects(''),
    await subjects('wanted=true'),
    await subjects('wanted=false'),
  ]
  expect(wanted).toContain('shop.events.paid')
  expect(other).toContain('shop.notes.*')
  expect([...wanted, ...other].sort()).toEqual([...all].sort())
})

test('[CA19] pages go on where the last one ended', async () => {
  const all = (await world.get('/catalog?limit=500')).body.items.map(
    (one: { subject: string }) => one.subject,
  )
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await world.get(`/catalog?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`)
    seen.push(...body.items.map((one: { subject: string }) => one.subject))
    cursor = body.nextCursor ?? ''
  } while (cursor !== '')
  expect(seen).toEqual(all)
  expect(seen).toEqual([...seen].sort())
  expect(seen.length).toBeGreaterThan(200)
  expect((await world.get('/catalog?cursor=nonsense')).body).toMatchObject({ code: 'invalid_cursor' })
})

test('[CA19] shows a subject with its schema and the routes that want it, long numbers and all', async () => {
  const paid = await world.get('/catalog/shop.events.paid')
  expect(paid.text).toContain('9007199254740993')
  expect(paid.body).toMatchObject({
    schema: { type: 'object', properties: { id: { type: 'integer' } } },
    routes: ['book', 'watch'],
  })
  expect((await world.get('/catalog/github.events.push')).body).toMatchObject({
    source: 'github',
    schema: { type: 'object' },
    example: { ref: 'refs/heads/main' },
    routes: ['watch'],
  })
  expect((await world.get('/catalog/shop.notes.made')).body).toMatchObject({
    subject: 'shop.notes.*',
    schema: null,
    routes: [],
  })
  expect(await world.get('/catalog/nobody.says')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect((await world.get('/catalog/a..b')).status).toBe(404)
  expect((await world.get('/catalog/shop.event.paid')).body.detail).toContain(
    'did you mean `shop.events.paid`?',
  )
})
