// kill -9 under load, on the real process and the real file: everything acknowledged is stored, and each effect
// happened once. The vendor's own log decides.

import { randomInt } from 'node:crypto'
import { DatabaseSync } from '@photostructure/sqlite'
import { beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, resolveParked, settled, takeAccount } from '../support/account.ts'
import { runLoad, sendAgain } from '../support/load.ts'
import { buildDist, startNode } from '../support/node-process.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const EVENTS = 1_200

test('three times kill -9: nothing acknowledged is lost, no effect happens twice', async () => {
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  const stops = [150, 510, 870].map((from) => ({
    afterAcknowledged: from + randomInt(240),
    signal: 'SIGKILL' as const,
  }))
  const load = await runLoad({ events: EVENTS, stops, start: () => startNode({ workspace, flows }) })
  const { node, acknowledged } = load
  await settled(node)
  const account = await takeAccount(node, vendor, acknowledged)
  const killed = stops.map(({ afterAcknowledged }) => afterAcknowledged).join(', ')
  report(formatAccount(`SQLite, kill -9 after ${killed} acknowledged`, load, account))
  expect(acknowledged.size).toBe(EVENTS)
  expect(account).toMatchObject({ missing: [], stored: EVENTS, deliveries: EVENTS })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain]) {
    expect(exact).toMatchObject({
      done: EVENTS,
      parked: 0,
      otherwise: 0,
      effects: EVENTS,
      lost: 0,
      repeated: 0,
    })
  }
  expect(plain).toMatchObject({ otherwise: 0, lost: 0, repeated: 0 })
  expect(plain.done + plain.parked).toBe(EVENTS)

  expect(await sendAgain(node, acknowledged, 100)).toEqual([])
  const resolved = await resolveParked(node, vendor, acknowledged, account)
  expect(resolved).toEqual({ notOnce: [], parked: [] })

  node.kill('SIGKILL')
  await node.exited
  const db = new DatabaseSync(workspace.database)
  expect(db.prepare('PRAGMA integrity_check').all()).toMatchObject([{ integrity_check: 'ok' }])
  db.close()
})
