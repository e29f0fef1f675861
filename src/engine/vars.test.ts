// Values that differ by environment, as jobs use them.
import { expect, test } from 'vitest'
import type { RouteDocument, VarsDocument } from '../core/definitions/documents/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { accept, answered, CREATED, HTTP, makeWorld, PAID, ROUTE, SOURCE, workOf } from './engine.fixture.ts'

const VARS: VarsDocument = {
  kind: 'Vars',
  name: 'endpoints',
  description: null,
  values: { crm: 'https://dev.example', size: 25 },
  environments: { PROD: { crm: 'https://prod.example' } },
}
const READS: RouteDocument = {
  ...ROUTE,
  do: { ...HTTP, idempotent: true, url: '{{ vars.crm }}/orders', body: { size: '{{ vars.size }}' } },
}
const at = (crm: string): VarsDocument => ({ ...VARS, values: { ...VARS.values, crm } })

test.each([
  ['DEV', 'https://dev.example/orders'],
  ['PROD', 'https://prod.example/orders'],
] as const)(
  '[VR1] a node of %s takes the values of its environment, and the others',
  async (environment, url) => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [SOURCE, READS, VARS], config: { environment } })
    await accept(world, node)
    expect(world.calls.map(({ request }) => [request.url, request.body])).toEqual([[url, '{"size":25}']])
  },
)

test('[VR6] a retry uses the values that are deployed by then, and its key stays', async () => {
  const world = makeWorld((_, call) => (call === 1 ? answered(503) : CREATED))
  const node = await world.node({ documents: [SOURCE, READS, at('https://old.example')] })
  const eventId = await accept(world, node)
  const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, READS, at('https://new.example')])
  await world.pass(0)
  await applied
  await world.pass(60_000)
  const keys = world.calls.map(({ request }) => request.headers['idempotency-key'])
  expect(world.calls.map(({ request }) => request.url)).toEqual([
    'https://old.example/orders',
    'https://new.example/orders',
  ])
  expect(new Set(keys).size).toBe(1)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })

  // What is done stays done under other values.
  await accept(world, node, { ...PAID, id: 'again' })
  await world.pass(60_000)
  expect(world.calls).toHaveLength(2)
})

test('[VR7] no tenant sees the values of another', async () => {
  const world = makeWorld(() => CREATED)
  const node = await world.node({
    documents: [SOURCE, READS, VARS],
    config: { vars: { self: 'http://me.example' } },
  })
  const other = 'other' as TenantId
  const applied = node.engine.apply(other, [{ ...VARS, values: { crm: 'https://other.example' } }])
  await world.pass(0)
  await applied
  const { vars } = node.engine.definitions
  const own = { self: 'http://me.example', env: 'DEV' }
  expect(vars(DEFAULT_TENANT, [])).toEqual({ ...VARS.values, ...own })
  expect(vars(other, [])).toEqual({ crm: 'https://other.example', ...own })
  expect(vars('third' as TenantId, [])).toEqual(own)
  await accept(world, node)
  expect(world.calls.map(({ request }) => request.url)).toEqual(['https://dev.example/orders'])
})

test('[VR10] an address is judged with the values that are deployed together with it', async () => {
  const world = makeWorld()
  const node = await world.node({ documents: [VARS], config: { vars: { self: 'http://me.example' } } })
  const { vars } = node.engine.definitions
  expect(vars(DEFAULT_TENANT, [SOURCE, at('https://next.example')])).toMatchObject({
    crm: 'https://next.example',
    self: 'http://me.example',
  })
  expect(vars(DEFAULT_TENANT, [])).toMatchObject({ crm: 'https://dev.example' })
})

test.each(['DEV', 'QA'] as const)('[VR11] `env` is the name of the environment: %s', async (environment) => {
  const world = makeWorld(() => CREATED)
  const reads: RouteDocument = {
    ...READS,
    do: { ...HTTP, idempotent: true, body: { from: 'shop-{{ env }}' } },
  }
  const node = await world.node({ documents: [SOURCE, reads], config: { environment } })
  await accept(world, node)
  expect(world.calls.map(({ request }) => request.body)).toEqual([`{"from":"shop-${environment}"}`])
})
