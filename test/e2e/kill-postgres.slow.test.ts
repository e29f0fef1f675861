// The same on PostgreSQL, and with NATS: the node is killed, the next one fences its predecessor and takes over its
// jobs.

import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, resolveParked, settled, takeAccount } from '../support/account.ts'
import { runLoad, sendAgain } from '../support/load.ts'
import { buildDist, startNode } from '../support/node-process.ts'
import { makeStores } from '../support/stores.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

const stores = makeStores({ isDurable: true })
beforeAll(buildDist)
afterAll(() => stores.close())

const EVENTS = 300

test.each(['PostgreSQL', 'PostgreSQL and NATS'] as const)(
  'kill -9 on %s: fenced and recovered, nothing lost, nothing twice',
  async (ground) => {
    await using store = await stores.make(ground)
    await using workspace = makeWorkspace()
    await using vendor = await startVendor()
    const flows = await workspace.writeFlows(makeFlows(vendor.url))
    const env = { ...store.env, MILLRACE_LOG: 'stdout' }
    const stops = [{ afterAcknowledged: 60 + randomInt(150), signal: 'SIGKILL' as const }]
    const load = await runLoad({ events: EVENTS, stops, start: () => startNode({ workspace, flows, env }) })
    const { node, acknowledged } = load
    await settled(node)
    const account = await takeAccount(node, vendor, acknowledged)
    report(
      formatAccount(`${ground}, kill -9 after ${stops[0]?.afterAcknowledged} acknowledged`, load, account),
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
    await store.told()
    node.kill('SIGTERM')
    expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
  },
)
