// What kill -9 leaves of waiting deliveries and of a recovery in progress: the next start has all of it, and doubles
// nothing.

import { beforeAll, expect, test } from 'vitest'
import { makeDelivery } from '../support/load.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { GITHUB_SOURCE, listDeliveries, settledDeliveries, subscribe } from '../support/webhook-account.ts'
import { startWebhookSink } from '../support/webhook-sink.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

beforeAll(buildDist)

const SUBSCRIPTION = '/v1/webhooks/subscriptions/crm'

/** Returns the ids of the events. */
async function send(node: NodeProcess, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  const sendOne = async () => {
    const { body, headers } = makeDelivery()
    const response = await fetch(`${node.url}/in/default/github`, { method: 'POST', body, headers })
    expect(response.status).toBe(202)
    ids.push(((await response.json()) as { eventId: string }).eventId)
  }
  for (let sent = 0; sent < count; sent += 20)
    await Promise.all(Array.from({ length: Math.min(20, count - sent) }, sendOne))
  return ids
}

async function makeStarts(workspace: Workspace) {
  const flows = await workspace.writeFlows(GITHUB_SOURCE)
  return () => startNode({ workspace, flows })
}

async function kill(node: NodeProcess): Promise<void> {
  node.kill('SIGKILL')
  await node.exited
}

test('[DY14] deliveries behind a paused subscription survive kill -9, and arrive once when it is resumed', async () => {
  await using workspace = makeWorkspace()
  await using sink = await startWebhookSink()
  const start = await makeStarts(workspace)
  const first = await start()
  await subscribe(first, sink, 'crm')
  await first.post(`${SUBSCRIPTION}/pause`, { reason: 'they move' })
  const ids = await send(first, 60)
  await kill(first)

  const second = await start()
  expect(await second.get(SUBSCRIPTION)).toMatchObject({ status: 'paused', reason: 'they move' })
  const waiting = await listDeliveries(second, '&subscription=crm')
  expect(waiting.map(({ eventId }) => eventId).sort()).toEqual([...ids].sort())
  expect(new Set(waiting.map(({ state }) => state))).toEqual(new Set(['pending']))
  expect(sink.calls()).toBe(0)

  await second.post(`${SUBSCRIPTION}/enable`, { reason: 'they are there' })
  await sink.arrived(ids.length)
  const delivered = await settledDeliveries(second, 'crm')
  expect(new Set(delivered.map(({ state }) => state))).toEqual(new Set(['delivered']))
  expect([sink.calls(), sink.faults]).toEqual([ids.length, []])
})

interface Replay {
  readonly state: string
}
const EVENTS = 600

test('[RV4] a recovery that kill -9 interrupts continues at the next start: all arrive, and none is added twice', async () => {
  await using workspace = makeWorkspace()
  await using sink = await startWebhookSink()
  const start = await makeStarts(workspace)
  let node = await start()
  const ids = await send(node, EVENTS)
  await subscribe(node, sink, 'crm')
  const { replayId } = await node.post<{ replayId: string }>(`${SUBSCRIPTION}/recover`, {
    since: '2020-01-01T00:00:00Z',
    perSecond: 100,
    reason: 'a new endpoint',
  })
  const look = () => node.get<Replay>(`/v1/replays/${replayId}`)
  for (const arrived of [100, 300]) {
    await sink.arrived(arrived)
    await kill(node)
    node = await start()
    expect(await look()).toMatchObject({ state: 'running' })
  }
  await sink.arrived(EVENTS)
  await eventually('the recovery is over', async () => (await look()).state === 'done')
  const deliveries = await settledDeliveries(node, 'crm')
  expect(deliveries.map(({ eventId }) => eventId).sort()).toEqual([...ids].sort())
  expect(new Set(deliveries.map(({ state }) => state))).toEqual(new Set(['delivered']))
  expect(sink.faults).toEqual([])
  const byOneNode = [...sink.arrivals.values()].filter(({ byNode }) =>
    [...byNode.values()].some((n) => n > 1),
  )
  expect(byOneNode).toEqual([])
  expect(sink.arrivals.size).toBe(EVENTS)
})
