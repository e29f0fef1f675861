import { createServer, request as httpRequest, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import type { IntakeRequest } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { type ByteBudget, makeByteBudget } from './byte-budget.ts'
import { isIngest, makeIngest } from './ingest.ts'

const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 60_000, interval: 5 })

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

interface World {
  readonly port: number
  readonly accepted: IntakeRequest[]
  /** What was refused before it was passed on. */
  readonly refused: { readonly source: string; readonly address: string; readonly code: string }[]
  readonly failures: unknown[]
  readonly budget: ByteBudget
  closing: boolean
}

async function makeWorld(
  over: {
    bodyBytesMax?: number
    sourceBodyMax?: HttpApi['sourceBodyMax']
    heldBytesMax?: number
    receive?: HttpApi['receive']
    onRefused?: () => void
    trustedProxies?: readonly string[]
    publicBase?: string
  } = {},
): Promise<World> {
  const accepted: IntakeRequest[] = []
  const refused: World['refused'] = []
  const failures: unknown[] = []
  const budget = makeByteBudget(over.heldBytesMax ?? Number.POSITIVE_INFINITY)
  const world = { port: 0, budget, accepted, refused, failures, closing: false }
  let requests = 0
  const api = {
    sourceBodyMax: over.sourceBodyMax ?? (() => Number.POSITIVE_INFINITY),
    receive: async (request) => {
      accepted.push(request)
      return over.receive ? over.receive(request) : { eventId: 'evt_1' as EventId, duplicate: false }
    },
    refused: ({ source, address = '' }, { code }) => {
      refused.push({ source, address, code })
      over.onRefused?.()
    },
  } satisfies Parameters<typeof makeIngest>[0]
  const ingest = makeIngest(api, {
    budget,
    trustedProxies: over.trustedProxies ?? [],
    publicBase: over.publicBase ?? null,
    bodyBytesMax: over.bodyBytesMax ?? 1_000,
    requestId: () => {
      requests += 1
      return `r-${requests}`
    },
    isClosing: () => world.closing,
    onFailure: (error) => failures.push(error),
  })
  const server = createServer(ingest)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  world.port = (server.address() as AddressInfo).port
  return world
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

function send(
  { port }: World,
  options: {
    method?: string
    path?: string
    headers?: Record<string, string>
    body?: string | Buffer | null
  },
): Promise<Answer> {
  const { method = 'POST', path = '/in/default/github', body = '{}' } = options
  const headers = options.headers ?? { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text === '' ? null : JSON.parse(text),
        })
      })
    })
    request.on('error', reject)
    request.end(body ?? undefined)
  })
}

/** Everything that the server says on one connection, until it closes it. */
function talk({ port }: World, ...texts: string[]): Promise<string> {
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

test('everything under /in/ is the ingest handler’s, and nothing else', () => {
  for (const url of ['/in/a/b', '/in/a', '/in/', '/in/a/b?c=d']) expect(isIngest(url)).toBe(true)
  for (const url of ['/in', '/inn/a', '/v1/in/', '/', '', undefined]) expect(isIngest(url)).toBe(false)
})

describe('an accepted request', () => {
  test('is passed on with its exact bytes and answered with 202', async () => {
    const world = await makeWorld()
    const body = Buffer.from('{ "ü" : 1.0 }\n')
    const headers = { 'content-type': 'application/json', 'X-GitHub-Event': 'push' }
    const answer = await send(world, { path: '/in/default/git_hub-2?x=1', headers, body })
    expect(answer).toMatchObject({ status: 202, body: { eventId: 'evt_1', duplicate: false } })
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '37' })
    expect(world.accepted).toHaveLength(1)
    expect(world.accepted[0]).toMatchObject({
      tenant: 'default',
      source: 'git_hub-2',
      method: 'POST',
      target: '/in/default/git_hub-2?x=1',
      address: '127.0.0.1',
      publicUrl: `http://127.0.0.1:${world.port}/in/default/git_hub-2?x=1`,
    })
    expect(world.accepted[0]!.headers['x-github-event']).toBe('push')
    expect(Buffer.from(world.accepted[0]!.body).equals(body)).toBe(true)
  })

  test('may come in many pieces, chunked, or empty', async () => {
    const world = await makeWorld()
    const head =
      'POST /in/default/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n'
    await talk(
      world,
      `${head}transfer-encoding: chunked\r\n\r\n`,
      '3\r\n{"a\r\n',
      '4\r\n":1}\r\n',
      '0\r\n\r\n',
    )
    await talk(world, `${head}content-length: 0\r\n\r\n`)
    expect(world.accepted.map(({ body }) => Buffer.from(body).toString())).toEqual(['{"a":1}', ''])
  })

  test('as a duplicate says so', async () => {
    const world = await makeWorld({ receive: async () => ({ eventId: 'evt_0' as EventId, duplicate: true }) })
    expect(await send(world, {})).toMatchObject({ status: 202, body: { eventId: 'evt_0', duplicate: true } })
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/CloudEvents+JSON',
    'application/vnd.x.y+json',
  ])('may be %s', async (type) => {
    expect(await send(await makeWorld(), { headers: { 'content-type': type } })).toMatchObject({
      status: 202,
    })
  })

  test('may have exactly as many bytes as the limit', async () => {
    const world = await makeWorld({ bodyBytesMax: 10 })
    expect(await send(world, { body: 'x'.repeat(10) })).toMatchObject({ status: 202 })
  })

  test('shares its connection with the next, unless the server is closing', async () => {
    const world = await makeWorld()
    const one =
      'POST /in/default/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n'
    const kept = await talk(world, `${one}\r\n{}`, `${one}connection: close\r\n\r\n{}`)
    expect(kept.match(/HTTP\/1\.1 202/g)).toHaveLength(2)
    world.closing = true
    expect(await talk(world, `${one}\r\n{}`)).toMatch(/connection: close/i)
  })
})

describe('a refused request', () => {
  test('gets the problem that accept threw', async () => {
    const world = await makeWorld({
      receive: async () => {
        throw new AppError('signature_wrong', 'the header x-hub-signature-256 does not match')
      },
    })
    const answer = await send(world, {})
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer).toMatchObject({
      status: 401,
      body: {
        code: 'signature_wrong',
        detail: 'the header x-hub-signature-256 does not match',
        instance: '/requests/r-1',
      },
    })
    expect(world.failures).toEqual([])
  })

  test('[GU8] for its rate gets a Retry-After', async () => {
    const world = await makeWorld({
      receive: async () => {
        throw new AppError('rate_limited', undefined, { details: { retryAfterSeconds: 7 } })
      },
    })
    const answer = await send(world, {})
    expect(answer).toMatchObject({
      status: 429,
      headers: { 'retry-after': '7' },
      body: { code: 'rate_limited' },
    })
  })

  test('by an internal failure gets only the request id, and the failure is reported', async () => {
    const world = await makeWorld({
      receive: async () => {
        throw new Error('hidden')
      },
    })
    const answer = await send(world, {})
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal', instance: '/requests/r-1' } })
    expect(JSON.stringify(answer)).not.toContain('hidden')
    expect(world.failures).toHaveLength(1)
  })

  test('with another method learns the one that works', async () => {
    const world = await makeWorld()
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await send(world, { method, headers: {}, body: null })
      expect(answer).toMatchObject({
        status: 405,
        headers: { allow: 'POST' },
        body: { code: 'method_not_allowed' },
      })
    }
    expect(world.accepted).toEqual([])
  })

  test.each([
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/octet-stream' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'application/json', 'content-encoding': 'zstd' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip' },
  ])('[GU10] [GU15] with %j is 415', async (headers) => {
    const world = await makeWorld()
    expect(await send(world, { headers: headers as Record<string, string> })).toMatchObject({
      status: 415,
      body: { code: 'wrong_type' },
    })
    expect(world.accepted).toEqual([])
    expect(world.refused).toEqual([{ source: 'github', address: '127.0.0.1', code: 'wrong_type' }])
  })

  test.each([
    '/in/',
    '/in/default',
    '/in/default/',
    '/in//x',
    '/in/a/b/c',
    '/in/a/..%2f',
    '/in/a/b%20c',
    '/in/a?/b',
  ])('to %s finds no source', async (path) => {
    expect(await send(await makeWorld(), { path })).toMatchObject({
      status: 404,
      body: { code: 'unknown_source' },
    })
  })

  test('leaves its connection usable', async () => {
    const world = await makeWorld()
    const one = (type: string, end: string) =>
      `POST /in/default/x HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 2\r\n${end}\r\n{}`
    const answer = await talk(world, one('image/png', ''), one('application/json', 'connection: close\r\n'))
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 202'])
  })
})

describe('a body that is too large', () => {
  const head = 'POST /in/default/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'

  test('is refused before it is sent, when it says its length', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const socket = connect(world.port, '127.0.0.1')
    const answer = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(chunk.toString()))
      socket.write(`${head}content-length: 1001\r\n\r\n`)
    })
    socket.destroy()
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toMatch(/connection: close/)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] as string)).toMatchObject({
      code: 'body_too_large',
      status: 413,
    })
    expect(world.accepted).toEqual([])
  })

  test('is refused while it is sent, when it does not', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
    const answer = await talk(world, `${head}transfer-encoding: chunked\r\n\r\n`, chunk, chunk, '0\r\n\r\n')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413'])
    expect(world.accepted).toEqual([])
  })

  test('is refused so that a sender in full flow reads the answer', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const answer = await send(world, { body: 'x'.repeat(3_000_000) })
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
  })

  test('is refused without resetting the connection under a sender that goes on', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const socket = connect({ port: world.port, host: '127.0.0.1', allowHalfOpen: true })
    const errors: Error[] = []
    socket.on('error', (error) => errors.push(error))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const answered = new Promise<Buffer>((resolve) => socket.once('data', resolve))
    socket.write(`${head}content-length: 3000000\r\n\r\n`)
    expect((await answered).toString()).toMatch(/^HTTP\/1\.1 413 /)
    for (let part = 0; part < 30; part += 1) {
      await new Promise((resolve) => socket.write('x'.repeat(100_000), resolve))
    }
    socket.end()
    await closed
    expect(errors).toEqual([])
  })

  test('[GU27] is refused after those that came before it on the same connection were answered', async () => {
    let tell = () => {}
    const refused = new Promise<void>((resolve) => {
      tell = resolve
    })
    const world = await makeWorld({
      bodyBytesMax: 1_000,
      receive: async () => {
        await refused
        return { eventId: 'evt_1' as EventId, duplicate: false }
      },
      onRefused: tell,
    })
    const answered = talk(world, `${head}content-length: 2\r\n\r\n{}${head}content-length: 1001\r\n\r\n`)
    expect((await answered).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 413'])
  })

  test('is refused too where the request is refused anyway', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
    const text = head.replace('application/json', 'image/png')
    const answer = await talk(world, `${text}transfer-encoding: chunked\r\n\r\n`, chunk, chunk, '0\r\n\r\n')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413'])
  })
})

describe('what a source answers itself', () => {
  const own = { status: 200, contentType: 'text/xml', body: '<Response/>' }

  test('[GU19] to an event is sent as it is, and no browser runs it', async () => {
    const world = await makeWorld({
      receive: async () => ({ eventId: 'evt_1' as EventId, duplicate: false, answer: own }),
    })
    const one = 'POST /in/default/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}'
    const answer = await talk(world, one)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).toMatch(/content-type: text\/xml\r\n/)
    expect(answer).toMatch(/content-security-policy: default-src 'none'; sandbox\r\n/)
    expect(answer.endsWith('\r\n\r\n<Response/>')).toBe(true)
  })

  test('[GU27] has no length where it has no content', async () => {
    const world = await makeWorld({ receive: async () => ({ handshake: { ...own, status: 204, body: '' } }) })
    const answer = await talk(
      world,
      'GET /in/default/x HTTP/1.1\r\nhost: x\r\n\r\n',
      'GET /in/default/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    )
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 204'])
    expect(answer).not.toMatch(/content-length|transfer-encoding|content-type:/i)
  })

  test('[GU18] to a handshake, also one that comes with GET', async () => {
    const world = await makeWorld({ receive: async () => ({ handshake: { ...own, body: '"yes"' } }) })
    const path = '/in/default/github?hub.challenge=17'
    const answer = await send(world, { method: 'GET', path, headers: {}, body: null })
    expect(answer).toMatchObject({ status: 200, body: 'yes' })
    expect(world.accepted).toMatchObject([{ method: 'GET', target: path }])
  })

  test('cannot break the node, whatever type it gives', async () => {
    const world = await makeWorld({
      receive: async () => ({ handshake: { ...own, contentType: 'a\r\nx-evil: 1' } }),
    })
    expect(await send(world, {})).toMatchObject({ status: 500, body: { code: 'internal' } })
    expect(world.failures).toHaveLength(1)
  })
})

describe('behind a proxy', () => {
  const headers = {
    'content-type': 'application/json',
    host: 'node.internal:4400',
    'x-forwarded-for': '140.82.115.3, 203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'hooks.example',
  }

  test('[GU4] [GU6] a trusted one says who sent it and where to', async () => {
    const world = await makeWorld({ trustedProxies: ['127.0.0.0/8'] })
    await send(world, { headers })
    expect(world.accepted).toMatchObject([
      { address: '203.0.113.7', publicUrl: 'https://hooks.example/in/default/github' },
    ])
  })

  test('[GU5] of any other no word is taken', async () => {
    const world = await makeWorld({ trustedProxies: ['10.0.0.0/8'] })
    await send(world, { headers })
    expect(world.accepted).toMatchObject([
      { address: '127.0.0.1', publicUrl: 'http://node.internal:4400/in/default/github' },
    ])
  })

  test('[GU6] what the operator says goes first', async () => {
    const world = await makeWorld({ trustedProxies: ['127.0.0.1'], publicBase: 'https://mill.example/hooks' })
    await send(world, { headers, path: '/in/default/github?a=b' })
    expect(world.accepted).toMatchObject([{ publicUrl: 'https://mill.example/hooks/in/default/github?a=b' }])
  })
})

test('a sender that disconnects midway does not affect others', async () => {
  const world = await makeWorld()
  const socket = connect(world.port, '127.0.0.1')
  await new Promise((resolve) =>
    socket.write(
      'POST /in/default/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
      resolve,
    ),
  )
  socket.resetAndDestroy()
  expect(await send(world, {})).toMatchObject({ status: 202 })
  expect(world.accepted).toHaveLength(1)
})

describe('memory before a sender is known', () => {
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n`
  const chunkedHead = (path: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  /** Opens a connection, sends the text, and stays. */
  const hold = async ({ port }: World, ...texts: readonly string[]) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    for (const text of texts) await new Promise((resolve) => socket.write(text, resolve))
    return socket
  }
  const unknown: HttpApi['sourceBodyMax'] = ({ source }) => {
    if (source === 'nowhere') throw new AppError('unknown_source')
    return 1_000
  }

  test('[GU29] unfinished bodies to a source that is not there hold no bytes', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000_000, sourceBodyMax: unknown })
    const piece = 'x'.repeat(50_000)
    const chunk = `c350\r\n${piece}\r\n`
    const sockets = []
    for (let count = 0; count < 20; count += 1) {
      sockets.push(await hold(world, head('/in/default/nowhere'), piece, piece))
      sockets.push(await hold(world, chunkedHead('/in/default/nowhere'), chunk, chunk))
    }
    // A body that ends is answered after all that came before it was read.
    const headers = { 'content-type': 'application/json' }
    const answer = await send(world, { path: '/in/default/nowhere', headers, body: piece })
    expect(answer).toMatchObject({ status: 404, body: { code: 'unknown_source' } })
    expect(world.budget.held).toBe(0)
    expect(world.accepted).toEqual([])
    for (const socket of sockets) socket.destroy()
  })

  test('[GU29] a source’s own limit counts while the body arrives', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000_000, sourceBodyMax: unknown })
    const said = await talk(world, head('/in/default/small'))
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
    const unsaid = await talk(world, chunkedHead('/in/default/small'), chunk)
    for (const answer of [said, unsaid]) {
      expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      expect(answer).toContain('the limit is 1000 bytes')
    }
    expect(world.budget.held).toBe(0)
    expect(world.refused.map(({ code }) => code)).toEqual(['body_too_large', 'body_too_large'])
  })

  test('[AP21] a body beyond the node’s budget is refused with a Retry-After, and the others continue', async () => {
    let settle = () => {}
    const stored = new Promise<void>((resolve) => {
      settle = resolve
    })
    let isReceived = () => {}
    const received = new Promise<void>((resolve) => {
      isReceived = resolve
    })
    const world = await makeWorld({
      bodyBytesMax: 1_000_000,
      heldBytesMax: 1_000,
      receive: async () => {
        isReceived()
        await stored
        return { eventId: 'evt_1' as EventId, duplicate: false }
      },
    })
    const first = send(world, { body: 'x'.repeat(900) })
    await received
    // It waits for its commit, and is counted until it is answered.
    expect(world.budget.held).toBe(900)
    const second = await send(world, { body: 'x'.repeat(200) })
    expect(second).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { code: 'overloaded' },
    })
    expect(second.headers['content-type']).toBe('application/problem+json')
    settle()
    expect(await first).toMatchObject({ status: 202 })
    expect(world.budget.held).toBe(0)
    expect(await send(world, { body: 'x'.repeat(200) })).toMatchObject({ status: 202 })
    expect(world.refused.map(({ code }) => code)).toEqual(['overloaded'])
  })

  test('[AP21] a sender that goes away in the middle gives its bytes back', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000_000, heldBytesMax: 60_000 })
    const socket = await hold(world, head('/in/default/x'), 'x'.repeat(50_000))
    await until(() => world.budget.held === 50_000)
    socket.resetAndDestroy()
    await until(() => world.budget.held === 0)
    expect(world.accepted).toEqual([])
  })

  test('[AP21] an inflated body counts with what it has become', async () => {
    const world = await makeWorld({
      bodyBytesMax: 1_000_000,
      heldBytesMax: 5_000,
      receive: async (request) => {
        await request.inflate?.(1_000_000, true)
        return { eventId: 'evt_1' as EventId, duplicate: false }
      },
    })
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const body = gzipSync('x'.repeat(50_000))
    expect(await send(world, { headers, body })).toMatchObject({ status: 503, body: { code: 'overloaded' } })
    expect(world.budget.held).toBe(0)
  })

  test('a node that starts looks for the source when it can, and reads the body then', async () => {
    let open = (_bytes: number) => {}
    const bytes = new Promise<number>((resolve) => {
      open = resolve
    })
    let isAsked = () => {}
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve
    })
    const world = await makeWorld({
      sourceBodyMax: () => {
        isAsked()
        return bytes
      },
    })
    const answered = send(world, { body: 'x'.repeat(500) })
    await asked
    expect(world.budget.held).toBe(0)
    open(1_000)
    expect(await answered).toMatchObject({ status: 202 })
    expect(world.accepted[0]?.body.byteLength).toBe(500)
  })
})
