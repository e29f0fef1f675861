// The same on PostgreSQL: the node is killed, the next one fences its predecessor and takes over its deliveries.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { report } from '../support/account.ts'
import { buildDist } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import {
  formatWebhookAccount,
  GITHUB_SOURCE,
  runKills,
  settledDeliveries,
  takeWebhookAccount,
} from '../support/webhook-account.ts'
import { startWebhookSink } from '../support/webhook-sink.ts'
import { makeWorkspace } from '../support/workspace.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres({ isDurable: true })
})
afterAll(() => postgres?.close())

const EVENTS = 200
const SUBSCRIPTIONS = 5
const KILLS = 2

test('[DY13] kill -9 on PostgreSQL: every delivery arrives, none is lost', async () => {
  const database = await postgres.makeDatabase()
  await using workspace = makeWorkspace()
  await using sink = await startWebhookSink()
  const flows = await workspace.writeFlows(GITHUB_SOURCE)
  const env = { MILLRACE_STORE: database.url }
  const counts = { events: EVENTS, subscriptions: SUBSCRIPTIONS, kills: KILLS }
  const load = await runKills({ workspace, flows, env, sink, ...counts })
  const states = new Set<string>()
  let shown = 0
  for (const name of load.subscriptions) {
    const deliveries = await settledDeliveries(load.node, name)
    for (const { state } of deliveries) states.add(state)
    shown += deliveries.length
  }
  const account = takeWebhookAccount(sink, load)
  report(formatWebhookAccount('PostgreSQL', load, account))
  const total = EVENTS * SUBSCRIPTIONS
  expect(sink.faults).toEqual([])
  expect(account).toMatchObject({ deliveries: total, arrived: total, lost: 0, strange: 0 })
  expect(account.repeatedByOneNode).toBe(0)
  expect([shown, [...states]]).toEqual([total, ['delivered']])
  load.node.kill('SIGTERM')
  expect(await load.node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
})
