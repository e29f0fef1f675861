// Deliveries that share the rate limits of a connection.

import { describe, expect, test } from 'vitest'
import type {
  ConnectionDocument,
  ProviderDocument,
  SubscriptionDocument,
} from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { SECOND } from '../../../core/foundation/time/index.ts'
import { CONNECTION, PROVIDER } from '../../connections/connections.fixture.ts'
import { accept, answered, SOURCE } from '../../engine.fixture.ts'
import { endpointWorld, HOOK } from './deliveries.fixture.ts'

const SHOP: ConnectionDocument = { ...CONNECTION, credential: null }
const SHARED: SubscriptionDocument = { ...HOOK, connection: 'shop' }
const OTHER: SubscriptionDocument = { ...HOOK, name: 'other', url: 'https://crm.example/other' }

const limited = (buckets: ProviderDocument['buckets']): ProviderDocument => ({
  ...PROVIDER,
  buckets,
  probe: null,
})

describe('a subscription that names a connection', () => {
  test('[RB6] [RB1] sends no more than its provider allows; the others are limited per endpoint', async () => {
    const world = endpointWorld()
    const provider = limited({ default: { perMinute: 60, burst: 2 } })
    const node = await world.node({ documents: [SOURCE, provider, SHOP, SHARED, OTHER] })
    for (let index = 0; index < 6; index += 1)
      await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
    const calls = (url: string) => world.calls.filter(({ request }) => request.url === url)
    expect(calls(OTHER.url)).toHaveLength(6)
    const first = calls(HOOK.url).length
    expect(first).toBeGreaterThanOrEqual(1)
    expect(first).toBeLessThan(5)
    // One a second.
    await world.pass(2 * SECOND)
    expect(calls(HOOK.url).length).toBeLessThanOrEqual(first + 3)
    await world.pass(10 * SECOND)
    expect(calls(HOOK.url)).toHaveLength(6)
    expect(
      (await world.deliveries()).every(({ state, attempts }) => state === 'done' && attempts === 1),
    ).toBe(true)
  })

  test('[RB6] [RB2] waits while a 429 closes the connection, without an attempt; the others do not', async () => {
    const second = { ...SHARED, name: 'second', url: 'https://second.example/hooks' }
    const world = endpointWorld([
      { kind: 'response', status: 429, headers: { 'retry-after': '30' }, body: '', durationMs: 1 },
      answered(204),
    ])
    const node = await world.node({ documents: [SOURCE, limited({}), SHOP, SHARED] })
    await accept(world, node)
    expect(world.calls).toHaveLength(1)
    const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, limited({}), SHOP, SHARED, second, OTHER])
    await world.pass()
    await applied
    await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
    await world.pass(20 * SECOND)
    const urls = () => world.calls.map(({ request }) => request.url)
    expect(urls()).toEqual([HOOK.url, OTHER.url])
    const waiting = (await world.deliveries()).filter(({ state }) => state !== 'done')
    expect(waiting.every(({ attempts }) => attempts === 0)).toBe(true)
    await world.pass(60 * SECOND)
    expect(urls()).toContain(second.url)
    expect((await world.deliveries()).every(({ state }) => state === 'done')).toBe(true)
  })

  test('[RB6] sends although the connection is unknown', async () => {
    const world = endpointWorld()
    const node = await world.node({ documents: [SOURCE, SHARED] })
    await accept(world, node)
    expect(world.calls).toHaveLength(1)
  })
})
