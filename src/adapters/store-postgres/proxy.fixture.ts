// A proxy between the store and the server that breaks a connection at a chosen statement.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import { prepare } from './connection.ts'

export type Cut =
  /** The server never gets the statement. */
  | 'before'
  /** The server executes it; its response gets lost. */
  | 'after'
  /** The client sees a broken connection; the server gets the statement when `release` is called. */
  | 'held'

export interface BreakingProxy {
  readonly port: number
  /** Breaks the first connection that sends the statement with this text; resolves once that happened. */
  cutAt(sql: string, cut: Cut): Promise<{ release(): void }>
  /** From now on every connection is refused, and open ones are cut. */
  refuse(): void
  /** Accepts connections again. */
  accept(): void
  /** Cuts the connections that are open now. */
  cut(): void
  /** Open connections stay open, and nothing passes. */
  pause(): void
  resume(): void
  /** Delays so that everything sent without waiting travels together, and counts the round trips. */
  countRoundTrips(): { roundTrips(): number }
  close(): Promise<void>
}

interface Rule {
  readonly statement: Buffer
  readonly cut: Cut
  done(handle: { release(): void }): void
}

const QUIET_MS = 30

export async function startProxy(serverPort: number): Promise<BreakingProxy> {
  let rule: Rule | null = null
  let roundTrips: number | null = null
  let isRefusing = false
  const sockets = new Set<Socket>()

  const onConnection = (client: Socket) => {
    const server = dial(serverPort, '127.0.0.1')
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    if (isRefusing) {
      client.destroy()
      server.destroy()
      return
    }
    let isCut = false
    let ending: NodeJS.Timeout | null = null
    const toServer = makeBatcher(
      () => roundTrips !== null,
      (data) => {
        if (roundTrips !== null) roundTrips += 1
        server.write(data)
      },
    )
    const toClient = makeBatcher(
      () => roundTrips !== null,
      (data) => client.write(data),
    )
    server.on('data', (data) => {
      if (!isCut) toClient(data)
      else ending?.refresh()
    })
    client.on('data', (data) => {
      if (isCut) return
      const at = rule === null ? -1 : findStatement(data, rule.statement)
      if (rule === null || at < 0) {
        toServer(data)
        return
      }
      const { cut, done } = rule
      rule = null
      isCut = true
      server.write(data.subarray(0, at))
      if (cut === 'after') {
        server.write(data.subarray(at))
        ending = setTimeout(() => server.destroy(), QUIET_MS * 2)
      } else {
        client.destroy()
        if (cut === 'before') server.destroy()
      }
      done({ release: () => server.write(data.subarray(at)) })
    })
    client.on('close', () => {
      if (!isCut) server.destroy()
    })
    server.on('close', () => client.destroy())
  }

  const proxy = createServer(onConnection).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    port: address.port,
    cutAt: (sql, cut) =>
      new Promise((done) => {
        rule = { statement: Buffer.from(`${prepare(sql).name}\0`), cut, done }
      }),
    refuse() {
      isRefusing = true
      for (const socket of sockets) socket.destroy()
    },
    accept() {
      isRefusing = false
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    pause() {
      for (const socket of sockets) socket.pause()
    },
    resume() {
      for (const socket of sockets) socket.resume()
    },
    countRoundTrips() {
      roundTrips = 0
      return { roundTrips: () => roundTrips ?? 0 }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

/** Where the message that binds (or first parses) the statement starts, or -1. */
function findStatement(data: Buffer, name: Buffer): number {
  const at = data.indexOf(name)
  if (at < 0) return -1
  return data[at - 6] === 0x42 && data[at - 1] === 0 ? at - 6 : at - 5
}

/** Collects until nothing came for a while, if asked to; otherwise passes on at once. */
function makeBatcher(isOn: () => boolean, send: (data: Buffer) => void): (data: Buffer) => void {
  let waiting: Buffer[] = []
  let timer: NodeJS.Timeout | null = null
  return (data) => {
    if (!isOn()) {
      send(data)
      return
    }
    waiting.push(data)
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => {
      const all = Buffer.concat(waiting)
      waiting = []
      send(all)
    }, QUIET_MS)
  }
}
