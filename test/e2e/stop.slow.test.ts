// SIGTERM: jobs in progress are finished, the process exits with 0, and what could not be finished in time is recovered
// at the next start.

import { DatabaseSync } from '@photostructure/sqlite'
import { beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, settled, takeAccount } from '../support/account.ts'
import { makeDelivery, runLoad } from '../support/load.ts'
import { buildDist, eventually, startNode } from '../support/node-process.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

function count(database: string, sql: string): number {
  const db = new DatabaseSync(database, { readOnly: true })
  try {
    return (db.prepare(sql).get() as { n: number }).n
  } finally {
    db.close()
  }
}

/** As codes.ts numbers it: leased. */
const LEASED = 'SELECT count(*) AS n FROM work WHERE state = 1'

test('SIGTERM under load finishes calls in progress: none has an unknown outcome', async () => {
  const events = 500
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  const stops = [{ afterAcknowledged: 250, signal: 'SIGTERM' as const }]
  const load = await runLoad({
    events,
    stops,
    start: () => startNode({ workspace, flows }),
    async onStopped(node) {
      const { code, signal, stdout } = await node.exited
      expect({ code, signal }).toEqual({ code: 0, signal: null })
      expect(stdout).toContain('stopping …')
      expect(stdout).not.toContain('still running')
      expect(count(workspace.database, LEASED)).toBe(0)
    },
  })
  await settled(load.node)
  const account = await takeAccount(load.node, vendor, load.acknowledged)
  report(formatAccount('SQLite, SIGTERM after 250 acknowledged', load, account))
  expect(account).toMatchObject({ missing: [], stored: events, deliveries: events })
  for (const exact of Object.values(account.byConsumer)) {
    expect(exact).toMatchObject({ done: events, effects: events, lost: 0, repeated: 0, callsAgain: 0 })
  }
})

test('a call that outlasts MILLRACE_SHUTDOWN is left, reported, and recovered at the next start', async () => {
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  const env = { MILLRACE_SHUTDOWN: '200ms' }
  const first = await startNode({ workspace, flows, env })
  vendor.hold()
  const { id, body, headers } = makeDelivery()
  const answer = await fetch(`${first.url}/in/default/github`, { method: 'POST', body, headers })
  const { eventId } = (await answer.json()) as { eventId: string }
  await eventually('three answers are owed', () => vendor.held() === 3)
  first.kill('SIGTERM')
  const exit = await first.exited
  expect(exit).toMatchObject({ code: 0, signal: null, stderr: '' })
  expect(exit.stdout).toContain('3 jobs were still running; they continue at the next start')
  vendor.release()
  const second = await startNode({ workspace, flows, env })
  await settled(second)
  const account = await takeAccount(second, vendor, new Map([[id, eventId]]))
  expect(account).toMatchObject({ missing: [], stored: 1 })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain])
    expect(exact).toMatchObject({ done: 1, effects: 1, repeated: 0 })
  // The vendor remembers the key, so it was called again; the probe found the effect; the third cannot be probed.
  expect(keyed.callsAgain).toBe(1)
  expect(probed.callsAgain).toBe(0)
  expect(plain).toMatchObject({ parked: 1, effects: 1, callsAgain: 0 })
})
