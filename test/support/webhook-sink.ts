// Endpoints on the loopback, with their own log: every delivery is verified by the Standard Webhooks library, with the
// secret of its subscription, and counted by its id. The path names the subscription.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export interface Arrival {
  readonly subscription: string
  /** `webhook-id` */
  readonly id: string
  /** As it came first. */
  readonly body: string
  times: number
  /** By the sending node, which names itself in `x-node`. */
  readonly byNode: Map<string, number>
}

export interface WebhookSink extends AsyncDisposable {
  urlOf(subscription: string): string
  /** Without it any arrival there is a fault. */
  know(subscription: string, secret: string): void
  /** Different deliveries, by subscription and id. */
  readonly arrivals: ReadonlyMap<string, Arrival>
  /** Requests in all. */
  calls(): number
  /** Deliveries that were not signed correctly, or came with another body under the same id. */
  readonly faults: readonly string[]
  /** Settles when this many different deliveries have arrived. */
  arrived(count: number): Promise<void>
}

/** A moment between receiving and responding, as everywhere: where a crash hits. */
const ANSWER_MS_MAX = 8
const FAULTS_MAX = 20

export const keyOf = (subscription: string, id: string) => `${subscription}/${id}`

export async function startWebhookSink(): Promise<WebhookSink> {
  const verifiers = new Map<string, Webhook>()
  const arrivals = new Map<string, Arrival>()
  const faults: string[] = []
  let waiting: { readonly count: number; readonly done: () => void }[] = []
  let calls = 0

  const note = (fault: string) => {
    if (faults.length < FAULTS_MAX) faults.push(fault)
  }

  const take = (subscription: string, headers: IncomingHttpHeaders, body: string): void => {
    calls += 1
    const id = String(headers['webhook-id'])
    const verifier = verifiers.get(subscription)
    if (verifier === undefined) {
      note(`${subscription}: nobody knows its secret`)
      return
    }
    try {
      const { id: inBody } = verifier.verify(body, headers as Record<string, string>) as { id?: unknown }
      if (inBody !== id) note(`${subscription}: ${id} came with the body of ${String(inBody)}`)
    } catch (error) {
      note(`${subscription}: ${id}: ${String(error)}`)
      return
    }
    const key = keyOf(subscription, id)
    const arrival = arrivals.get(key) ?? { subscription, id, body, times: 0, byNode: new Map() }
    arrivals.set(key, arrival)
    if (arrival.body !== body) note(`${subscription}: ${id} came again with another body`)
    arrival.times += 1
    const node = String(headers['x-node'])
    arrival.byNode.set(node, (arrival.byNode.get(node) ?? 0) + 1)
    if (arrival.times > 1 || waiting.length === 0) return
    const due = waiting.filter(({ count }) => count <= arrivals.size)
    if (due.length === 0) return
    waiting = waiting.filter(({ count }) => count > arrivals.size)
    for (const { done } of due) done()
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    // A sender that dies while writing has sent nothing.
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      take(request.url?.slice(1) ?? '', request.headers, Buffer.concat(chunks).toString('utf8'))
      setTimeout(() => response.writeHead(204).end(), Math.random() * ANSWER_MS_MAX)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    urlOf: (subscription) => `${url}/${subscription}`,
    know: (subscription, secret) => void verifiers.set(subscription, new Webhook(secret)),
    arrivals,
    calls: () => calls,
    faults,
    arrived: (count) =>
      new Promise((done) => {
        if (arrivals.size >= count) done()
        else waiting.push({ count, done })
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
