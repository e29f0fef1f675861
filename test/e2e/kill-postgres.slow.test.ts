// The same on PostgreSQL: the node is killed, the next one fences its predecessor and takes its work up.

import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, resolveParked, settled, takeAccount } from '../support/account.ts'
import { runLoad, sendAgain } from '../support/load.ts'
import { buildDist, startNode } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres({ isDurable: true })
})
afterAll(() => postgres?.close())

const EVENTS = 500

test('kill -9 on PostgreSQL: fenced and recovered, nothing lost, nothing twice', async () => {
  const database = await postgres.makeDatabase()
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  const env = { MILLRACE_STORE: database.url, MILLRACE_LOG: 'stdout' }
  const stops = [{ afterAcknowledged: 100 + randomInt(250), signal: 'SIGKILL' as const }]
  const load = await runLoad({ events: EVENTS, stops, start: () => startNode({ workspace, flows, env }) })
  const { node, acknowledged } = load
  await settled(node)
  const account = await takeAccount(node, vendor, acknowledged)
  report(
    formatAccount(`PostgreSQL, kill -9 after ${stops[0]?.afterAcknowledged} acknowledged`, load, account),
  )
  expect(node.stdout()).toMatch(/"name":"node\.joined".*"incarnation":2/)
  expect(node.stdout()).toMatch(/"name":"work\.reclaimed"/)
  expect(acknowledged.size).toBe(EVENTS)
  expect(account).toMatchObject({ missing: [], stored: EVENTS, deliveries: EVENTS })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain]) {
    expect(exact).toMatchObject({ done: EVENTS, effects: EVENTS, lost: 0, repeated: 0 })
  }
  expect(plain).toMatchObject({ otherwise: 0, lost: 0, repeated: 0 })
  expect(await sendAgain(node, acknowledged, 100)).toEqual([])
  const resolved = await resolveParked(node, vendor, acknowledged, account)
  expect(resolved).toEqual({ notOnce: [], parked: [] })
  node.kill('SIGTERM')
  expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
})
