// What happens on the connection itself, before and around a route: over real sockets, because injection has none.

import { connect } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { EventId, TenantId } from '../core/foundation/ids/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { IntakeRequest } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { ARRIVAL, type HttpServer, type HttpServerOptions, makeHttpServer } from './server.ts'

const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 60_000, interval: 5 })

const servers: HttpServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

const CALLER: Caller = {
  tenant: 'default' as TenantId,
  role: 'admin',
  permissions: [],
  actor: 'test',
  isNodeAdmin: true,
  credential: { by: 'node' },
} as unknown as Caller

async function makeWorld(options: Partial<HttpServerOptions> = {}) {
  const received: IntakeRequest[] = []
  const published: unknown[] = []
  const api = {
    access: { byKey: async () => CALLER },
    sourceBodyMax: () => 100_000,
    refused: () => {},
    receive: async (request: IntakeRequest) => {
      received.push(request)
      return { eventId: 'evt_1' as EventId, duplicate: false }
    },
    publish: async (_tenant: TenantId, drafts: readonly unknown[]) => {
      published.push(...drafts)
      return drafts.map(() => ({ ok: true, eventId: 'evt_1' as EventId, duplicate: false }))
    },
  }
  const server = makeHttpServer(api as unknown as HttpApi, {
    bodyBytesMax: 100_000,
    closeMs: 0,
    requestId: () => 'r',
    log: makeMemoryLog(),
    ...options,
  })
  servers.push(server)
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return { port, server, received, published }
}

/** Everything that the server says on one connection, until it closes it. */
function talk(port: number, ...texts: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    for (const text of texts) socket.write(text)
  })
}

const problemOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
const PATHS = ['/in/default/github', '/v1/events'] as const
const head = (path: string, ...lines: readonly string[]) =>
  [`POST ${path} HTTP/1.1`, 'authorization: Bearer key', ...lines, '', ''].join('\r\n')
const JSON_TYPE = 'content-type: application/json'

describe('[AP23] a request that is not HTTP', () => {
  test.each(PATHS)('by a chunk size, to %s, is 400', async (path) => {
    const { port, server, received } = await makeWorld()
    const answer = await talk(
      port,
      head(path, 'host: x', JSON_TYPE, 'ce-specversion: 1.0', 'transfer-encoding: chunked'),
      'zz\r\n{}\r\n0\r\n\r\n',
    )
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(problemOf(answer)).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(received).toEqual([])
    expect(server.heldBytes).toBe(0)
  })

  test.each(PATHS)('by a chunk size after a good chunk, to %s, is 400', async (path) => {
    const { port, received } = await makeWorld()
    const start = head(path, 'host: x', JSON_TYPE, 'ce-specversion: 1.0', 'transfer-encoding: chunked')
    const answer = await talk(port, `${start}2\r\n{}\r\nxyz\r\n`)
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(received).toEqual([])
  })

  test.each(PATHS)('by its transfer coding, to %s, is 400', async (path) => {
    const { port, received } = await makeWorld()
    const answer = await talk(port, head(path, 'host: x', JSON_TYPE, 'transfer-encoding: lempel'), '{}')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(problemOf(answer)).toMatchObject({ code: 'invalid_request' })
    expect(received).toEqual([])
  })

  test.each(PATHS)('by two hosts, to %s, is 400', async (path) => {
    const { port, received } = await makeWorld()
    const answer = await talk(port, `${head(path, 'host: a', 'Host: b', JSON_TYPE, 'content-length: 2')}{}`)
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(problemOf(answer)).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('host'),
    })
    expect(received).toEqual([])
  })

  test('does not take the answer of the whole request before it', async () => {
    const { port } = await makeWorld()
    const good = `${head('/in/default/github', 'host: x', JSON_TYPE, 'content-length: 2')}{}`
    const answer = await talk(port, good, 'what is this\r\n\r\n')
    expect(answer).not.toMatch(/^HTTP\/1\.1 400/)
  })
})

describe('[AP23] a target in absolute form', () => {
  test('is read as its path and its host', async () => {
    const { port, received } = await makeWorld()
    const target = 'http://hooks.example:8080/in/default/github?a=b'
    const answer = await talk(
      port,
      `${head(target, 'host: other', JSON_TYPE, 'content-length: 2', 'connection: close')}{}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 202 /)
    expect(received).toMatchObject([{ target: '/in/default/github?a=b', publicUrl: target }])
    const health = 'GET http://x/healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    expect(await talk(port, health)).toMatch(/^HTTP\/1\.1 200 /)
    const root = 'GET http://x?y HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    expect(await talk(port, root)).toMatch(/^HTTP\/1\.1 (200|404) /)
  })

  test('of another scheme is 400', async () => {
    const { port } = await makeWorld()
    expect(await talk(port, 'GET ftp://x/healthz HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('[AP24] a client that expects to be asked for its body', () => {
  const expects = ['host: x', JSON_TYPE, 'ce-specversion: 1.0', 'ce-id: 1', 'ce-source: /x', 'ce-type: a.b']

  test.each(PATHS)('is asked, to %s', async (path) => {
    const { port } = await makeWorld()
    const lines = [...expects, 'expect: 100-continue', 'content-length: 2', 'connection: close']
    const answer = await talk(port, head(path, ...lines), '{}')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 202'])
  })

  test.each(PATHS)('of too many bytes, to %s, gets 413 and no 100', async (path) => {
    const { port } = await makeWorld()
    const answer = await talk(port, head(path, ...expects, 'expect: 100-continue', 'content-length: 100001'))
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413'])
    expect(problemOf(answer)).toMatchObject({ code: 'body_too_large' })
  })

  test('who is not let in is not asked', async () => {
    const { port } = await makeWorld()
    const lines = ['POST /v1/events HTTP/1.1', 'host: x', 'expect: 100-continue', 'content-length: 2', '', '']
    const answer = await talk(port, lines.join('\r\n'))
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401'])
  })

  test('or expects something else gets 417', async () => {
    const { port } = await makeWorld()
    const answer = await talk(
      port,
      head('/in/default/github', ...expects, 'expect: tea', 'content-length: 0'),
    )
    expect(answer).toMatch(/^HTTP\/1\.1 417 /)
    expect(answer).toContain('expectation_failed')
  })
})

describe('[AP22] connections of one address', () => {
  const health = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  const open = (port: number) =>
    new Promise<ReturnType<typeof connect>>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      // An answer says that the server has seen the connection.
      socket.once('data', () => resolve(socket))
      socket.on('error', () => {})
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    })

  test('are as many as allowed; one more is refused', async () => {
    const { port } = await makeWorld({ connectionsPerAddressMax: 2 })
    const [one] = [await open(port), await open(port)]
    const refused = await talk(port)
    expect(refused).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/)
    expect(refused).toMatch(/retry-after: 1\r\n/)
    expect(problemOf(refused)).toMatchObject({ code: 'limited' })
    const closed = new Promise((resolve) => one?.once('close', resolve))
    one?.end()
    await closed
    expect(await talk(port, health)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('of a trusted proxy are not counted', async () => {
    const { port } = await makeWorld({ connectionsPerAddressMax: 1, trustedProxies: ['127.0.0.0/8'] })
    await open(port)
    expect(await talk(port, health)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('[AP27] a request that arrives too slowly', () => {
  /** Writes `start`, then `more` again and again until the server ends it. */
  const trickle = (port: number, start: string, more: string) =>
    new Promise<{ answer: string; written: number }>((resolve) => {
      let answer = ''
      let written = 0
      const socket = connect(port, '127.0.0.1')
      const timer = setInterval(() => {
        if (more !== '') written += 1
        socket.write(more)
      }, 5)
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(timer)
        resolve({ answer, written })
      })
      socket.write(start)
    })
  const long = { headersMs: 300_000, requestMs: 300_000, checkEveryMs: 10 }

  test.each(PATHS)('in its headers, to %s, is answered 408 and closed', async (path) => {
    const { port, received } = await makeWorld({ arrival: { ...long, headersMs: 50 } })
    const { answer, written } = await trickle(port, `POST ${path} HTTP/1.1\r\nhost: x\r\n`, 'x-a: b\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
    expect(problemOf(answer)).toMatchObject({ code: 'request_timeout' })
    expect(written).toBeGreaterThan(0)
    expect(received).toEqual([])
  })

  test('because its connection stays silent, is answered 408 and closed', async () => {
    const { port } = await makeWorld({ arrival: { ...long, headersMs: 50 } })
    expect((await trickle(port, '', '')).answer).toMatch(/^HTTP\/1\.1 408 /)
  })

  test.each(PATHS)(
    'in its body, to %s, is answered 408, closed, and its bytes are given back',
    async (path) => {
      const { port, server, received } = await makeWorld({
        arrival: { headersMs: 100, requestMs: 100, checkEveryMs: 10 },
        heldBytesMax: 1_000_000,
      })
      const start = head(path, 'host: x', JSON_TYPE, 'content-length: 90000')
      const { answer, written } = await trickle(port, start, ' ')
      expect(answer).toMatch(/^HTTP\/1\.1 408 /)
      expect(written).toBeGreaterThan(0)
      expect(received).toEqual([])
      await until(() => server.heldBytes === 0)
    },
  )

  test('has the time that the documents state', () => {
    expect(ARRIVAL).toEqual({ headersMs: 10_000, requestMs: 30_000, checkEveryMs: 1_000 })
  })
})

describe('[AP20] a compressed body of the API', () => {
  const post = async (server: HttpServer, headers: Record<string, string>, payload: Buffer) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/v1/events',
      headers: { authorization: 'Bearer key', ...headers },
      payload,
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  const event = { specversion: '1.0', id: '1', source: '/x', type: 'a.b', data: { a: 1 } }
  const text = JSON.stringify(event)
  const type = { 'content-type': 'application/cloudevents+json' }
  const binary = {
    'content-type': 'application/json',
    'ce-specversion': '1.0',
    'ce-id': '1',
    'ce-source': '/x',
    'ce-type': 'a.b',
  }

  const CODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', (bytes) => bytes],
  ]
  test.each(CODINGS)('with %s is read, in each mode', async (encoding, compress) => {
    const { server, published } = await makeWorld()
    const encoded = { 'content-encoding': encoding }
    expect(await post(server, { ...type, ...encoded }, compress(Buffer.from(text)))).toMatchObject({
      status: 202,
    })
    expect(await post(server, { ...binary, ...encoded }, compress(Buffer.from('{"a":1}')))).toMatchObject({
      status: 202,
    })
    expect(published).toMatchObject([{ data: '{"a":1}' }, { data: '{"a":1}' }])
    expect(server.heldBytes).toBe(0)
  })

  test('with an unknown coding is 415, also for every other request', async () => {
    const { server, published } = await makeWorld()
    const answer = await post(server, { ...type, 'content-encoding': 'zstd' }, Buffer.from(text))
    expect(answer).toMatchObject({ status: 415, body: { code: 'wrong_type' } })
    const other = await server.app.inject({
      method: 'POST',
      url: '/v1/definitions/check',
      headers: {
        authorization: 'Bearer key',
        'content-type': 'application/json',
        'content-encoding': 'compress',
      },
      payload: '{"files":[]}',
    })
    expect(other.statusCode).toBe(415)
    expect(published).toEqual([])
  })

  test('that is broken is 400, and one that grows too large 413', async () => {
    const { server, published } = await makeWorld()
    const gzip = { ...type, 'content-encoding': 'gzip' }
    expect(await post(server, gzip, Buffer.from(text))).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable' },
    })
    expect(await post(server, gzip, gzipSync(text).subarray(0, 30))).toMatchObject({ status: 400 })
    expect(await post(server, gzip, gzipSync(Buffer.alloc(100_001, 0x20)))).toMatchObject({
      status: 413,
      body: { code: 'body_too_large' },
    })
    expect(published).toEqual([])
    expect(server.heldBytes).toBe(0)
  })

  test('[AP21] beyond the budget is 503, compressed or not', async () => {
    const { server, published } = await makeWorld({ heldBytesMax: 1_000 })
    const large = JSON.stringify({ ...event, data: 'x'.repeat(2_000) })
    for (const [headers, body] of [
      [type, Buffer.from(large)],
      [{ ...type, 'content-encoding': 'gzip' }, gzipSync(large)],
    ] as const) {
      expect(await post(server, headers, body)).toMatchObject({ status: 503, body: { code: 'overloaded' } })
    }
    expect(published).toEqual([])
    expect(server.heldBytes).toBe(0)
    expect(await post(server, type, Buffer.from(text))).toMatchObject({ status: 202 })
  })
})

describe('[AP21] a body that goes on after its answer', () => {
  const chunkOf = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`
  const EARLY: readonly (readonly [string, number, string, readonly string[]])[] = [
    ['an unknown address', 404, 'POST /nothing', ['content-type: text/xyz']],
    ['a wrong type', 415, 'POST /v1/definitions/check', ['content-type: text/xyz']],
    ['an unknown encoding', 415, 'POST /v1/definitions/check', [JSON_TYPE, 'content-encoding: zstd']],
    ['DELETE', 404, 'DELETE /nothing', []],
    ['OPTIONS', 405, 'OPTIONS /v1/events', []],
    ['too large a body', 413, 'POST /v1/definitions/check', [JSON_TYPE]],
    ['too large a compressed body', 413, 'POST /v1/events', [JSON_TYPE, 'content-encoding: gzip']],
    ['no key', 401, 'POST /v1/events', [JSON_TYPE, 'authorization: none']],
  ]

  /** Sends the start, waits for the answer, sends the rest, and resolves with all answers when the connection closes. */
  const sendLate = (port: number, start: string, rest: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      let answers = ''
      const socket = connect(port, '127.0.0.1')
      socket.once('data', () => {
        for (const text of rest) socket.write(text)
      })
      socket.on('data', (chunk) => {
        answers += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(answers))
      socket.write(start)
    })
  const startOf = (line: string, lines: readonly string[], length: number) => {
    const key = lines.some((one) => one.startsWith('authorization')) ? [] : ['authorization: Bearer key']
    const all = [`${line} HTTP/1.1`, 'host: x', ...key, ...lines, 'transfer-encoding: chunked', '', '']
    return all.join('\r\n') + chunkOf(length)
  }
  const health = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  const webhook = `${head('/in/default/github', 'host: x', JSON_TYPE, 'content-length: 90000', 'connection: close')}${'x'.repeat(90_000)}`

  test.each(EARLY)('by %s holds nothing', async (_name, status, line, lines) => {
    const { port, server, received } = await makeWorld({ heldBytesMax: 100_000 })
    // Where the limit is to be passed, the first chunk passes it.
    const start = startOf(line, lines, status === 413 ? 100_001 : 10)
    // The request that follows is answered when the late bytes were read.
    const answers = await sendLate(port, start, [chunkOf(30_000), chunkOf(30_000), '0\r\n\r\n', health])
    expect(answers).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(server.heldBytes).toBe(0)
    expect(await talk(port, webhook)).toMatch(/^HTTP\/1\.1 202 /)
    expect(received).toHaveLength(1)
  })

  test('is read up to the limit of a body, and the connection is used again', async () => {
    const { port } = await makeWorld()
    const start = startOf('POST /nothing', ['content-type: text/xyz'], 10)
    const answers = await sendLate(port, start, [chunkOf(90_000), '0\r\n\r\n', health])
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })

  test.each(EARLY)('by %s is not read without end', async (_name, status, line, lines) => {
    const { port, server } = await makeWorld()
    const start = startOf(line, lines, status === 413 ? 100_001 : 10)
    // The end of the body never comes: the server closes the connection.
    const answers = await sendLate(
      port,
      start,
      Array.from({ length: 40 }, () => chunkOf(50_000)),
    )
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`])
    expect(server.heldBytes).toBe(0)
  })
})

test('[AP21] a client that goes away in the middle of a body of the API gives its bytes back', async () => {
  const { port, server } = await makeWorld()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${head('/v1/events', 'host: x', JSON_TYPE, 'content-length: 90000')}${'x'.repeat(50_000)}`)
  await until(() => server.heldBytes === 50_000)
  socket.resetAndDestroy()
  await until(() => server.heldBytes === 0)
})

test.each([
  ...PATHS.map((path) => [path, 'identity'] as const),
  ...PATHS.map((path) => [path, 'gzip'] as const),
])('[AP21] a body of single bytes, to %s with %s, is not one buffer for each', async (path, encoding) => {
  const { port, received, published } = await makeWorld()
  const concat = vi.spyOn(Buffer, 'concat')
  try {
    const binary = ['ce-specversion: 1.0', 'ce-id: 1', 'ce-source: /x', 'ce-type: a.b']
    const lines = ['host: x', JSON_TYPE, ...binary, `content-encoding: ${encoding}`, 'connection: close']
    const text = JSON.stringify(Array.from({ length: 5_000 }, (_, index) => (index * 7_919) % 10_007))
    const body = encoding === 'gzip' ? gzipSync(text) : Buffer.from(text)
    const chunks = Array.from(body, (_, index) => [
      Buffer.from('1\r\n'),
      body.subarray(index, index + 1),
      Buffer.from('\r\n'),
    ])
    const sent = Buffer.from(chunks.flatMap((parts) => parts.flatMap((part) => [...part])))
    const answer = await talk(port, head(path, ...lines, 'transfer-encoding: chunked'), sent, '0\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 202 /)
    expect(received.length + published.length).toBe(1)
    expect(Math.max(...concat.mock.calls.map(([list]) => list.length))).toBeLessThan(20)
  } finally {
    concat.mockRestore()
  }
})

describe('[AP21] unfinished bodies of one address', () => {
  const unfinished = (port: number) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `${head('/in/default/github', 'host: x', JSON_TYPE, 'content-length: 100000')}${'x'.repeat(90_000)}`,
    )
    return socket
  }
  const lines = ['host: x', JSON_TYPE, 'ce-specversion: 1.0', 'ce-id: 1', 'ce-source: /x', 'ce-type: a.b']
  const small = (path: string) =>
    `${head(path, ...lines, 'content-length: 30002', 'connection: close')}"${'x'.repeat(30_000)}"`

  test.each(PATHS)('hold half of the budget; one more, to %s, is 503', async (path) => {
    const { port, server } = await makeWorld({ heldBytesMax: 400_000 })
    const sockets = [unfinished(port), unfinished(port)]
    await until(() => server.heldBytes === 180_000)
    const refused = await talk(port, small(path))
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toContain('of this address')
    sockets[0]?.resetAndDestroy()
    await until(() => server.heldBytes === 90_000)
    expect(await talk(port, small(path))).toMatch(/^HTTP\/1\.1 202 /)
    sockets[1]?.resetAndDestroy()
    await until(() => server.heldBytes === 0)
  })

  test('that is a trusted proxy have no such limit', async () => {
    const { port, server } = await makeWorld({ heldBytesMax: 400_000, trustedProxies: ['127.0.0.0/8'] })
    for (let count = 0; count < 4; count += 1) unfinished(port)
    await until(() => server.heldBytes === 360_000)
    expect(await talk(port, small('/in/default/github'))).toMatch(/^HTTP\/1\.1 202 /)
  })
})

test('[AP15] the node’s limit holds for events that are published, whatever their mode', async () => {
  const { server, published } = await makeWorld({ bodyBytesMax: 2_000 })
  const body = (length: number) => {
    const around = JSON.stringify({ specversion: '1.0', id: '1', source: '/x', type: 'a.b', data: '' })
    return around.replace('""', `"${'x'.repeat(length - around.length)}"`)
  }
  const post = (payload: string) =>
    server.app.inject({
      method: 'POST',
      url: '/v1/events',
      headers: { authorization: 'Bearer key', 'content-type': 'application/cloudevents+json' },
      payload,
    })
  expect((await post(body(2_000))).statusCode).toBe(202)
  const refused = await post(body(2_001))
  expect(refused.json()).toMatchObject({ status: 413, details: { limit: 2_000 } })
  expect(published).toHaveLength(1)
})

test('[AP26] the bare address helps a client that is no browser', async () => {
  const { server } = await makeWorld()
  const answer = await server.app.inject({ url: '/', headers: { accept: '*/*' } })
  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toMatchObject({ name: 'Millrace', api: '/openapi.json', health: '/healthz' })
  expect((await server.app.inject({ method: 'POST', url: '/' })).statusCode).toBe(404)
})
