// Connections on a real node, against a vendor on the loopback: secrets that are replaced under load, refused, provided
// by users or created at the vendor; tokens that expire while calls are made; and a vendor that is unavailable. The
// vendor's own log decides.

import { beforeAll, expect, test } from 'vitest'
import {
  allDone,
  depotFlows,
  FIRST_TOKEN,
  fetchedOnce,
  type ShownEvent,
  startDepot,
  startShop,
} from '../support/depot.ts'
import { buildDist, eventually } from '../support/node-process.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

// Each test has a node and a depot of its own and mostly waits, so most run at once. Tests of tokens that live for a few seconds run alone.

const PER_SECOND = 200
/** The events about an order whose token had expired: refused, rotated, and all is well. */
const STORY = [
  'integration.credential.rotated',
  'integration.credential.rotating',
  'integration.failed',
  'integration.failure.resolved',
  'integration.run.completed',
  'shop.order.packed',
]
const ROTATE = '/v1/integrations/credentials/rotate'

test.concurrent('[CD17] edge case: a secret is replaced while 200 calls a second are made with it', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor, made } = depot
  const flows = await workspace.writeFlows(depotFlows(vendor.url, { makesTokens: true }))
  const shop = await startShop({ workspace, flows }, FIRST_TOKEN)
  const inUse = (version: number) =>
    eventually(`version ${version} is in use`, async () => {
      const { status, version: now } = await shop.credential()
      return status === 'active' && now === version
    })

  const packing = shop.packFor(6_000, PER_SECOND, 'order')
  for (const version of [2, 3]) {
    const { isNew } = await shop.node.post<{ isNew: boolean }>(ROTATE, { credentialId: 'depot-token' })
    expect(isNew).toBe(true)
    await inUse(version)
  }
  // And one that a user provides, though the depot could create it.
  const brought = vendor.tokens.create('brought_')
  await shop.setSecret('depot-token', brought, true)
  await inUse(4)
  const orders = await packing
  await fetchedOnce(depot, orders)
  expect(orders).toHaveLength(6 * PER_SECOND)

  // The depot's own tokens have a name there, by which they are revoked once the overlap is over.
  await eventually('the former tokens are ended', () =>
    [...made.values()].every((token) => !vendor.tokens.isGood(token)),
  )
  await allDone(shop)
  expect(made.size).toBe(2)
  for (const token of [FIRST_TOKEN, ...made.values(), brought])
    expect(vendor.tokens.get(token)?.uses, 'each was used').toBeGreaterThan(0)
  expect(vendor.calls.filter(({ status }) => status === 401)).toEqual([])
  expect(await shop.list('/v1/dead-letters')).toEqual([])
  expect(await shop.list('/v1/integrations/runs?state=failed&purpose=work')).toEqual([])
  const runs = await shop.list<{ attempts: readonly unknown[] }>(
    '/v1/integrations/runs?state=completed&purpose=work&via=connection',
  )
  expect(runs.filter(({ attempts }) => attempts.length !== 1)).toEqual([])
  expect(runs).toHaveLength(orders.length)
  expect(await shop.told('integration.credential.rotated')).toHaveLength(3)
})

test.concurrent('[CD1] edge case: the next value of a secret is wrong', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor } = depot
  const flows = await workspace.writeFlows(depotFlows(vendor.url))
  const shop = await startShop({ workspace, flows }, FIRST_TOKEN)
  const wrong = 'tok-nobody-knows-planted-secret'
  await shop.setSecret('depot-token', wrong, true)
  const orders = [...(await shop.packFor(3_000, 20, 'meanwhile'))]
  await eventually('the rotation is over', async () => {
    const { rotation } = await shop.credential()
    return rotation.underWay === null && rotation.lastFailure !== null
  })
  await shop.pack('after')
  await fetchedOnce(depot, [...orders, 'after'])

  const tries = vendor.calls.filter(({ token }) => token === wrong)
  expect(tries.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual(
    Array.from({ length: 3 }, () => 'GET /me 401'),
  )
  expect(depot.refused()).toBe(0)
  const { status, version, rotation } = await shop.credential()
  expect({ status, version }).toEqual({ status: 'active', version: 1 })
  expect(rotation.lastFailure).toMatchObject({ version: 1 })
  expect(rotation.lastFailure?.error).toContain('401')
  expect(await shop.told('integration.failed')).not.toEqual([])
  const letters = await shop.list<{ consumer: { name: string } }>('/v1/dead-letters')
  expect(letters.map(({ consumer }) => consumer.name)).toEqual(['depot-token'])
})

test.concurrent('[CD3] [DR6] edge case: a token expires, and the vendor creates the next one', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor, made } = depot
  const flows = await workspace.writeFlows(depotFlows(vendor.url, { makesTokens: true }))
  const shop = await startShop({ workspace, flows }, FIRST_TOKEN)
  await shop.pack('before')
  await fetchedOnce(depot, ['before'])
  depot.age(FIRST_TOKEN)
  await shop.pack('first')
  const orders = await shop.packFor(500, 100, 'order')
  await fetchedOnce(depot, ['first', ...orders])
  await allDone(shop)

  expect(made.size, 'made once, whatever the number of those who were refused').toBe(1)
  expect((await shop.credential()).version).toBe(2)
  expect(await shop.list('/v1/dead-letters')).toEqual([])
  const told = await shop.told('integration.credential.rotated')
  expect(told).toHaveLength(1)
  const { correlationId = '' } = told[0] ?? {}
  expect(await storyOf(shop.list, correlationId)).toEqual(STORY)
  const runs = await shop.list<{ correlationId: string; purpose: string }>('/v1/integrations/runs')
  const ofStory = runs.filter((run) => run.correlationId === correlationId).map(({ purpose }) => purpose)
  expect(ofStory.sort()).toEqual(['verification', 'work'])
})

test.concurrent('[CD16] [CX6] edge case: a token expires, and a user provides the next one', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor } = depot
  const flows = await workspace.writeFlows(depotFlows(vendor.url))
  const shop = await startShop({ workspace, flows }, FIRST_TOKEN)
  depot.age(FIRST_TOKEN)
  await shop.pack('first')
  await eventually('the rotation waits for a person', async () => {
    return (await shop.credential()).status === 'waiting'
  })
  const refusedBefore = depot.refused()
  const orders = await shop.packFor(1_000, 50, 'order')
  const [escalation] = await shop.list<{ lastError: string }>('/v1/escalations?state=raised')
  expect(escalation?.lastError).toContain('millrace secrets set depot-token --pending')
  expect(depot.refused(), 'nobody asks with a token that is known to be refused').toBe(refusedBefore)

  await shop.setSecret('depot-token', vendor.tokens.create(), true)
  await fetchedOnce(depot, ['first', ...orders])
  await allDone(shop)
  const runs = await shop.list<{ attempts: readonly unknown[] }>(
    '/v1/integrations/runs?state=completed&purpose=work&via=connection',
  )
  expect(runs).toHaveLength(1 + orders.length)
  const works = await shop.list<{ attempts: number }>('/v1/work?state=done&consumer=book_pickup')
  expect(works.filter(({ attempts }) => attempts !== 1)).toEqual([])
  expect(await shop.list('/v1/dead-letters')).toEqual([])
  const told = await shop.told('integration.credential.rotated')
  expect(await storyOf(shop.list, told[0]?.correlationId ?? '')).toEqual(STORY)
})

test.concurrent('[CX3] [CX6] edge case: a vendor is unavailable for a while, or an operator opens its circuit', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor } = depot
  const connection = 'probe: none\ncircuit: { failures: 5, openFor: 1s }'
  const flows = await workspace.writeFlows(depotFlows(vendor.url, { connection }))
  const shop = await startShop({ workspace, flows }, FIRST_TOKEN)
  vendor.outage(503)
  const early = await shop.packFor(200, 50, 'early')
  await eventually('the circuit is open', async () => {
    return (await shop.connection()).circuit.state !== 'closed'
  })
  await eventually('the calls that were under way when it opened are over', async () => {
    return (await shop.list('/v1/integrations/runs?state=running&via=connection')).length === 0
  })
  const openSince = Date.now()
  const before = vendor.callsOf('POST /pickups').length
  const late = await shop.packFor(2_500, PER_SECOND, 'late')
  const tries = vendor.callsOf('POST /pickups').length - before
  const triesMax = 2 + Math.ceil((Date.now() - openSince) / 1_000)
  expect(tries, 'one try a second, whatever waits').toBeLessThanOrEqual(triesMax)
  expect((await shop.connection()).status).toBe('degraded')
  vendor.outage(null)
  await fetchedOnce(depot, [...early, ...late])
  await allDone(shop)
  expect((await shop.connection()).status).toBe('active')
  expect(await shop.list('/v1/dead-letters')).toEqual([])
  const works = await shop.list<{ key: string; attempts: number }>('/v1/work?state=done&consumer=book_pickup')
  expect(works).toHaveLength(early.length + late.length)
  const usedUp = works.filter(({ key, attempts }) => key.startsWith('DEPOT:PICKUP:late') && attempts > 1)
  expect(usedUp.length, 'only the tries').toBeLessThanOrEqual(tries + 1)
  expect(await shop.told('integration.failed')).not.toEqual([])

  const until = new Date(Date.now() + 6_000).toISOString()
  const switched = { is: 'open', reason: 'the depot moves house', until }
  await shop.node.post('/v1/integrations/connections/depot/circuit', switched)
  const callsBefore = vendor.callsOf('POST /pickups').length
  const held = await shop.packFor(1_000, 50, 'held')
  if (Date.now() < Date.parse(until)) expect(vendor.callsOf('POST /pickups')).toHaveLength(callsBefore)
  await fetchedOnce(depot, held)
  const last = vendor.callsOf('POST /pickups').slice(callsBefore)
  expect(last.filter(({ at }) => at < Date.parse(until))).toEqual([])
})

const OAUTH = (grant: string) => ({
  credential: `auth: oauth2\noauth2: { grant: ${grant}, clientId: shop }`,
})

test('[CD4] [CD9] edge case: tokens expire every few seconds, and hundreds of calls need the next one', async () => {
  await using workspace = makeWorkspace()
  const accessTtlMs = 5_000
  const oauth = { clientId: 'shop', clientSecret: 'client-planted-secret', accessTtlMs }
  await using depot = await startDepot({ oauth })
  const { vendor } = depot
  const provider = `auth: oauth2\noauth2: { tokenUrl: ${vendor.url}/oauth/token }`
  const flows = await workspace.writeFlows(
    depotFlows(vendor.url, { provider, ...OAUTH('clientCredentials') }),
  )
  const shop = await startShop({ workspace, flows }, 'client-planted-secret')
  const orders = await shop.packFor(8_000, PER_SECOND, 'order')
  await fetchedOnce(depot, orders)
  await allDone(shop)
  expect(vendor.calls.filter(({ status }) => status === 401)).toEqual([])
  const grants = vendor.oauth?.grants.length ?? 0
  expect(grants).toBeGreaterThan(1)
  const seconds = (vendor.calls.at(-1)?.at ?? 0) - (vendor.calls[0]?.at ?? 0)
  expect(grants).toBeLessThanOrEqual(Math.ceil(seconds / (accessTtlMs * 0.8)) + 1)
  expect(await shop.list('/v1/dead-letters')).toEqual([])
})

test('[CD7] [CD15] edge case: an account belongs to a user, who has to authorize us', async () => {
  await using workspace = makeWorkspace()
  const oauth = { clientId: 'shop', clientSecret: 'client-planted-secret', accessTtlMs: 2_000 }
  await using depot = await startDepot({ oauth })
  const { vendor } = depot
  const { url } = vendor
  const provider = `auth: oauth2\noauth2: { tokenUrl: ${url}/oauth/token, authorizeUrl: ${url}/oauth/authorize }`
  const flows = await workspace.writeFlows(depotFlows(url, { provider, ...OAUTH('authorizationCode') }))
  const shop = await startShop({ workspace, flows }, null)
  await shop.setSecret('depot-token', 'client-planted-secret')
  const asked = await shop.node.post<{ url: string }>(
    '/v1/integrations/credentials/depot-token/authorize',
    {},
  )
  const to = new URL(asked.url)
  expect(to.searchParams.get('code_challenge_method')).toBe('S256')
  expect(to.searchParams.get('redirect_uri')).toBe(`${shop.node.url}/v1/integrations/oauth/callback`)
  const redirect = await fetch(to, { redirect: 'manual' })
  const back = redirect.headers.get('location') ?? ''
  const strange = new URL(back)
  strange.searchParams.set('state', 'somebody-elses')
  expect((await fetch(strange)).status).toBeGreaterThanOrEqual(400)
  const callback = await fetch(back)
  expect([callback.status, await callback.text()]).toEqual([200, expect.stringContaining('depot-token')])
  expect((await fetch(back)).status, 'a state is good once').toBeGreaterThanOrEqual(400)

  const { ok } = await shop.node.post<{ ok: boolean }>('/v1/integrations/connections/depot/test', {})
  expect(ok).toBe(true)
  const orders = await shop.packFor(4_000, 20, 'order')
  await fetchedOnce(depot, orders)
  await allDone(shop)
  const grants = vendor.oauth?.grants.map(({ grant }) => grant) ?? []
  expect(grants[0]).toBe('authorization_code')
  expect(grants.slice(1).every((grant) => grant === 'refresh_token')).toBe(true)
  expect(grants.length).toBeGreaterThan(1)
  expect(depot.refused()).toBe(0)
})

/** The subjects of all events of a timeline, each once, in alphabetical order. */
async function storyOf(
  list: <Item>(path: string) => Promise<readonly Item[]>,
  correlationId: string,
): Promise<readonly string[]> {
  const events = await list<ShownEvent>(`/v1/events?system=true&correlationId=${correlationId}`)
  return [...new Set(events.map(({ subject }) => subject))].sort()
}
