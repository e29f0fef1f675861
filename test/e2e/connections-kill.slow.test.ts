// kill -9 in the middle of a rotation, at the two critical moments: when the vendor has created the secret and the
// response is lost, and when it is in the vault and not verified yet. Whichever node continues, the result is the same:
// one secret created, one version promoted, and every call made once.

import { beforeAll, expect, test } from 'vitest'
import {
  allDone,
  depotFlows,
  FIRST_TOKEN,
  fetchedOnce,
  shopOf,
  startDepot,
  startShop,
} from '../support/depot.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import type { VendorApi } from '../support/vendor-api/index.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

test('[CD13] [CD14] edge case: the node dies in the middle of a rotation, twice', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  const { vendor, made } = depot
  const flows = await workspace.writeFlows(depotFlows(vendor.url, { makesTokens: true }))
  const options = { workspace, flows, env: { MILLRACE_LEASE: '500ms' } }
  const first = await startShop(options, FIRST_TOKEN)
  const before = await first.packFor(500, 100, 'before')
  await fetchedOnce(depot, before)

  vendor.hold()
  await first.node.post('/v1/integrations/credentials/rotate', { credentialId: 'depot-token' })
  await heldAt(vendor, 'POST /tokens', 1)
  await first.pack('during-1')
  await kill(first.node)
  expect(made.size, 'the vendor made it, and nobody knows').toBe(1)

  // The next node asks again with the same key, and gets the same secret; it is killed while that is verified.
  vendor.release()
  const token = [...made.values()][0] ?? ''
  const verifying = () => vendor.calls.filter((call) => call.token === token && call.path === '/me').length
  vendor.slow(0)
  const holdAtProbe = () => vendor.hold()
  vendor.answer('GET /me', (call) => {
    if (call.token === token) holdAtProbe()
    return { status: 200, body: {} }
  })
  const second = shopOf(await startNode(options))
  await eventually('it is being verified', () => verifying() >= 1)
  await second.pack('during-2')
  await kill(second.node)

  vendor.answer('GET /me', { status: 200, body: {} })
  vendor.release()
  const third = shopOf(await startNode(options))
  await eventually('the new one is in use', async () => {
    const { status, version, rotation } = await third.credential()
    return status === 'active' && version === 2 && rotation.underWay === null
  })
  const after = await third.packFor(500, 100, 'after')
  await fetchedOnce(depot, [...before, 'during-1', 'during-2', ...after])
  await allDone(third)

  expect(made.size).toBe(1)
  expect(vendor.callsOf('POST /tokens').filter(({ isEffect }) => isEffect)).toHaveLength(1)
  const keys = new Set(vendor.callsOf('POST /tokens').map(({ headers }) => headers['idempotency-key']))
  expect(keys.size, 'whoever asked again had the same key').toBe(1)
  const { versions } = await third.credential()
  expect(versions.map(({ version, state }) => `${version} ${state}`)).toEqual(['2 active', '1 former'])
  expect(await third.told('integration.credential.rotated')).toHaveLength(1)
  expect(await third.list('/v1/dead-letters')).toEqual([])
  expect(vendor.calls.filter(({ status }) => status === 401)).toEqual([])
  expect(vendor.callsOf('POST /pickups').at(-1)?.token).toBe(token)
})

/** Its response is held back. */
function heldAt(vendor: VendorApi, route: string, calls: number): Promise<void> {
  return eventually(`${route} is asked`, () => vendor.callsOf(route).length >= calls && vendor.held() > 0)
}

async function kill(node: NodeProcess): Promise<void> {
  node.kill('SIGKILL')
  await node.exited
}
