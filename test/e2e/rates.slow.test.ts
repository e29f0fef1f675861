// Two nodes on one PostgreSQL, as users run them, and a route with a rate limit for its vendor: the vendor counts, by
// its own clock.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runClusterLoad } from '../support/cluster.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { makeWorkspace } from '../support/workspace.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres()
})
afterAll(() => postgres?.close())

const EVENTS = 80
const PER_SECOND = 10
const BURST = 5
/** PA20: each node may hold unused permits for one second; PA19 would allow five seconds. */
const IN_HAND = 2 * PER_SECOND
/** From the claim, which takes the permit, to the vendor: generous, for busy machines. Unlimited calls would come all at once. */
const UNDER_WAY_MS_MAX = 3_000
const SHARED = {
  MILLRACE_LOG: 'stdout',
  MILLRACE_ADMIN_KEY: 'the-key-of-both-nodes',
  MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
}

const flows = (url: string) => `
kind: Source
name: github
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github
---
kind: Route
name: slow
on: [github.events.issues.opened]
key: "'slow:' + header.x-github-delivery"
rateLimit: { perMinute: ${PER_SECOND * 60}, burst: ${BURST} }
do:
  http: { url: "${url}", body: { ref: "{{ key }}" }, idempotent: true }
`

/** When each call came, and for what. */
async function startCounter() {
  const calls: { readonly at: number; readonly ref: string }[] = []
  const server = createServer((request, response) => {
    const at = performance.now()
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      calls.push({ at, ref: (JSON.parse(text) as { ref: string }).ref })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('[PA7] [PA19] two nodes together call no more often than the route allows, also when one is killed', async () => {
  await using vendor = await startCounter()
  await using one = makeWorkspace()
  await using two = makeWorkspace()
  const database = await postgres.makeDatabase()
  const folder = await one.writeFlows(flows(vendor.url))
  const start = (workspace: typeof one, name: string): Promise<NodeProcess> =>
    startNode({
      workspace,
      flows: folder,
      env: { ...SHARED, MILLRACE_STORE: database.url, MILLRACE_NODE: name, MILLRACE_LEASE: '2s' },
    })
  const nodes = [await start(one, 'one'), await start(two, 'two')] as const
  const startedAt = performance.now()
  await runClusterLoad(EVENTS, () => nodes, [])
  await eventually('both call', () => vendor.calls.length >= EVENTS / 4)
  nodes[0].kill('SIGKILL')
  const refs = () => new Set(vendor.calls.map(({ ref }) => ref))
  await eventually('every event had its call', () => refs().size === EVENTS)
  vendor.calls.forEach(({ at }, index) => {
    expect(index + 1).toBeLessThanOrEqual(BURST + ((at - startedAt) * PER_SECOND) / 1_000)
  })
  // And between any two calls: unused permits expire, and do not come in a burst later.
  vendor.calls.forEach(({ at: from }, first) => {
    vendor.calls.slice(first).forEach(({ at }, more) => {
      const flown = ((at - from + UNDER_WAY_MS_MAX) * PER_SECOND) / 1_000
      expect(more + 1).toBeLessThanOrEqual(BURST + IN_HAND + flown)
    })
  })
  // The dead node's leased jobs may be called again; nothing else is.
  expect(vendor.calls.length).toBeLessThanOrEqual(EVENTS + 2 * PER_SECOND)
})
