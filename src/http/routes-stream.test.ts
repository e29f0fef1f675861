import { afterEach, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { AppError } from '../core/errors/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import { makeFeed } from '../engine/feed.ts'
import { makeClient } from '../sdk/client/index.ts'
import type { HttpApi } from './api.ts'
import { type HttpServer, makeHttpServer } from './server.ts'

let server: HttpServer | null = null
afterEach(async () => {
  await server?.close()
})

const OURS = 'ours' as TenantId

async function start() {
  const feed = makeFeed()
  const caller = { tenant: OURS, role: 'viewer', actor: 'me', isNodeAdmin: false }
  const parts = {
    watch: feed.watch,
    access: {
      byKey: async (key: string) => {
        if (key !== 'good') throw new AppError('not_authenticated')
        return caller
      },
    },
  }
  server = makeHttpServer(parts as unknown as HttpApi, {
    bodyBytesMax: 1_000,
    closeMs: 30_000,
    requestId: () => 'r',
    log: makeMemoryLog(),
  })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  return { feed, url }
}

test('[FD3] the stream brings changes to whoever has a key, through the client', async () => {
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
  const begun = performance.now()
  await server?.close()
  expect(await text).toContain('event: ping')
  expect(performance.now() - begun).toBeLessThan(10_000)
})

test('[FD8] the fifty-first reader of a tenant is told to come again later', async () => {
  const { url } = await start()
  const stop = new AbortController()
  const open = () =>
    fetch(`${url}/v1/stream`, { headers: { authorization: 'Bearer good' }, signal: stop.signal })
  const first = await Promise.all(Array.from({ length: 50 }, open))
  expect(first.map(({ status }) => status)).toEqual(new Array(50).fill(200))
  const late = await open()
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '30'])
  expect(await late.json()).toMatchObject({ code: 'limited' })
  stop.abort()
})

test('[FD8] HEAD does not open a stream', async () => {
  const { url } = await start()
  const response = await fetch(`${url}/v1/stream`, {
    method: 'HEAD',
    headers: { authorization: 'Bearer good' },
  })
  expect(response.status).toBe(404)
})
