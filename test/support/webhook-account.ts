// Outbound webhooks under kill -9: senders, a node that is killed by how much has arrived, endpoints that verify and
// count, and the account.

import { randomInt } from 'node:crypto'
import { type Load, makeSignal, runLoad } from './load.ts'
import { eventually, type NodeOptions, type NodeProcess, startNode } from './node-process.ts'
import { keyOf, type WebhookSink } from './webhook-sink.ts'

export const GITHUB_SOURCE = `
kind: Source
name: github
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github
`
const SUBJECT = 'github.events.issues.opened'

export interface KillOptions extends NodeOptions {
  readonly sink: WebhookSink
  readonly events: number
  readonly subscriptions: number
  readonly kills: number
}

export interface WebhookLoad extends Load {
  readonly subscriptions: readonly string[]
  /** How many had arrived at each kill. */
  readonly killedAt: readonly number[]
  readonly seconds: number
}

/** How many deliveries may be on their way at a time: a queue to be recovered, and not all of them. */
const AHEAD = 400

/**
 * The kills of a round may fall anywhere, also into the recovery from one another; the next round begins when everything is
 * delivered. So no delivery is interrupted more than twice: a delivery that is interrupted again and again while it runs in isolation
 * becomes a dead letter, as it should, and a chance of that in a test would be a test that fails by chance.
 */
const KILLS_PER_ROUND = 2

/**
 * Creates a subscription; the sender names itself and its port in a header, which differs from one start to the next.
 */
export async function subscribe(node: NodeProcess, sink: WebhookSink, name: string, more: object = {}) {
  const { secret } = await node.post<{ readonly secret: string }>('/v1/webhooks/subscriptions', {
    name,
    url: sink.urlOf(name),
    on: [SUBJECT],
    headers: { 'x-node': '{{ vars.self }}' },
    ...more,
  })
  sink.know(name, secret)
}

export async function runKills(options: KillOptions): Promise<WebhookLoad> {
  const { sink, events } = options
  const subscriptions = Array.from({ length: options.subscriptions }, (_, index) => `endpoint-${index + 1}`)
  const total = events * subscriptions.length
  const rounds = Math.ceil(options.kills / KILLS_PER_ROUND)
  const roundEvents = Math.ceil(events / rounds)
  const opened = Array.from({ length: rounds }, makeSignal)
  opened[0]?.fire()
  let node: NodeProcess
  const killedAt: number[] = []
  const stops = Array.from({ length: options.kills }, (_, index) => {
    const round = Math.floor(index / KILLS_PER_ROUND)
    const before = round * roundEvents * subscriptions.length
    const ownTotal = Math.min(total - before, roundEvents * subscriptions.length)
    return {
      afterAcknowledged: 0,
      when: async () => {
        if (round > 0 && index % KILLS_PER_ROUND === 0) {
          await sink.arrived(before)
          await noneOpen(node)
          opened[round]?.fire()
        }
        await sink.arrived(before + 1 + randomInt(ownTotal))
        killedAt.push(sink.arrivals.size)
      },
      signal: 'SIGKILL' as const,
    }
  })
  const urls = new Set<string>()
  const start = async (): Promise<NodeProcess> => {
    node = await startNode(options)
    const isFirst = urls.size === 0
    if (urls.has(node.url)) {
      // The same port again: arrivals could not be told apart.
      node.kill('SIGKILL')
      await node.exited
      return start()
    }
    urls.add(node.url)
    if (isFirst) for (const name of subscriptions) await subscribe(node, sink, name)
    return node
  }
  const startedAt = performance.now()
  const load = await runLoad({
    events,
    stops,
    start,
    mayGoOn: async (started) => {
      await opened[Math.floor((started - 1) / roundEvents)]?.fired
      await sink.arrived(Math.max(0, started * subscriptions.length - AHEAD))
    },
  })
  await sink.arrived(total)
  return { ...load, subscriptions, killedAt, seconds: (performance.now() - startedAt) / 1_000 }
}

export interface WebhookAccount {
  readonly acknowledged: number
  /** Acknowledged events times subscriptions. */
  readonly deliveries: number
  /** Different ones. */
  readonly arrived: number
  /** Of acknowledged events, and never arrived. */
  readonly lost: number
  /** Arrived although their event was never acknowledged. */
  readonly strange: number
  /** Requests beyond the first of each. */
  readonly repeated: number
  readonly timesMax: number
  /**
   * Those that one node sent more than once: only a delivery cut between a response and its commit may be sent again.
   */
  readonly repeatedByOneNode: number
}

export function takeWebhookAccount(sink: WebhookSink, load: WebhookLoad): WebhookAccount {
  const { acknowledged, subscriptions } = load
  const expected = new Set(
    subscriptions.flatMap((name) => [...acknowledged.values()].map((id) => keyOf(name, id))),
  )
  const all = [...sink.arrivals.values()]
  return {
    acknowledged: acknowledged.size,
    deliveries: expected.size,
    arrived: all.length,
    lost: [...expected].filter((key) => !sink.arrivals.has(key)).length,
    strange: [...sink.arrivals.keys()].filter((key) => !expected.has(key)).length,
    repeated: all.reduce((sum, { times }) => sum + times - 1, 0),
    timesMax: all.reduce((most, { times }) => Math.max(most, times), 0),
    repeatedByOneNode: all.filter(({ byNode }) => [...byNode.values()].some((times) => times > 1)).length,
  }
}

const COLUMNS = ['acknowledged', 'deliveries', 'arrived', 'lost', 'repeated', 'timesMax'] as const

export function formatWebhookAccount(title: string, load: WebhookLoad, account: WebhookAccount): string {
  const line = (cells: readonly (string | number)[]) =>
    cells.map((cell) => String(cell).padStart(12)).join(' ')
  return [
    `${title}: kill -9 when ${load.killedAt.join(', ')} had arrived; ${Math.round(load.seconds)} s with the stops in it`,
    line(COLUMNS),
    line(COLUMNS.map((column) => account[column])),
    `${load.failedTries} tries of the senders failed, ${load.duplicates} were answered as duplicates`,
  ].join('\n')
}

export interface ShownDelivery {
  readonly id: string
  readonly subscription: string
  readonly eventId: string
  readonly state: string
  readonly attempts: number
  readonly httpStatus?: number
  readonly class?: string
  readonly error?: string
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export async function listDeliveries(node: NodeProcess, filter = ''): Promise<readonly ShownDelivery[]> {
  const all: ShownDelivery[] = []
  let cursor = ''
  for (;;) {
    const path = `/v1/webhooks/deliveries?limit=500${filter}${cursor}`
    const page = await node.get<Page<ShownDelivery>>(path)
    all.push(...page.items)
    if (page.nextCursor === null) return all
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

const OPEN = ['pending', 'delivering', 'retrying']

async function noneOpen(node: NodeProcess): Promise<void> {
  await eventually('no delivery is open', async () => {
    for (const state of OPEN) {
      const { items } = await node.get<Page<ShownDelivery>>(`/v1/webhooks/deliveries?limit=1&state=${state}`)
      if (items.length > 0) return false
    }
    return true
  })
}

/** All deliveries, once none is open. */
export async function settledDeliveries(
  node: NodeProcess,
  subscription: string,
): Promise<readonly ShownDelivery[]> {
  let all: readonly ShownDelivery[] = []
  await eventually(`no delivery of ${subscription} is open`, async () => {
    all = await listDeliveries(node, `&subscription=${subscription}`)
    return all.every(({ state }) => !OPEN.includes(state))
  })
  return all
}
