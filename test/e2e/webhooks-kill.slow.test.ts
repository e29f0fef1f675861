// Outbound webhooks under kill -9, on the real process and the real file: every acknowledged event arrives at every
// endpoint, signed, and a repeated delivery has the same id and the same body. The endpoints' own log decides.
//
// 5,000 deliveries by default; MILLRACE_TEST_DELIVERIES=50000 is the whole measure.

import { beforeAll, expect, test } from 'vitest'
import { report } from '../support/account.ts'
import { buildDist } from '../support/node-process.ts'
import {
  formatWebhookAccount,
  GITHUB_SOURCE,
  runKills,
  settledDeliveries,
  takeWebhookAccount,
} from '../support/webhook-account.ts'
import { startWebhookSink } from '../support/webhook-sink.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const SUBSCRIPTIONS = 10
const EVENTS = Math.ceil(Number(process.env.MILLRACE_TEST_DELIVERIES ?? 5_000) / SUBSCRIPTIONS)
const KILLS = 10
/** A node's concurrency, by default. */
const CONCURRENCY = 256
const TIME_MS_MAX = 900_000

test('[DY13] ten times kill -9: every delivery arrives, none is lost, and repeated ones keep their id', {
  timeout: TIME_MS_MAX,
}, async () => {
  await using workspace = makeWorkspace()
  await using sink = await startWebhookSink()
  const flows = await workspace.writeFlows(GITHUB_SOURCE)
  const load = await runKills({
    workspace,
    flows,
    sink,
    events: EVENTS,
    subscriptions: SUBSCRIPTIONS,
    kills: KILLS,
  })
  const states = new Map<string, number>()
  for (const name of load.subscriptions) {
    for (const { state } of await settledDeliveries(load.node, name))
      states.set(state, (states.get(state) ?? 0) + 1)
  }
  const account = takeWebhookAccount(sink, load)
  report(formatWebhookAccount('SQLite', load, account))
  const deliveries = EVENTS * SUBSCRIPTIONS
  expect(sink.faults).toEqual([])
  expect(account).toMatchObject({
    acknowledged: EVENTS,
    deliveries,
    arrived: deliveries,
    lost: 0,
    strange: 0,
    repeatedByOneNode: 0,
  })
  // A kill repeats no more than the deliveries in progress.
  expect(account.repeated).toBeLessThanOrEqual(KILLS * CONCURRENCY)
  expect(Object.fromEntries(states)).toEqual({ delivered: deliveries })
  expect(load.killedAt).toHaveLength(KILLS)
})
