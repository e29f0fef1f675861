// Servers on this machine for the client's tests, closed after each test, and a record of what the client dials
// meanwhile.

import { type AddressInfo, createServer as createNetServer, type Server, Socket } from 'node:net'
import { afterEach, vi } from 'vitest'
import type { HttpRequest } from '../../ports/http-client.ts'
import { makeHttpClient } from './index.ts'

const disposables: AsyncDisposable[] = []
afterEach(async () => {
  for (const disposable of disposables.splice(0).reverse()) await disposable[Symbol.asyncDispose]()
})

export function makeClient(options: Partial<Parameters<typeof makeHttpClient>[0]> = {}) {
  const client = makeHttpClient({ allow: ['loopback'], ...options })
  disposables.push(client)
  return client
}

export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  disposables.push({
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  })
  return (server.address() as AddressInfo).port
}

/** A server on bare sockets: `onRequest` gets every whole request, with its number on the connection. */
export async function listenRaw(onRequest: (socket: Socket, number: number, text: string) => void) {
  let received = 0
  const server = createNetServer((socket) => {
    let text = ''
    let number = 0
    socket.on('data', (chunk) => {
      if (text === '') received += 1
      text += chunk.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < headEnd + 4 + length) return
      number += 1
      const request = text
      text = ''
      onRequest(socket, number, request)
    })
  })
  const port = await listen(server)
  return { port, url: `http://127.0.0.1:${port}/`, received: () => received }
}

export function answer(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = status === 204 ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  return `HTTP/1.1 ${status} Whatever\r\n${lines.join('')}${length}\r\n${body}`
}

export function get(url: string, over: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'GET',
    url,
    headers: {},
    body: null,
    timeoutMs: 10_000,
    maxResponseBytes: 1_000_000,
    ...over,
  }
}

/** Every address that any socket of this process tries to reach from now until the test is over. */
export function watchDials(): readonly string[] {
  const dialled: string[] = []
  const connect = Socket.prototype.connect
  const spy = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args) {
    this.on('connectionAttempt', (address: string) => dialled.push(address))
    return connect.apply(this, args)
  })
  disposables.push({ [Symbol.asyncDispose]: async () => spy.mockRestore() })
  return dialled
}
