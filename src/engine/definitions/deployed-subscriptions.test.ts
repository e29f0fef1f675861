import { expect, test } from 'vitest'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { compileSubscription } from '../../core/webhooks/subscription/index.ts'
import { makeWorld, ROUTE, SOURCE } from '../engine.fixture.ts'
import { HOOK } from '../webhooks/deliveries/deliveries.fixture.ts'
import { makeDeployedSubscriptions } from './deployed-subscriptions.ts'
import { makeRegistry } from './registry.ts'

const named = (name: string, on: readonly string[] = ['shop.*']) => compileSubscription({ ...HOOK, name, on })
const consumers = (routes: readonly { readonly consumer: string }[]) => routes.map(({ consumer }) => consumer)

test('[DY1] the candidates of a tenant without subscriptions are the very list of its routes', () => {
  const registry = makeRegistry({ store: makeWorld().store })
  registry.put(
    DEFAULT_TENANT,
    [SOURCE, ROUTE].map((document) => ({ document, hash: document.name })),
    new Map(),
  )
  const before = registry.candidates(DEFAULT_TENANT, 'shop.events.paid')
  registry.putSubscription('other' as TenantId, named('a', ['>']))
  expect(registry.candidates(DEFAULT_TENANT, 'shop.events.paid')).toBe(before)
  registry.putSubscription(DEFAULT_TENANT, named('b', ['shop.>']))
  expect(consumers(registry.candidates(DEFAULT_TENANT, 'shop.events.paid'))).toEqual([
    'route:book',
    'subscription:b',
  ])
})

test('[DY2] those that do not match are not examined, and a result is cached', () => {
  const all = makeDeployedSubscriptions()
  let looks = 0
  const watched = Array.from({ length: 300 }, (_, n) => {
    const { route, ...rest } = named(`s${n}`, [`other.e${n}`])
    return {
      ...rest,
      get route() {
        looks += 1
        return route
      },
    }
  })
  all.put(DEFAULT_TENANT, [...watched, named('z'), named('b')])
  looks = 0
  const found = all.candidates(DEFAULT_TENANT, 'shop.paid')
  expect(consumers(found)).toEqual(['subscription:b', 'subscription:z'])
  expect(looks).toBe(0)
  expect(all.candidates(DEFAULT_TENANT, 'shop.paid')).toBe(found)
})

test('[DY2] the next event sees a change, whatever it is', () => {
  const all = makeDeployedSubscriptions()
  const find = () =>
    all.candidates(DEFAULT_TENANT, 'shop.paid').map(({ consumer, status }) => [consumer, status])
  all.put(DEFAULT_TENANT, [named('a')])
  expect(find()).toEqual([['subscription:a', 'active']])
  all.setStatus(DEFAULT_TENANT, 'a', 'disabled')
  expect(find()).toEqual([['subscription:a', 'disabled']])
  all.setStatus(DEFAULT_TENANT, 'a', 'failing')
  expect(find()).toEqual([['subscription:a', 'active']])
  all.put(DEFAULT_TENANT, [named('a', ['else.*'])])
  expect(find()).toEqual([])
  all.setStatus(DEFAULT_TENANT, 'c', 'paused')
  all.putDefined(DEFAULT_TENANT, [named('c')])
  expect(find()).toEqual([['subscription:c', 'paused']])
  all.putDefined(DEFAULT_TENANT, [])
  expect(find()).toEqual([])
  expect(all.find(DEFAULT_TENANT, 'a')).not.toBeNull()
  all.drop(DEFAULT_TENANT, 'a')
  expect(all.list(DEFAULT_TENANT)).toEqual([])
})
