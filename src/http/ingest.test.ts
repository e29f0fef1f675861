import { createServer, request as httpRequest, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { AppError } from '../core/errors/index.ts'
import type { EventId } from '../core/ids/index.ts'
import type { HttpApi, IngestRequest } from './api.ts'
import { isIngest, makeIngest } from './ingest.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

interface World {
  readonly port: number
  readonly accepted: IngestRequest[]
  readonly failures: unknown[]
  closing: boolean
}

async function makeWorld(over: { bodyBytesMax?: number; accept?: HttpApi['accept'] } = {}): Promise<World> {
  const accepted: IngestRequest[] = []
  const failures: unknown[] = []
  const world = { port: 0, accepted, failures, closing: false }
  let requests = 0
  const ingest = makeIngest({
    accept: async (request) => {
      accepted.push(request)
      return over.accept ? over.accept(request) : { eventId: 'evt_1' as EventId, duplicate: false }
    },
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
      remoteAddress: '127.0.0.1',
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
    const world = await makeWorld({ accept: async () => ({ eventId: 'evt_0' as EventId, duplicate: true }) })
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
      accept: async () => {
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

  test('by our own failure is told nothing but its number, and reported', async () => {
    const world = await makeWorld({
      accept: async () => {
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
    for (const method of ['GET', 'PUT', 'DELETE']) {
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
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': '' },
    {},
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  ])('with %j is 415', async (headers) => {
    const world = await makeWorld()
    expect(await send(world, { headers: headers as Record<string, string> })).toMatchObject({
      status: 415,
      body: { code: 'wrong_type' },
    })
    expect(world.accepted).toEqual([])
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
    const answer = await talk(world, one('text/plain', ''), one('application/json', 'connection: close\r\n'))
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

  test('is refused too where the request is refused anyway', async () => {
    const world = await makeWorld({ bodyBytesMax: 1_000 })
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
    const text = head.replace('application/json', 'text/plain')
    const answer = await talk(world, `${text}transfer-encoding: chunked\r\n\r\n`, chunk, chunk, '0\r\n\r\n')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413'])
  })
})

test('a sender that goes away in the middle disturbs nobody', async () => {
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
