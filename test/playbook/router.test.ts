// Edge cases of routing that definitions alone decide.

import { expect, test } from 'vitest'
import { workOf } from '../../src/engine/engine.fixture.ts'
import {
  ANNA,
  check,
  compile,
  escalations,
  letters,
  makeVendor,
  paid,
  rules,
  SHOP,
  start,
  T,
  told,
} from './scene.fixture.ts'

const route = (name: string, more = '') => `---
kind: Route
name: ${name}
on: [shop.events.paid]
${more}
key: "'${name.toUpperCase()}:' + payload.order"
do:
  http: { method: POST, url: "https://vendor.example/${name}", keyTtl: 24h, body: { order: "{{ payload.order }}" } }
`

test('edge case: several routes match where one must be alone', async () => {
  const flows = `${SHOP}${route('refund', 'fanOut: one')}${route('review', 'where: payload.total > 100')}`
  // Two that always match together are reported before anything runs.
  expect(rules(check(`${SHOP}${route('refund', 'fanOut: one')}${route('review')}`))).toEqual(['DF12 warning'])
  const { world, node, send, apply, heard, vendor } = await start(flows)
  await send(paid('o1', { total: 5 }))
  const [both] = await send(paid('o2', { total: 500 }))
  expect(vendor.keys()).toEqual(['REFUND:o1'])
  const [letter] = await letters(world)
  expect(letter).toMatchObject({ eventId: both, class: 'config', reason: 'ambiguous_routes' })
  expect(letter?.lastError).toMatch(/refund.*review/)
  expect(await escalations(world)).toMatchObject([{ reason: 'ambiguous_routes', count: 1 }])
  // Fixed and replayed, it takes the one route.
  await apply(
    `${SHOP}${route('refund', 'fanOut: one\nwhere: payload.total <= 100')}${route('review', 'where: payload.total > 100')}`,
  )
  await heard(node.engine.replay(T, letter!.id, { force: false, ...ANNA }))
  await world.pass(5_000)
  expect(vendor.keys()).toEqual(['REFUND:o1', 'REVIEW:o2'])
  expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'resolved' })
})

test('edge case: a route is disabled by accident', async () => {
  const flows = (status: string) => `${SHOP}${route('book', `status: ${status}`)}${route('mail')}`
  const { world, node, send, apply, heard, vendor } = await start(flows('active'))
  await send(paid('o1'))
  await apply(flows('disabled'))
  const missed = await send(paid('o2'), paid('o3'))
  // Every event that it would have run for is stored, with the reason on it and in the log.
  for (const id of missed) {
    const [book] = (await world.reads.workOfEvent(id)).filter(({ consumer }) => consumer === 'route:book')
    expect(book).toMatchObject({ state: 'skipped', lastError: 'DISABLED' })
  }
  expect(node.log.controls.filter(({ action }) => action === 'DISABLED')).toHaveLength(2)
  expect((await node.engine.definitions.list(T)).find(({ name }) => name === 'book')).toMatchObject({
    status: 'disabled',
  })
  await apply(flows('active'))
  await heard(node.engine.replays.beginEvents(T, { ids: missed }, ANNA))
  await world.pass(10_000)
  // What was missed is done, and what was not is not repeated.
  expect(vendor.keys().toSorted()).toEqual(['BOOK:o1', 'BOOK:o2', 'BOOK:o3', 'MAIL:o1', 'MAIL:o2', 'MAIL:o3'])
})

test('edge case: definitions of two environments drift apart', async () => {
  const url = 'https://vendor.example/book'
  const flows = `${SHOP}${route('book').replace(url, '{{ vars.vendor }}/book')}`
  const environment = (name: string) => ({ config: { vars: { vendor: `https://${name}.example` } } })
  const qa = await start(flows, makeVendor(), environment('qa'))
  const prod = await start(flows, makeVendor(), environment('prod'))
  const hashOf = async ({ node }: typeof qa) => {
    const { items } = await node.engine.definitions.versions(T, { cursor: null, limit: 1 })
    return items[0]?.hash
  }
  // Only variables may differ; the definitions are the same by their hash, and each execution says so.
  expect(await hashOf(qa)).toBe(await hashOf(prod))
  const [a] = await qa.send(paid('o1'))
  const [b] = await prod.send(paid('o1'))
  expect((await workOf(qa.world, a!)).definition).toBe((await workOf(prod.world, b!)).definition)
  expect([qa, prod].map(({ world }) => new URL(world.calls[0]!.request.url).host)).toEqual([
    'qa.example',
    'prod.example',
  ])
  // A user changes one of them: the hash shows it, and a plan of what the other has says what and where.
  await prod.apply(flows.replace('name: book', 'name: book\nretry: { attempts: 2, delays: [1s] }'))
  expect(await hashOf(qa)).not.toBe(await hashOf(prod))
  const { changes } = await prod.heard(
    prod.node.engine.definitions.plan(T, {
      definitions: compile(flows).map((document) => ({ document, authored: null })),
      managedBy: 'folder',
      prune: true,
    }),
  )
  expect(changes.filter(({ change }) => change !== 'unchanged')).toMatchObject([
    { change: 'update', kind: 'Route', name: 'book' },
  ])
})

test('edge case: the definition changes while its call is in progress, and while others wait', async () => {
  const flows = (path: string, more = '') =>
    `${SHOP}${route('book', `order: { by: payload.order }\n${more}`).replace('example/book', `example/${path}`).replace('payload.order"\ndo', 'payload.id"\ndo')}`
  const vendor = makeVendor((_request, call) => (call === 1 ? 'hold' : 201))
  const { world, node, send, apply } = await start(flows('old'), vendor)
  const [running, waiting] = await send(paid('o1', { id: 'a' }), paid('o1', { id: 'b' }))
  await apply(flows('new'))
  await send(paid('o1', { id: 'c' }))
  vendor.do(world.calls[0]!.request)
  world.calls[0]!.answer({ kind: 'response', status: 201, headers: {}, body: '{}', durationMs: 1 })
  await world.pass(5_000)
  expect(vendor.effects.map(({ key, path }) => `${key} ${path}`)).toEqual([
    'BOOK:a /old',
    'BOOK:b /old',
    'BOOK:c /new',
  ])
  expect((await workOf(world, running!)).definition).toBe((await workOf(world, waiting!)).definition)
  // Removed altogether: jobs that were accepted under it run all the same.
  const late = node.send(paid('o2', { id: 'd' }))
  await world.pass()
  await late
  await apply(SHOP)
  await world.pass(60_000)
  expect(vendor.keys()).toEqual(['BOOK:a', 'BOOK:b', 'BOOK:c', 'BOOK:d'])
})

test('edge case: a profile, an address or a route is missing', async () => {
  // Undefined names are refused before anything runs, with a suggestion.
  for (const more of ['retry: STANDRD', 'drain: FEED_SAFE_5MINS', 'rateLimit: NO_SUCH_RATE']) {
    const findings = check(`${SHOP}${route('book', more)}`)
    expect(findings).toMatchObject([{ severity: 'error', line: 12 }])
  }
  expect(check(`${SHOP}${route('book', 'retry: STANDRD')}`)[0]?.suggestion).toContain('STANDARD')
  // An address that this environment does not have: no call is made, and a user sees what is missing.
  const addressless = route('book').replace('https://vendor.example/book', 'https://{{ vars.vendor }}/book')
  const strict = SHOP.replace('dedup:', 'unmatched: deadLetter\ndedup:')
  const { world, node, send, apply, heard, vendor } = await start(`${strict}${addressless}`)
  const [known] = await send(paid('o1'))
  expect(await workOf(world, known!)).toMatchObject({
    state: 'dead',
    lastError: expect.stringContaining('vars.vendor'),
  })
  expect(world.calls).toEqual([])
  // An event without a route is stored as a dead letter, not forgotten.
  const [unknown] = await send(paid('o2', { kind: 'refunded' }))
  const dead = await letters(world)
  expect(dead).toMatchObject([
    { eventId: known, consumer: 'route:book', key: 'BOOK:o1' },
    { eventId: unknown, consumer: 'source:shop', class: 'config', reason: 'config_missing' },
  ])
  expect((await escalations(world)).map(({ reason }) => reason)).toContain('config_missing')
  expect((await told(world, 'integration.failed')).length).toBe(2)
  await apply(`${strict}${route('book').replace('shop.events.paid', 'shop.events.*')}`)
  for (const { id } of dead) await heard(node.engine.replay(T, id, { force: false, ...ANNA }))
  await world.pass(5_000)
  expect(vendor.keys()).toEqual(['BOOK:o1', 'BOOK:o2'])
})

test('edge case: a filter is too strict', async () => {
  const strict = `${SHOP}${route('book', "where: payload.total > 100 && payload.currency == 'EUR'")}`
  const { world, node, send, apply, heard, vendor } = await start(strict)
  const [missed] = await send(paid('o1', { total: 250, currency: 'eur' }))
  // The event is stored, listed as unmatched, and explained part by part.
  expect(vendor.keys()).toEqual([])
  const { items } = await world.reads.events({ unmatched: true, cursor: null, limit: 9 })
  expect(items.map(({ id }) => id)).toEqual([missed])
  const { consumers } = await node.engine.inspect.explain(T, missed!)
  expect(consumers).toMatchObject([
    { name: 'book', verdict: 'condition', why: [{ holds: true }, { holds: false }] },
  ])
  // After the fix, what was missed is replayed from the event.
  await apply(`${SHOP}${route('book', 'where: payload.total > 100')}`)
  await heard(node.engine.replays.beginEvents(T, { ids: [missed!] }, ANNA))
  await world.pass(10_000)
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test('edge case: a filter is too broad', async () => {
  const broad = (filter: string) =>
    `${SHOP}${route('book', filter).replace('[shop.events.paid]', '[shop.events.>]')}`
  const { world, node, send, apply, vendor } = await start(broad(''))
  const noise = (id: string) => ({ kind: 'viewed', id })
  await send(paid('o1'), { kind: 'changed', id: 'n1', order: 'o1' }, noise('n2'), noise('n3'))
  await world.pass(60_000)
  // Another event about the same object makes no second effect, and one that is about no object makes none.
  expect(vendor.keys()).toEqual(['BOOK:o1'])
  const all = await letters(world)
  expect(all.map(({ class: failure, step }) => [failure, step])).toEqual([
    ['validation', 'key'],
    ['validation', 'key'],
  ])
  // They are one cause and one group, not an alert each.
  const { groups } = await world.reads.deadLetterGroups({ state: 'open' })
  expect(groups).toMatchObject([{ consumer: 'route:book', count: 2 }])
  await apply(broad("where: payload.kind == 'paid'"))
  const [viewed] = await send(noise('n4'), paid('o2'))
  await world.pass(60_000)
  expect((await node.engine.inspect.explain(T, viewed!)).consumers).toMatchObject([{ verdict: 'condition' }])
  expect(vendor.keys()).toEqual(['BOOK:o1', 'BOOK:o2'])
  expect(await letters(world)).toHaveLength(2)
})
