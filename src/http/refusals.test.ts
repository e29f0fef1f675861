import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { HttpApi } from './api.ts'
import { describeFaults, FAULTS_SEEN_MAX, type SchemaFault } from './request-faults.ts'
import { makeHttpServer } from './server.ts'
import { VALUES_MAX } from './validation.ts'

const CALLER = {
  tenant: 'ours',
  role: 'admin',
  permissions: [],
  actor: 'me',
  isNodeAdmin: true,
  credential: { kind: 'node' },
}

/** A server whose parts note what they are asked for. */
function makeWorld(parts: Record<string, unknown> = {}, publicUrl: string | null = null) {
  const calls: unknown[][] = []
  const note =
    (name: string, answer: unknown = {}) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args])
      return answer
    }
  const api = {
    access: { byKey: async () => CALLER, signIn: note('signIn') },
    replays: { preview: note('preview'), begin: note('begin', { id: 'rpl_1', total: 1 }) },
    secrets: { set: note('set', { version: 1 }) },
    about: { environment: 'DEV', version: '0', node: 'one' },
    ...parts,
  }
  const server = makeHttpServer(api as unknown as HttpApi, {
    bodyBytesMax: 4_000_000,
    publicUrl,
    closeMs: 0,
    requestId: () => 'r',
    log: makeMemoryLog(),
  })
  const post = async (url: string, payload: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await server.app.inject({
      method: 'POST',
      url,
      headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }
  return { server, calls, post }
}

const unknownFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]))

describe('[AP13] a request with very many faults', () => {
  test('is described by its first ones; the others are not looked at', () => {
    let looked = 0
    const faults = Array.from({ length: 50_000 }, (_, index) => ({
      keyword: 'additionalProperties',
      instancePath: '',
      params: { additionalProperty: `f${index}` },
      get schemaPath() {
        looked += 1
        return '#/additionalProperties'
      },
    })) as SchemaFault[]
    expect(describeFaults(faults)).toHaveLength(50)
    expect(looked).toBeLessThanOrEqual(FAULTS_SEEN_MAX * 4)
  })

  test('gets a bounded answer', async () => {
    const { post, calls } = makeWorld()
    const filter = { filter: unknownFields(VALUES_MAX - 10) }
    const many = await post('/v1/dead-letters/replay', filter)
    expect(many).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(many.body.details.fields).toHaveLength(50)
    const tooMany = await post('/v1/dead-letters/replay', { filter: unknownFields(VALUES_MAX + 10) })
    expect(tooMany.body.details.fields).toHaveLength(1)
    const list = await post('/v1/definitions/plan', { files: new Array(50_000).fill(1) })
    expect(list.body.details.fields).toEqual([
      { path: '/files', message: expect.stringMatching(/^must have at most \d+ entries$/) },
    ])
    expect(calls).toEqual([])
  })

  test('is not even read where little is taken', async () => {
    const { post, calls } = makeWorld()
    const answer = await post('/v1/session', unknownFields(50_000))
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    expect(calls).toEqual([])
  })
})

describe('[AP14] a body', () => {
  test.each([
    ['/v1/dead-letters/replay', { filter: {}, dryRun: null }, '/dryRun'],
    ['/v1/dead-letters/replay', { filter: {}, dryRun: 'true' }, '/dryRun'],
    ['/v1/secrets', { name: 'token', value: true }, '/value'],
    ['/v1/secrets', { name: 'token', value: 7 }, '/value'],
  ])('of %s is taken as it is: %j is refused', async (url, body, path) => {
    const { post, calls } = makeWorld()
    const answer = await post(url, body)
    expect(answer.status).toBe(400)
    expect(answer.body.details.fields.map((field: { path: string }) => field.path)).toEqual([path])
    expect(calls).toEqual([])
  })
})

describe('[AP15] a body that is too large', () => {
  const event = (length: number) => ({ data: 'x'.repeat(length), reason: 'mended' })

  test('names the limit, and what to do about it', async () => {
    const { post } = makeWorld()
    const small = await post('/v1/session', { key: 'x'.repeat(17_000) })
    expect(small.body).toMatchObject({ detail: 'the limit here is 16384 bytes', details: { limit: 16_384 } })
    expect(small.body.next).not.toContain('limits.body')
    const large = await post('/v1/dead-letters/dlq_1/edit', event(4_000_000))
    expect(large.body).toMatchObject({ status: 413, detail: 'the limit here is 4000000 bytes' })
    expect(large.body.next).toContain('MILLRACE_BODY_LIMIT')
    const files = await post('/v1/definitions/check', { files: [{ path: 'a', text: 'x'.repeat(8_400_000) }] })
    expect(files.body).toMatchObject({ status: 413, next: 'Send fewer files at once.' })
  })

  test('is one that could not have arrived as an event', async () => {
    const letter = { id: 'dlq_1', consumer: 'route:book' }
    let edited = 0
    const { post } = makeWorld({
      deadLetters: {
        edit: async (_tenant: string, _id: string, { data }: { data: string }) => {
          edited = data.length
        },
      },
      inspect: { compute: async () => ({ ok: true, value: 1, type: 'int' }) },
      reads: () => ({ deadLetter: async () => letter, event: async () => null }),
    })
    await post('/v1/dead-letters/dlq_1/edit', event(100_000))
    expect(edited).toBe(100_000)
    const asked = { subject: 'shop.paid', data: 'x'.repeat(100_000) }
    const tried = await post('/v1/try/expression', { expression: '1', as: 'pick', event: asked })
    expect(tried.status).toBe(200)
  })
})

test('[AP16] a POST that only reads ignores an idempotency key and keeps nothing', async () => {
  let runs = 0
  const { post, calls } = makeWorld({
    inspect: {
      compute: async () => {
        runs += 1
        return { ok: true, value: runs, type: 'int' }
      },
    },
  })
  const body = { expression: '1', as: 'pick', event: 'evt_1' }
  for (const value of [1, 2]) {
    const answer = await post('/v1/try/expression', body, { 'idempotency-key': 'k-1' })
    expect(answer).toMatchObject({ status: 200, body: { value } })
    expect(answer.headers).not.toHaveProperty('idempotency-replayed')
  }
  expect(calls).toEqual([])
})

/** What a server answers to bytes. */
async function exchange(text: string): Promise<{ status: number; head: string; body: { code: string } }> {
  await using server = makeWorld().server
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const answer = await new Promise<string>((resolve, reject) => {
    let all = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (part) => {
      all += part
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(all))
  })
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body) }
}

describe('[AP17] a problem document answers', () => {
  test.each([
    ['what is not HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'an address that cannot be read',
      'GET /v1/%zz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'a name longer than any',
      `GET /v1/work/${'x'.repeat(257)} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
      400,
      'invalid_request',
    ],
  ])('%s', async (_name, text, status, code) => {
    const answer = await exchange(text)
    expect(answer).toMatchObject({ status, body: { status, code, next: expect.stringMatching(/\.$/) } })
    expect(answer.head).toContain('application/problem+json')
    expect(answer.head).toContain('x-content-type-options: nosniff')
  })

  test('another method than the address has, and says which it has', async () => {
    const { server } = makeWorld()
    const ask = (method: 'GET' | 'PUT' | 'POST', url: string) => server.app.inject({ method, url })
    const answer = await ask('PUT', '/v1/keys/key_1?x=1')
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'DELETE'])
    expect(answer.json()).toMatchObject({ code: 'method_not_allowed', details: { allow: ['DELETE'] } })
    expect((await ask('GET', '/v1/session/')).headers.allow).toBe('DELETE, POST')
    expect((await ask('POST', '/healthz')).headers.allow).toBe('GET, HEAD')
    expect((await ask('PUT', '/v1/nowhere')).statusCode).toBe(404)
  })
})

test('[AP18] a name of 128 characters finds its way', async () => {
  const revoked: string[] = []
  const revoke = async (_tenant: string, id: string) => void revoked.push(id)
  const { server } = makeWorld({ access: { byKey: async () => CALLER, keys: { revoke } } })
  const id = 'k'.repeat(128)
  const answer = await server.app.inject({
    method: 'DELETE',
    url: `/v1/keys/${id}`,
    headers: { authorization: 'Bearer key' },
  })
  expect(answer.statusCode).toBe(204)
  expect(revoked).toEqual([id])
})

describe('[AP19] what users write', () => {
  test.each(['two\nlines', 'bell\u0007', 'turned \u202e round', 'hidden\ufeff', ' '])(
    'is refused: %j',
    async (reason) => {
      const { post, calls } = makeWorld()
      const answer = await post('/v1/dead-letters/replay', { filter: {}, reason })
      expect(answer.status).toBe(400)
      expect(answer.body.details.fields).toMatchObject([{ path: '/reason' }])
      const key = await post('/v1/keys', { name: reason, role: 'viewer' })
      expect(key.body.details.fields).toMatchObject([{ path: '/name' }])
      expect(calls).toEqual([])
    },
  )

  test('is taken in any script', async () => {
    const { post, calls } = makeWorld()
    for (const reason of ['le café est revenu', 'می\u200cخواهم', '修好了 👩\u200d🔧']) {
      expect((await post('/v1/dead-letters/replay', { filter: {}, reason })).status).toBe(202)
    }
    expect(calls).toHaveLength(3)
  })

  test('is never taken for something else by a browser', async () => {
    const { server, post } = makeWorld()
    const answers = [
      await server.app.inject('/healthz'),
      await server.app.inject('/v1/nowhere'),
      await post('/v1/session', {}),
    ]
    for (const { headers } of answers) expect(headers['x-content-type-options']).toBe('nosniff')
  })
})

test('[FD11] figures that were asked for just now are given again', async () => {
  let now = 1_000_000
  const asked: number[] = []
  const figures = {
    stepMs: 2_000,
    from: 0,
    ...Object.fromEntries(
      ['accepted', 'done', 'retried', 'dead', 'latencyP50Ms', 'latencyP95Ms', 'queueAgeMs'].map((name) => [
        name,
        [],
      ]),
    ),
    consumers: [],
    sources: [],
  }
  const { server } = makeWorld({
    now: () => now,
    reads: () => ({ overview: async () => ({ oldestReadyAt: null }) }),
    meter: {
      queueAge: () => {},
      stats: (_tenant: string, minutes: number) => {
        asked.push(minutes)
        return figures
      },
    },
  })
  const look = async (minutes: number) => {
    const headers = { authorization: 'Bearer key' }
    const answer = await server.app.inject({ url: `/v1/stats?minutes=${minutes}`, headers })
    expect(answer.json()).toMatchObject({ stepMs: 2_000, from: '1970-01-01T00:00:00.000Z' })
  }
  for (const minutes of [1_440, 15, 1_440, 15]) await look(minutes)
  expect(asked).toEqual([1_440, 15])
  now += 2_000
  await look(15)
  expect(asked).toEqual([1_440, 15, 15])
})

test('[IA8] the OAuth callback address is the public one, not the one in the request', async () => {
  const callbacks: unknown[] = []
  const integrations = {
    authorizeUrl: async (_tenant: string, _id: string, callback: string) => {
      callbacks.push(callback)
      return { url: 'https://vendor.example/consent', expiresAt: 0 }
    },
  }
  for (const publicUrl of ['https://hooks.example.com/m', null]) {
    const { server, post } = makeWorld({ integrations }, publicUrl)
    const host = { host: 'elsewhere.example' }
    const answer = await post('/v1/integrations/credentials/depot-key/authorize', {}, host)
    expect(answer.status).toBe(200)
    await server.close()
  }
  expect(callbacks).toEqual([
    'https://hooks.example.com/m/v1/integrations/oauth/callback',
    'http://elsewhere.example/v1/integrations/oauth/callback',
  ])
})
