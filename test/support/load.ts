// Senders that do not give up: signed GitHub events over kept-alive connections, at full speed, each sent again under
// the same delivery id until it is acknowledged. A node is stopped and started again meanwhile.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Pool } from 'undici'
import { signRequest } from '../../src/core/ingest/source/index.ts'
import { type NodeProcess, SECRET } from './node-process.ts'

export interface Stop {
  /** This many events acknowledged in all. */
  readonly afterAcknowledged: number
  /** What else it waits for then. */
  readonly when?: () => Promise<void>
  readonly signal: NodeJS.Signals
}

export interface LoadOptions {
  readonly events: number
  readonly stops: readonly Stop[]
  /** Called for the first start and after each stop. */
  start(): Promise<NodeProcess>
  /** Awaited before each event, so that senders do not run ahead of what follows from them. */
  mayGoOn?(started: number): Promise<void>
  /** A node has ended by its stop. */
  onStopped?(node: NodeProcess, stop: Stop): Promise<void>
}

export interface Load {
  /** The node that runs at the end. */
  readonly node: NodeProcess
  /** Delivery id to event id, for everything that got a 202. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Acknowledged at a later attempt with `duplicate: true`: the first one was stored, its response lost. */
  readonly duplicates: number
  /** Attempts without an acknowledgement. */
  readonly failedTries: number
  readonly eventsPerSecond: number
}

const CONNECTIONS = 32

const BODY = JSON.stringify({
  action: 'opened',
  issue: { number: 1, title: 'The wheel squeaks', user: { login: 'mona' } },
  repository: { id: 42, full_name: 'acme/mill' },
})

/** A delivery as GitHub would send it. */
export function makeDelivery<Body extends string | Buffer = string>({
  id = randomUUID() as string,
  body = BODY as Body,
}: {
  readonly id?: string
  readonly body?: Body
} = {}) {
  const signed = signRequest({ scheme: 'github', secret: [] }, { body: Buffer.from(body), secret: SECRET })
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-delivery': id,
    ...signed,
  }
  return { id, body, headers }
}

export async function runLoad(options: LoadOptions): Promise<Load> {
  const waiting = Array.from({ length: options.events }, () => makeDelivery())
  const acknowledged = new Map<string, string>()
  let duplicates = 0
  let failedTries = 0
  let isStopping = false
  let node = await options.start()
  let pool = new Pool(node.url, { connections: CONNECTIONS })
  /** Settles when there is another node to send to. */
  let another = makeSignal()
  const counted = new EventTarget()

  const sendOne = async (delivery: ReturnType<typeof makeDelivery>): Promise<void> => {
    for (;;) {
      const target = pool
      const changed = another.fired
      const answer = await target
        .request({ method: 'POST', path: '/in/default/github', ...delivery })
        .then(async ({ statusCode, body }) => ({ statusCode, text: await body.text() }))
        .catch((error: Error) => ({ statusCode: 0, text: error.message }))
      if (answer.statusCode === 202) {
        const { eventId, duplicate } = JSON.parse(answer.text) as { eventId: string; duplicate: boolean }
        acknowledged.set(delivery.id, eventId)
        if (duplicate) duplicates += 1
        counted.dispatchEvent(new Event('acknowledged'))
        return
      }
      failedTries += 1
      if (answer.statusCode !== 0 && answer.statusCode !== 503) {
        throw new Error(`a sender was answered ${answer.statusCode}: ${answer.text}`)
      }
      if (target === pool) {
        if (!isStopping) throw new Error(`a sender failed although nothing was stopped: ${answer.text}`)
        await changed
      }
    }
  }

  const send = async (): Promise<void> => {
    for (let delivery = waiting.pop(); delivery !== undefined; delivery = waiting.pop()) {
      await options.mayGoOn?.(options.events - waiting.length)
      await sendOne(delivery)
    }
  }

  const stopAndStart = async (): Promise<void> => {
    for (const stop of options.stops) {
      while (acknowledged.size < stop.afterAcknowledged) await once(counted, 'acknowledged')
      await stop.when?.()
      isStopping = true
      node.kill(stop.signal)
      await node.exited
      await options.onStopped?.(node, stop)
      const old = pool
      node = await options.start()
      pool = new Pool(node.url, { connections: CONNECTIONS })
      isStopping = false
      const before = another
      another = makeSignal()
      before.fire()
      await old.destroy()
    }
  }

  const startedAt = performance.now()
  await Promise.all([stopAndStart(), ...Array.from({ length: CONNECTIONS }, send)])
  const seconds = (performance.now() - startedAt) / 1_000
  await pool.close()
  return { node, acknowledged, duplicates, failedTries, eventsPerSecond: options.events / seconds }
}

/** Sends acknowledged events once more, as GitHub does on request; returns the deliveries that were not recognised. */
export async function sendAgain(
  node: NodeProcess,
  acknowledged: ReadonlyMap<string, string>,
  count: number,
): Promise<readonly string[]> {
  const strange: string[] = []
  for (const [id, eventId] of [...acknowledged].slice(0, count)) {
    const { body, headers } = makeDelivery({ id })
    const response = await fetch(`${node.url}/in/default/github`, { method: 'POST', body, headers })
    const answer = (await response.json()) as { eventId: string; duplicate: boolean }
    if (answer.eventId !== eventId || !answer.duplicate) strange.push(id)
  }
  return strange
}

export function makeSignal(): { readonly fired: Promise<void>; fire(): void } {
  let fire = () => {}
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fired, fire: () => fire() }
}
