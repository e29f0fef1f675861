// An endpoint on the loopback for tests of deliveries: it responds as configured, by path, and records its requests.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Got {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Endpoint extends AsyncDisposable {
  readonly url: string
  readonly got: readonly Got[]
  /** From now on, for this path; default 204. */
  answer(path: string, status: number, body?: string): void
}

export async function startEndpoint(): Promise<Endpoint> {
  const got: Got[] = []
  const answers = new Map<string, readonly [status: number, body: string]>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = new URL(request.url ?? '/', 'http://endpoint').pathname
    got.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() })
    const [status, body] = answers.get(path) ?? [204, '']
    response.writeHead(status, body === '' ? {} : { 'content-type': 'application/json' }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got,
    answer: (path, status, body = '') => answers.set(path, [status, body]),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
