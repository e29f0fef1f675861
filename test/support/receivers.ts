// Receivers of webhooks for one test: one that records its requests, and ones on bare sockets that misbehave.

import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export interface Received {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** The next request that was not returned yet. */
  next(): Promise<Received>
  /** Requests in all. */
  count(): number
}

/** Takes everything. */
export async function startReceiver(): Promise<Receiver> {
  const kept: Received[] = []
  const waiting: ((received: Received) => void)[] = []
  let count = 0
  const server = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    count += 1
    response.writeHead(200, { 'content-type': 'text/plain' }).end('thanks')
    const received = { headers: plain(request.headers), body: Buffer.concat(chunks).toString('utf8') }
    const first = waiting.shift()
    if (first === undefined) kept.push(received)
    else first(received)
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}/`,
    next() {
      const first = kept.shift()
      return first === undefined ? new Promise((done) => waiting.push(done)) : Promise.resolve(first)
    },
    count: () => count,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export interface RawReceiver extends AsyncDisposable {
  readonly port: number
  /** Complete requests in all. */
  count(): number
  /** Connections that are open. */
  open(): number
}

/** `onRequest` gets the socket of every whole request, with its number. */
export async function startRawReceiver(
  onRequest: (socket: Socket, number: number) => void,
  make: (onConnection: (socket: Socket) => void) => Server = createServer,
): Promise<RawReceiver> {
  const sockets = new Set<Socket>()
  let count = 0
  const server = make((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < headEnd + 4 + length) return
      text = ''
      count += 1
      onRequest(socket, count)
    })
  })
  const port = await listen(server)
  return {
    port,
    count: () => count,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
