import { connect } from 'node:net'
import { type FastifyRequest, fastify } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { makeFeed } from '../engine/observe/change-feed.ts'
import { makeClient } from '../sdk/client/index.ts'
import type { HttpApi } from './api.ts'
import { addStreamRoutes } from './routes-stream.ts'
import { type HttpServer, makeHttpServer } from './server.ts'
import { HUB_LIMITS } from './stream-hub.ts'

let server: HttpServer | null = null
afterEach(async () => {
  await server?.close()
})

const OURS = 'ours' as TenantId

async function start() {
  const feed = makeFeed()
  const caller = { tenant: OURS, role: 'admin', actor: 'me', isNodeAdmin: false }
  const revoked = new Set<string>()
  const parts = {
    watch: feed.watch,
    access: {
      byKey: async (key: string) => {
        if (!key.startsWith('good') || revoked.has(key)) throw new AppError('not_authenticated')
        return { ...caller, credential: { kind: 'key', id: key } }
      },
      keys: { revoke: async (_tenant: TenantId, id: string) => void revoked.add(id) },
    },
  }
  server = makeHttpServer(parts as unknown as HttpApi, {
    bodyBytesMax: 1_000,
    // Longer than a test may take: a server that waited for its streams would not close in time.
    closeMs: 600_000,
    requestId: () => 'r',
    log: makeMemoryLog(),
  })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  return { feed, url }
}

test('[FD3] the stream sends changes to a caller with a key, through the client', async () => {
  const { feed, url } = await start()
  const stop = new AbortController()
  const stream = makeClient({ url, key: 'good' }).stream({ signal: stop.signal })
  expect((await stream.next()).value).toEqual({ type: 'connected' })
  feed.announce('theirs' as TenantId, { type: 'replay', id: 'theirs' })
  feed.announce(OURS, { type: 'replay', id: 'ours' })
  expect((await stream.next()).value).toEqual({ type: 'changes', changes: [{ type: 'replay', id: 'ours' }] })
  stop.abort()
  expect((await stream.next()).done).toBe(true)
  await expect(makeClient({ url, key: 'bad' }).stream().next()).rejects.toMatchObject({ status: 401 })
})

test('[FD8] open streams do not keep a node from closing', async () => {
  const { url } = await start()
  const response = await fetch(`${url}/v1/stream`, { headers: { authorization: 'Bearer good' } })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const text = response.text()
  await server?.close()
  expect(await text).toContain('event: ping')
})

test('[FD8] the fifty-first reader of a tenant gets a Retry-After', async () => {
  const { url } = await start()
  const stop = new AbortController()
  const open = (key: string) =>
    fetch(`${url}/v1/stream`, { headers: { authorization: `Bearer ${key}` }, signal: stop.signal })
  const first = await Promise.all(Array.from({ length: 50 }, (_, index) => open(`good-${index % 5}`)))
  expect(first.map(({ status }) => status)).toEqual(new Array(50).fill(200))
  const late = await open('good-5')
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '30'])
  expect(await late.json()).toMatchObject({ code: 'limited', detail: expect.stringContaining('tenant') })
  stop.abort()
})

test('[FD8] the eleventh reader with one key is refused with 429', async () => {
  const { url } = await start()
  const stop = new AbortController()
  const open = () =>
    fetch(`${url}/v1/stream`, { headers: { authorization: 'Bearer good' }, signal: stop.signal })
  await Promise.all(Array.from({ length: 10 }, open))
  const late = await open()
  expect(late.status).toBe(429)
  expect(await late.json()).toMatchObject({ code: 'limited', detail: expect.stringContaining('key') })
  stop.abort()
})

test('[FD10] streams end at once when their key is revoked here', async () => {
  const { url } = await start()
  const open = (key: string) => fetch(`${url}/v1/stream`, { headers: { authorization: `Bearer ${key}` } })
  const ended = (await open('good-1')).text()
  const answer = await fetch(`${url}/v1/keys/good-1`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer good' },
  })
  expect(answer.status).toBe(204)
  // Long before the next ping.
  expect(await ended).toContain('event: ping')
})

test('[FD10] a reader that does not read loses its connection and its seat', async () => {
  const feed = makeFeed()
  const app = fastify()
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.caller = {
      tenant: OURS,
      role: 'viewer',
      permissions: [],
      credential: { kind: 'node' },
    } as unknown as FastifyRequest['caller']
  })
  const access = { byKey: async () => ({ tenant: OURS, role: 'viewer' }) }
  const limits = { ...HUB_LIMITS, readersMax: 1, gatherMs: 1, pingMs: 5, stuckMsMax: 10 }
  addStreamRoutes(app, { watch: feed.watch, access } as unknown as HttpApi, limits)
  let isCut = false
  app.server.once('connection', (socket) => {
    socket.once('close', () => {
      isCut = true
    })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  client.on('error', () => {})
  try {
    client.pause()
    client.write('GET /v1/stream HTTP/1.1\r\nhost: here\r\nauthorization: Bearer good\r\n\r\n')
    // Until everything between here and there is full.
    while (!isCut) {
      feed.announce(OURS, { type: 'replay', id: 'x'.repeat(500_000) })
      await new Promise((done) => setTimeout(done, 2))
    }
    const next = await fetch(`${url}/v1/stream`, { headers: { authorization: 'Bearer good' } })
    expect(next.status).toBe(200)
    await next.body?.cancel()
  } finally {
    client.destroy()
    await app.close()
  }
})

test('[FD8] HEAD does not open a stream', async () => {
  const { url } = await start()
  const response = await fetch(`${url}/v1/stream`, {
    method: 'HEAD',
    headers: { authorization: 'Bearer good' },
  })
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
})
