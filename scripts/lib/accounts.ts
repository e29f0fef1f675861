// Connections of every kind for pictures of the console: healthy ones, one whose other side is unavailable, one that
// never worked, and a credential that waits for its next value.

import { eventually, type NodeProcess } from '../../test/support/node-process.ts'
import { makeVendor, type VendorApi } from '../../test/support/vendor-api/index.ts'

const PICKUPS = 12

export interface Accounts {
  /** Of a run that a job made. */
  readonly run: string
}

const depotOf = (url: string) => ({
  name: 'depot',
  title: 'The depot',
  description: 'Fetches what was sold, and says where it is.',
  category: 'logistics',
  baseUrl: url,
  auth: ['bearer'],
  config: {
    type: 'object',
    required: ['site'],
    properties: { site: { type: 'string', title: 'Site', description: 'As the depot calls it' } },
  },
  probe: { path: '/me' },
  rate: { perMinute: 600, burst: 20 },
  operations: {
    fetch: {
      method: 'POST',
      path: '/sites/{{ config.site }}/pickups',
      description: 'Asks for a pickup',
      body: { order: '{{ input.order }}' },
      input: { type: 'object', required: ['order'], properties: { order: { type: 'string' } } },
      idempotency: 'native',
      keyTtl: '24h',
      scopes: ['pickups:write'],
    },
    find: {
      method: 'GET',
      path: '/pickups/{{ input.id }}',
      description: 'Says where a pickup is',
      input: { type: 'object', required: ['id'] },
      idempotency: 'idempotent',
    },
    message: { method: 'POST', path: '/messages', description: 'Writes to the driver', idempotency: 'none' },
  },
})

const ROUTE = `kind: Route
name: pick_up
description: Asks the depot for a pickup of every paid order.
on: [shop.order.packed]
key: "'PICKUP:' + payload.order"
do: { operation: depot.fetch, connection: depot-north, with: { order: "{{ payload.order }}" } }
`

export async function startDepot(): Promise<VendorApi> {
  return makeVendor({
    tokens: ['north-1', 'south-1'],
    keyHeader: 'idempotency-key',
    answers: {
      'GET /me': { status: 200, body: { login: 'mill' } },
      'POST /sites/:site/pickups': { status: 201, body: { id: 'p-4711', when: 'tomorrow' } },
    },
  })
}

export async function fillAccounts(node: NodeProcess, depot: VendorApi): Promise<Accounts> {
  const integrations = '/v1/integrations'
  await node.post(`${integrations}/providers`, depotOf(depot.url))
  for (const [site, token] of [
    ['north', 'north-1'],
    ['south', 'south-1'],
    ['east', 'a-wrong-one'],
  ] as const) {
    const secret = `DEPOT_${site.toUpperCase()}`
    await node.post('/v1/secrets', { name: secret, value: token })
    await node.post(`${integrations}/credentials`, {
      name: `depot-${site}`,
      provider: 'depot',
      auth: 'bearer',
      secret: { ref: secret },
      rotation: { every: '90d' },
    })
    await node.post(`${integrations}/connections`, {
      name: `depot-${site}`,
      description: `The depot in the ${site}`,
      provider: 'depot',
      credential: `depot-${site}`,
      config: { site },
      probe: { every: '5s' },
    })
    await node.post(`${integrations}/connections/depot-${site}/test`, {})
  }
  await node.post(`${integrations}/connections/depot-south/circuit`, {
    is: 'open',
    reason: 'They move to another building today',
    until: new Date(Date.now() + 5_400_000).toISOString(),
  })
  await node.post('/v1/definitions/apply', { files: [{ path: 'pick-up.yaml', text: ROUTE }] })
  for (let number = 1; number <= PICKUPS; number += 1) await publish(node, number)
  const runs = () =>
    node.get<{ items: { id: string; state: string }[] }>(`${integrations}/runs?purpose=work&state=completed`)
  await eventually('all is fetched', async () => (await runs()).items.length === PICKUPS)
  await node.post(`${integrations}/credentials/rotate`, {
    credentialId: 'depot-south',
    reason: 'Somebody left the team',
  })
  const health = () => node.get<{ items: unknown[] }>(`${integrations}/connections/depot-north/health`)
  await eventually('somebody looked', async () => (await health()).items.length >= 4)
  return { run: (await runs()).items[0]?.id ?? '' }
}

async function publish(node: NodeProcess, number: number): Promise<void> {
  const response = await fetch(`${node.url}/v1/events`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${node.adminKey}`,
      'content-type': 'application/cloudevents+json',
    },
    body: JSON.stringify({
      specversion: '1.0',
      id: `packed-${number}`,
      source: 'warehouse',
      type: 'shop.order.packed',
      data: { order: `o-${4700 + number}` },
    }),
  })
  if (!response.ok) throw new Error(`publishing was answered with ${response.status}`)
}
