// From SQLite to PostgreSQL, as operators do it: a node under load is killed, its file is moved, and the next node
// continues.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatAccount, makeFlows, report, resolveParked, settled, takeAccount } from '../support/account.ts'
import { runLoad, sendAgain } from '../support/load.ts'
import { buildDist, project, runToExit, startNode } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres({ isDurable: true })
})
afterAll(() => postgres?.close())

const EVENTS = 600

test('[MV14] [MV8] [MV10] a node continues with what was moved: nothing lost, nothing twice', async () => {
  const database = await postgres.makeDatabase({ empty: true })
  const { username, password, host, pathname } = new URL(database.url)
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  const main = join(project, 'dist', 'bundle', 'main.js')
  const move = (...more: readonly string[]) =>
    runToExit({
      workspace,
      args: [main, 'move', '--to', `postgres://${username}@${host}${pathname}`, ...more],
      env: { PGPASSWORD: password },
    })
  let store = workspace.database
  const start = () => startNode({ workspace, flows, env: { MILLRACE_STORE: store, MILLRACE_LOG: 'stdout' } })
  const load = await runLoad({
    events: EVENTS,
    stops: [{ afterAcknowledged: 300, signal: 'SIGKILL' }],
    start,
    async onStopped() {
      const dry = await move('--dry-run', '--json')
      expect(dry).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(dry.stdout)).toMatchObject({ isDryRun: true, isMoved: false })
      const moved = await move()
      expect(moved).toMatchObject({ code: 0, stderr: '' })
      expect(moved.stdout).toMatch(/^events +\d+ +[0-9a-f]{16} +✓$/m)
      expect(moved.stdout).toMatch(/Next: set MILLRACE_STORE/)
      expect(moved.stdout).not.toContain(password)
      const refused = await runToExit({ workspace, flows, env: { MILLRACE_STORE: workspace.database } })
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/was moved to postgres:/) })
      report(moved.stdout)
      store = database.url
    },
  })
  const { node, acknowledged } = load
  await settled(node)
  const account = await takeAccount(node, vendor, acknowledged)
  report(formatAccount('SQLite, kill -9 after 300, moved, PostgreSQL', load, account))
  expect(node.stdout()).toMatch(/"name":"node\.joined".*"incarnation":2/)
  expect(acknowledged.size).toBe(EVENTS)
  expect(account).toMatchObject({ missing: [], stored: EVENTS, deliveries: EVENTS })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain]) {
    expect(exact).toMatchObject({ done: EVENTS, effects: EVENTS, lost: 0, repeated: 0 })
  }
  expect(plain).toMatchObject({ otherwise: 0, lost: 0, repeated: 0 })
  // Including those that the file accepted.
  expect(await sendAgain(node, acknowledged, EVENTS)).toEqual([])
  const resolved = await resolveParked(node, vendor, acknowledged, account)
  expect(resolved).toEqual({ notOnce: [], parked: [] })
  node.kill('SIGTERM')
  expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
})
