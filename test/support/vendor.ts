// Another company's system, on the loopback, with its own log: what it was asked and what it did, per key. The tests
// trust its log, not the node's.
//
// POST /keyed honours the idempotency key; POST /probed and /plain do it again each time; GET /probed?ref= says whether
// it happened.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface VendorRecord {
  requests: number
  effects: number
}

export interface Vendor extends AsyncDisposable {
  readonly url: string
  /** By path without the slash, then by key. */
  records(path: string): ReadonlyMap<string, VendorRecord>
  /** From now on responses are held back, effects are not. */
  hold(): void
  /** Sends the responses that were held back, if their callers still wait. */
  release(): void
  held(): number
}

const ANSWER_MS_MAX = 8

export async function startVendor(): Promise<Vendor> {
  const logs = new Map<string, Map<string, VendorRecord>>()
  let isHolding = false
  let heldBack: (() => void)[] = []

  const recordOf = (path: string, key: string): VendorRecord => {
    const log = logs.get(path) ?? new Map<string, VendorRecord>()
    logs.set(path, log)
    const record = log.get(key) ?? { requests: 0, effects: 0 }
    log.set(key, record)
    return record
  }

  const answer = (response: ServerResponse, value: object) => {
    const give = () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    // A moment between effect and response, as everywhere: where a crash hits.
    if (isHolding) heldBack.push(give)
    else setTimeout(give, Math.random() * ANSWER_MS_MAX)
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://vendor')
    const path = pathname.slice(1)
    if (request.method === 'GET') {
      const found = logs.get(path)?.get(searchParams.get('ref') ?? '')?.effects ?? 0
      answer(response, { items: Array.from({ length: found }, () => ({})) })
      return
    }
    void readJson(request).then(
      (body) => {
        const key = path === 'keyed' ? String(request.headers['idempotency-key']) : String(body.ref)
        const record = recordOf(path, key)
        record.requests += 1
        if (path !== 'keyed' || record.effects === 0) record.effects += 1
        answer(response, { id: key })
      },
      // The caller died while it wrote: there was no request.
      () => response.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records: (path) => logs.get(path) ?? new Map(),
    hold() {
      isHolding = true
    },
    release() {
      isHolding = false
      const given = heldBack
      heldBack = []
      for (const give of given) give()
    },
    held: () => heldBack.length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function readJson(request: IncomingMessage): Promise<{ readonly ref?: unknown }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}
