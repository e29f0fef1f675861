// Edge cases of keys and the ledger: one effect per key, whatever happens on the way.

import { expect, test } from 'vitest'
import { CREATED, workOf } from '../../src/engine/engine.fixture.ts'
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
  states,
  T,
} from './scene.fixture.ts'

interface Parts {
  readonly on?: string
  readonly key?: string
  readonly more?: string
  readonly http?: string
}

const PROBE =
  'probe: { url: "https://vendor.example/orders?ref={{ key }}", found: result.body.found, after: 5s }'

const route = ({
  on = 'paid',
  key = "'BOOK:' + payload.order",
  more = '',
  http = 'keyTtl: 24h',
}: Parts = {}) => `${SHOP}---
kind: Route
name: book
on: [shop.events.${on}]
key: ${JSON.stringify(key)}
${more}
do:
  http: { method: POST, url: "https://vendor.example/orders", ${http}${http === '' ? '' : ','} body: { order: "{{ payload.order }}", revision: "{{ payload.revision }}" } }
`

test('edge case: a key is too broad', async () => {
  const broad = route({ on: 'updated' })
  expect(rules(check(broad))).toEqual(['KY3 warning'])
  const fine = route({
    on: 'updated',
    key: "'BOOK:' + payload.order + ':' + payload.revision",
    more: `keyMigration: { from: "'BOOK:' + payload.order", note: versions were left out }`,
  })
  expect(check(fine)).toEqual([])
  // If the warning is ignored, the second change is skipped, with a pointer to the effect that it collided with.
  const { world, node, send, apply, heard, vendor } = await start(broad)
  const update = (revision: number) => paid('o1', { kind: 'updated', revision })
  const [first, second] = await send(update(1), update(2))
  expect(await workOf(world, second!)).toMatchObject({
    state: 'skipped',
    key: 'BOOK:o1',
    effectRef: (await workOf(world, first!)).effectRef,
  })
  expect(vendor.effects).toHaveLength(1)
  // Fixed, the skipped change is done; what was done is not repeated under its new name.
  await apply(fine)
  await heard(node.engine.replays.beginEvents(T, { ids: [first!, second!] }, ANNA))
  await world.pass(10_000)
  expect(vendor.keys()).toEqual(['BOOK:o1', 'BOOK:o1:2'])
})

test('edge case: a key is too narrow', async () => {
  const on = 'created'
  for (const part of ['payload.updatedAt', 'hash(payload)', 'event.payloadHash']) {
    const findings = check(route({ on, key: `'BOOK:' + payload.order + ':' + ${part}` }))
    expect(rules(findings)).toEqual(['KY4 warning'])
  }
  const sound = route({ on })
  expect(check(sound)).toEqual([])
  // The same order again, with another time and another id: one effect.
  const { world, send, vendor } = await start(sound)
  await send(
    ...[1, 2, 3].map((minute) => paid('o1', { kind: 'created', updatedAt: `2026-03-01T09:0${minute}:00Z` })),
  )
  expect(await states(world)).toEqual(['done', 'skipped', 'skipped'])
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test('edge case: a key differs each time it is computed', async () => {
  for (const part of [
    'event.receivedAt',
    'event.traceId',
    'event.attempt',
    'event.runId',
    'header.date',
    'hash(header)',
  ]) {
    const findings = check(route({ key: `'BOOK:' + payload.order + ':' + ${part}` }))
    expect(rules(findings)).toEqual(['KY1 error'])
  }
  // The language has neither a clock nor randomness.
  for (const call of ['now()', 'random()', 'uuid()']) {
    expect(check(route({ key: `'BOOK:' + ${call}` })).some(({ severity }) => severity === 'error')).toBe(true)
  }
  // A hash is of the value, not of its spelling; retries, replays and other nodes compute the same.
  const flows = route({ key: "'BOOK:' + hash(payload.what)", more: 'retry: { attempts: 2, delays: [1s] }' })
  const vendor = makeVendor((_request, call) => (call <= 2 ? 503 : 201))
  const { world, node, send, heard } = await start(flows, vendor)
  await send(paid('o1', { what: { a: 1, b: [2, { c: 3, d: 'x' }] } }))
  await world.pass(10_000)
  const [letter] = await letters(world)
  node.crash()
  const other = await world.node({ name: 'two', documents: compile(flows) })
  await heard(other.engine.replay(T, letter!.id, { force: false, ...ANNA }))
  await world.pass(5_000)
  const again = other.send(paid('o1', { what: { b: [2, { d: 'x', c: 3 }], a: 1 } }))
  await world.pass(5_000)
  expect(await workOf(world, (await again).eventId)).toMatchObject({ state: 'skipped', key: letter?.key })
  expect(vendor.keys()).toEqual([letter?.key])
  expect(new Set(world.calls.map(({ request }) => request.headers['idempotency-key'])).size).toBe(1)
})

test('edge case: the ledger forgets too early', async () => {
  const findings = check(route({ more: 'ledger: { keep: 7d }' }))
  expect(findings).toMatchObject([{ rule: 'KY9', severity: 'error' }])
  expect(findings[0]?.message).toMatch(/30d replays \+ .* = .*, and `keep` is 7d/)
  // The event is removed after an hour; its effect is not forgotten, and is not repeated when the event comes once
  // more.
  const config = { retentionEveryMs: 600_000 }
  const flows = route().replace('dedup:', 'retention: 1h\ndedup:')
  const { world, send, vendor } = await start(flows, makeVendor(), { config })
  const event = paid('o1')
  const [first] = await send(event)
  await world.pass(3 * 3_600_000)
  expect(await world.reads.event(first!)).toBeNull()
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
  const [again] = await send(event)
  expect(await workOf(world, again!)).toMatchObject({ state: 'skipped', key: 'BOOK:o1' })
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test('edge case: the vendor has done it, and its response is lost: the probe says so', async () => {
  const vendor = makeVendor((_request, call) => (call === 1 ? 'drop' : 201))
  const { world, send } = await start(route({ http: PROBE }), vendor)
  const [id] = await send(paid('o1'))
  await world.pass(60_000)
  expect(await workOf(world, id!)).toMatchObject({ state: 'done' })
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', proof: 'probe' })
  expect(world.calls.map(({ request }) => request.method)).toEqual(['POST', 'GET'])
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test('edge case: the vendor has not done it, and its response is lost: the probe says so, and it is called again', async () => {
  const vendor = makeVendor((_request, call) => (call === 1 ? 'lose' : 201))
  const { world, send } = await start(
    route({ http: PROBE, more: 'retry: { attempts: 3, delays: [1s, 1s] }' }),
    vendor,
  )
  const [id] = await send(paid('o1'))
  await world.pass(60_000)
  expect(await workOf(world, id!)).toMatchObject({ state: 'done' })
  expect(world.calls.map(({ request }) => request.method)).toEqual(['POST', 'GET', 'POST'])
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test.each(['done', 'released'] as const)(
  'edge case: the response is lost and cannot be probed: the job is parked, and a user decides (%s)',
  async (as) => {
    const vendor = makeVendor((_request, call) => (call > 1 ? 201 : as === 'done' ? 'drop' : 'lose'))
    const flows = route({ http: '' })
    expect(rules(check(flows))).toEqual(['F32 warning'])
    const { world, node, send, heard } = await start(flows, vendor)
    const [id, rival] = await send(paid('o1'), paid('o1'))
    await world.pass(600_000)
    // It is in the list of unknown outcomes, users are alerted, and no further call is made; the other one waits for
    // the decision.
    const parked = await workOf(world, id!)
    expect(parked).toMatchObject({ state: 'parked', class: 'unknown', key: 'BOOK:o1' })
    const { items } = await world.reads.ledgerList({ state: 'unknown', cursor: null, limit: 9 })
    expect(items).toMatchObject([{ key: 'BOOK:o1', work: parked.id }])
    expect(await node.engine.allowed(parked, items[0]!)).toEqual(expect.arrayContaining(['done', 'released']))
    expect(await escalations(world)).toMatchObject([{ class: 'unknown', consumer: 'route:book' }])
    expect((await workOf(world, rival!)).state).toBe('ready')
    expect(world.calls).toHaveLength(1)
    await heard(node.engine.resolve(T, parked.id, { as, ...ANNA }))
    await world.pass(600_000)
    expect(await workOf(world, id!)).toMatchObject({ state: 'done' })
    expect(await workOf(world, rival!)).toMatchObject({ state: 'skipped' })
    expect(vendor.keys()).toEqual(['BOOK:o1'])
  },
)

test('edge case: the node dies between the vendor’s response and its own ledger', async () => {
  const flows = route({ http: PROBE })
  const vendor = makeVendor((_request, call) => (call === 1 ? 'hold' : 201))
  const { world, node, send } = await start(flows, vendor)
  const [id] = await send(paid('o1'))
  const [call] = world.calls
  // Done, responded and received: and then the commit that would have recorded it never happens.
  node.faults.commit = () => {
    node.crash()
    return new Promise<never>(() => {})
  }
  vendor.do(call!.request)
  call!.answer(CREATED)
  await world.pass()
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'reserved' })
  await world.node({ name: 'two', documents: compile(flows) })
  await world.pass(120_000)
  expect(await workOf(world, id!)).toMatchObject({ state: 'done' })
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', proof: 'probe' })
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})
