// A process that was suspended for longer than its lease (a sleeping laptop, a paused virtual machine) finds that its
// incarnation is fenced, starts another one and finishes everything, once.

import { DatabaseSync } from '@photostructure/sqlite'
import { beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, resolveParked, settled, takeAccount } from '../support/account.ts'
import { runLoad } from '../support/load.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const EVENTS = 400
const HELD = 20

/** Read from the file itself, which stays open to readers: the process cannot respond. */
async function leaseIsOver(database: string): Promise<void> {
  const db = new DatabaseSync(database, { readOnly: true })
  try {
    await eventually('the lease is over', () => {
      const row = db.prepare('SELECT max(until) AS until FROM incarnation WHERE fenced = 0').get()
      return (row as { until: number }).until < Date.now()
    })
  } finally {
    db.close()
  }
}

test('suspended past its lease, a node joins again and finishes everything once', async () => {
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url, '500ms'))
  const env = { MILLRACE_LEASE: '2s', MILLRACE_LOG: 'stdout' }
  let started: (node: NodeProcess) => void = () => {}
  const running = new Promise<NodeProcess>((resolve) => {
    started = resolve
  })
  const start = async () => {
    const node = await startNode({ workspace, flows, env })
    started(node)
    return node
  }

  const suspend = async () => {
    const node = await running
    await eventually('calls reach the vendor', () => vendor.records('plain').size > EVENTS / 4)
    vendor.hold()
    await eventually('answers are owed', () => vendor.held() >= HELD)
    node.kill('SIGSTOP')
    await leaseIsOver(workspace.database)
    // The responses arrive while the process is suspended.
    vendor.release()
    node.kill('SIGCONT')
    await node.said(/"name":"node\.fenced"[^\n]*\n(?:[^\n]*\n)*?[^\n]*"name":"node\.joined"/)
  }
  const [load] = await Promise.all([runLoad({ events: EVENTS, stops: [], start }), suspend()])
  const { node, acknowledged } = load
  await settled(node)
  const account = await takeAccount(node, vendor, acknowledged)
  report(formatAccount('SQLite, SIGSTOP past the lease, then SIGCONT', load, account))
  expect(account).toMatchObject({ missing: [], stored: EVENTS, deliveries: EVENTS })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain]) {
    expect(exact).toMatchObject({ done: EVENTS, effects: EVENTS, lost: 0, repeated: 0 })
  }
  expect(plain).toMatchObject({ otherwise: 0, lost: 0, repeated: 0 })
  const resolved = await resolveParked(node, vendor, acknowledged, account)
  expect(resolved).toEqual({ notOnce: [], parked: [] })
  // One process all the time: it was not restarted, it joined again.
  expect(node.stdout().match(/"name":"node\.started"/g)).toHaveLength(1)
  node.kill('SIGTERM')
  expect(await node.exited).toMatchObject({ code: 0, signal: null })
})
