// A route with `steps`, as it is written, run by the engine: one effect per step and key, its delays, and the way back.

import { expect, test } from 'vitest'
import type { WorkflowDocument } from '../core/definitions/documents/index.ts'
import { MINUTE } from '../core/foundation/time/index.ts'
import { decodeInstance } from '../core/workflows/machine/index.ts'
import { accept, answered, makeWorld, SOURCE, type World } from '../engine/engine.fixture.ts'
import { compileDefinitions } from './language.ts'

const ROUTE = `kind: Route
name: onboard
on: ["shop.>"]
key: "ONBOARD:{{ payload.order }}"
retry: { attempts: 1 }
steps:
  - name: account
    do: { http: { url: https://crm.example/accounts, keyTtl: 24h, body: { order: "{{ payload.order }}" } } }
    out: { account: result.body.id }
    undo: { http: { method: DELETE, url: "https://crm.example/accounts/{{ result.body.id }}" } }
  - name: welcome
    delay: 5m
    do:
      http:
        url: https://mail.example/welcome
        keyTtl: 24h
        body: { account: "{{ data.account }}", again: "{{ steps.account.result.body.id }}", order: "{{ payload.order }}" }
`

const MADE = { ...answered(201), body: '{"id":"c-1"}' }

async function worldOf(answer: Parameters<typeof makeWorld>[0]) {
  const compiled = compileDefinitions([{ path: 'a.yaml', text: ROUTE }], { functions: () => null })
  expect(compiled.findings.filter(({ severity }) => severity === 'error')).toEqual([])
  const world = makeWorld(answer)
  const node = await world.node({ documents: [SOURCE, compiled.documents[0] as WorkflowDocument] })
  return { world, node }
}

const called = (world: World) =>
  world.calls.map(({ request }) => `${request.method} ${request.url.replace(/^https:\/\//, '')}`)
const instances = async (world: World) =>
  (await world.reads.instances({ cursor: null, limit: 9 })).items
    .map((row) => decodeInstance(row))
    .map(({ state, marking }) => `${state} ${Object.keys(marking).join()}`)
const paid = (id: string, order = 'o1') => ({ kind: 'paid', id, order })

test('[SF8] [SF10] the steps run one after another, once for each key', async () => {
  const { world, node } = await worldOf(() => MADE)
  await accept(world, node, paid('e1'))
  await world.pass(1_000)
  expect(called(world)).toEqual(['POST crm.example/accounts'])
  expect(await instances(world)).toEqual(['active welcome'])
  // While it runs, another event with its key does nothing.
  await accept(world, node, paid('e2'))
  await world.pass(4 * MINUTE)
  expect(called(world)).toHaveLength(1)
  await world.pass(2 * MINUTE)
  expect(called(world)).toEqual(['POST crm.example/accounts', 'POST mail.example/welcome'])
  expect(JSON.parse(String(world.calls[1]?.request.body))).toEqual({
    account: 'c-1',
    again: 'c-1',
    order: 'o1',
  })
  expect(await instances(world)).toEqual(['completed done'])
  // Once it is done, its effects are known by their keys.
  await accept(world, node, paid('e3'))
  await world.pass(6 * MINUTE)
  expect(called(world)).toHaveLength(2)
  for (const key of ['account:ONBOARD:o1', 'welcome:ONBOARD:o1'])
    expect(await world.reads.ledger(key)).toMatchObject({ state: 'done' })
})

test('[SF10] a step that fails for good takes back those before it', async () => {
  const { world, node } = await worldOf(({ url }) => (url.includes('mail') ? answered(400) : MADE))
  await accept(world, node, paid('e1'))
  await world.pass(6 * MINUTE)
  expect(called(world)).toEqual([
    'POST crm.example/accounts',
    'POST mail.example/welcome',
    'DELETE crm.example/accounts/c-1',
  ])
  expect(await instances(world)).toEqual(['failed failed'])
})
