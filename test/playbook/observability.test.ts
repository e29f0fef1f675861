// What logs and lists say about an event: enough to follow it, and nothing that is not theirs to say.

import { expect, test } from 'vitest'
import { answer, letters, makeVendor, paid, SHOP, start, T } from './scene.fixture.ts'

const BOOK = `---
kind: Route
name: book
on: shop.events.paid
key: "'BOOK:' + payload.order"
retry: { attempts: 1 }
do: { http: { method: POST, url: https://vendor.example/book, keyTtl: 24h, body: { order: "{{ payload.order }}", mail: "{{ payload.mail }}" } } }
`

test('edge case: an event has no correlation id', async () => {
  const { world, node, send } = await start(`${SHOP}${BOOK}`)
  const [id] = await send(paid('o1'))
  const event = await world.reads.event(id!)
  // It gets one, and every line and row about it has the same.
  expect(event?.correlationId).toMatch(/^[0-9a-f-]{36}$/)
  const lines = node.log.controls.filter(({ eventId }) => eventId === id)
  expect(lines.map(({ point }) => point)).toEqual(expect.arrayContaining(['ingest', 'effect']))
  expect(new Set(lines.map(({ correlationId }) => correlationId))).toEqual(new Set([event?.correlationId]))
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ correlationId: event?.correlationId })
})

test('edge case: personal data must not reach the logs', async () => {
  const mail = 'ada@example.com'
  const flows = `${SHOP}sensitive: [payload.mail]\n${BOOK}`
  const vendor = makeVendor()
  // The vendor repeats in its refusal what it was sent.
  const echoing = { ...vendor, serve: () => answer(400, { error: `no customer ${mail}` }) }
  const { world, node, send } = await start(flows, echoing)
  await send(paid('o1', { mail }))
  await world.pass(60_000)
  expect(world.calls[0]?.request.body).toContain(mail)
  const [letter] = await letters(world)
  expect(letter?.lastError).toContain('400')
  expect(JSON.stringify([node.log.controls, node.log.messages])).not.toContain(mail)
  expect(
    JSON.stringify([letter, await world.kept.forTenant(T).events({ cursor: null, limit: 9 })]),
  ).not.toContain(mail)
  expect((await world.kept.forTenant(T).event(letter!.eventId))?.data).not.toContain(mail)
})
