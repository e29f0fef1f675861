import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { httpClientConformance, type ServerBehaviour } from '../../ports/http-client.conformance.ts'
import { TEST_CERTIFICATE, TEST_KEY } from './certificates.fixture.ts'
import { makeHttpClient } from './index.ts'
import { answer, get, listen, listenRaw, makeClient } from './servers.fixture.ts'

async function serve(behaviour: ServerBehaviour): Promise<{ url: string; received(): number }> {
  switch (behaviour.do) {
    case 'refuse': {
      const server = createNetServer()
      const port = await listen(server)
      await new Promise((resolve) => server.close(resolve))
      return { url: `http://127.0.0.1:${port}/`, received: () => 0 }
    }
    case 'unresolvable':
      return { url: 'http://nobody.invalid/', received: () => 0 }
    case 'answer': {
      const { status, headers = {}, body = '' } = behaviour
      return listenRaw((socket) => socket.write(answer(status, headers, body)))
    }
    case 'close-before-head':
      return listenRaw((socket) => socket.destroy())
    case 'close-in-body':
      return listenRaw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'))
    case 'never-answer':
      return listenRaw(() => {})
    case 'drip':
      return listenRaw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
        const timer = setInterval(() => socket.write('x'), 10)
        socket.once('close', () => clearInterval(timer))
      })
    case 'garbage':
      return listenRaw((socket) => socket.end('220 mail.example.com ESMTP\r\n'))
    case 'answer-then-close':
      return listenRaw((socket, number, text) => {
        if (number > 1) socket.destroy()
        else socket.write(answer(200, {}, text.startsWith('HEAD') ? '' : 'ok'))
      })
  }
}

httpClientConformance('undici', async () => {
  const client = makeHttpClient({ allow: ['loopback'] })
  return { client, serve, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() }
})

describe('the guard', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://0x7f000001:PORT/',
    'http://2130706433:PORT/',
    'http://017700000001:PORT/',
    'http://127.1:PORT/',
    'http://0:PORT/',
    'http://[::1]:PORT/',
    'http://[::]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::127.0.0.1]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://[fe80::1]:PORT/',
    'http://localhost:PORT/',
    'http://LOCALHOST.:PORT/',
    'https://127.0.0.1:PORT/',
  ])('blocks %s if this machine is not allowed', async (spelling) => {
    const { port, received } = await listenRaw((socket) => socket.end(answer(200, {}, 'leaked')))
    const outcome = await makeClient({ allow: [] }).send(get(spelling.replace('PORT', String(port))))
    expect(outcome.kind === 'failed' && outcome.sent).toBe('no')
    // Some resolvers do not know the name with a final dot.
    expect(outcome.kind === 'failed' && outcome.code).toMatch(
      spelling.includes('.:') ? /blocked|unresolved/ : /^blocked$/,
    )
    expect(received()).toBe(0)
  })

  test('allows this machine if it is listed, by name and by number', async () => {
    const { port } = await listenRaw((socket) => socket.write(answer(200, {}, 'ok')))
    const client = makeClient()
    for (const host of ['127.0.0.1', 'localhost', '0x7f000001', '[::ffff:127.0.0.1]']) {
      expect(await client.send(get(`http://${host}:${port}/`))).toMatchObject({
        kind: 'response',
        body: 'ok',
      })
    }
  })

  test('allows listed networks, and only those', async () => {
    const { port, url } = await listenRaw((socket) => socket.write(answer(200, {}, 'ok')))
    expect(await makeClient({ allow: ['127.0.0.0/8'] }).send(get(url))).toMatchObject({
      kind: 'response',
    })
    const other = makeClient({ allow: ['10.0.0.0/8', 'fd00::/8'] })
    expect(await other.send(get(url))).toMatchObject({ code: 'blocked' })
    expect(await other.send(get(`http://[::1]:${port}/`))).toMatchObject({ code: 'blocked' })
    expect(() => makeHttpClient({ allow: ['10.0.0'] })).toThrow()
  })

  test('resolves once per connection and dials only checked addresses', async () => {
    const { port, received } = await listenRaw((socket) => socket.end(answer(200, {}, 'ok')))
    const asked: string[] = []
    // The first answer passes, the second would not: a resolver that changes its mind.
    const answers = [[{ address: '127.0.0.1', family: 4 }], [{ address: '10.0.0.1', family: 4 }]]
    const client = makeClient({
      resolve: async (hostname) => {
        asked.push(hostname)
        return answers[asked.length - 1] ?? []
      },
    })
    const url = `http://rebinding.example:${port}/`
    expect(await client.send(get(url))).toMatchObject({ kind: 'response' })
    expect(asked).toEqual(['rebinding.example'])
    expect(await client.send(get(url))).toMatchObject({ kind: 'failed', code: 'unresolved', sent: 'no' })
    expect(received()).toBe(1)
  })

  test('[OG3] [OG31] one forbidden address of a name refuses the name', async () => {
    const { port, received } = await listenRaw((socket) => socket.end(answer(200, {}, 'ok')))
    for (const bad of ['10.255.255.1', 'fd00::1', '169.254.169.254']) {
      const mixed = ['127.0.0.1', bad, '127.0.0.1'].map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }))
      const client = makeClient({ resolve: async () => mixed })
      const outcome = await client.send(get(`http://mixed.example:${port}/`))
      expect(outcome).toMatchObject({ code: 'unresolved', sent: 'no' })
      expect(JSON.stringify(outcome)).not.toContain(bad)
    }
    expect(received()).toBe(0)
  })

  test('[OG31] a name without addresses cannot be reached', async () => {
    const client = makeClient({ resolve: async () => [] })
    expect(await client.send(get('http://empty.example/'))).toMatchObject({ code: 'unresolved', sent: 'no' })
  })
})

describe('the exchange', () => {
  test('sends method, path, headers and body as given', async () => {
    const seen: { request: IncomingMessage; body: string }[] = []
    const port = await listen(
      createServer((request, response) => {
        let body = ''
        request.on('data', (chunk) => {
          body += chunk
        })
        request.on('end', () => {
          seen.push({ request, body })
          response.end()
        })
      }),
    )
    const client = makeClient()
    await client.send({
      ...get(`http://127.0.0.1:${port}/a%20b?c=d`),
      method: 'PATCH',
      headers: { 'idempotency-key': 'k-1' },
      body: '{"ü":1}',
    })
    const { request, body } = seen[0]!
    expect(request).toMatchObject({ method: 'PATCH', url: '/a%20b?c=d' })
    expect(request.headers).toEqual({
      host: `127.0.0.1:${port}`,
      connection: 'keep-alive',
      'accept-encoding': 'identity',
      'idempotency-key': 'k-1',
      'content-length': '8',
    })
    expect(body).toBe('{"ü":1}')
  })

  test('is limited in size also if the response does not declare its length', async () => {
    const handler: RequestListener = (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 1)
      response.once('close', () => clearInterval(timer))
    }
    const port = await listen(createServer(handler))
    const outcome = await makeClient().send(get(`http://127.0.0.1:${port}/`, { maxResponseBytes: 50_000 }))
    expect(outcome).toMatchObject({ kind: 'failed', code: 'too_large', sent: 'maybe' })
  })

  test('is limited in size also for the head', async () => {
    const { url } = await listenRaw((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100_000)}\r\ncontent-length: 0\r\n\r\n`)
    })
    expect(await makeClient().send(get(url))).toMatchObject({ code: 'too_large', sent: 'maybe' })
  })

  test('accepts the length that a HEAD response declares', async () => {
    const { url } = await listenRaw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n'),
    )
    expect(await makeClient().send(get(url, { method: 'HEAD' }))).toMatchObject({
      kind: 'response',
      body: '',
    })
  })

  test('skips informational responses', async () => {
    const { url } = await listenRaw((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')
      socket.write(answer(200, {}, 'ok'))
    })
    expect(await makeClient().send(get(url))).toMatchObject({ kind: 'response', status: 200, body: 'ok' })
  })

  test('a reset by the other side after the head is a reset', async () => {
    const { url } = await listenRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab', () => socket.resetAndDestroy())
    })
    expect(await makeClient().send(get(url))).toMatchObject({ code: 'reset', sent: 'maybe' })
  })

  test.each([
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/9.9 200 OK\r\n\r\n',
  ])('rejects %j as not HTTP', async (text) => {
    const { url } = await listenRaw((socket) => socket.end(text))
    expect(await makeClient().send(get(url))).toMatchObject({ code: 'protocol', sent: 'maybe' })
  })

  test('a connection that was never accepted sends nothing, and waiting for one has the same limit', async () => {
    const { url } = await listenRaw(() => {})
    const client = makeClient({ connectionsPerOrigin: 1 })
    const [first, second] = await Promise.all([
      client.send(get(url, { timeoutMs: 200 })),
      client.send(get(url, { timeoutMs: 100 })),
    ])
    expect(first).toMatchObject({ code: 'timeout', sent: 'maybe' })
    expect(second).toMatchObject({ code: 'timeout', sent: 'no' })
  })

  test('a request that timed out while it waited is not sent later', async () => {
    let release = () => {}
    const seen: string[] = []
    const { url } = await listenRaw((socket, _number, text) => {
      seen.push(text.split(' ')[1] as string)
      const respond = () => socket.write(answer(200, {}, 'ok'))
      if (seen.length === 1) release = respond
      else respond()
    })
    const client = makeClient({ connectionsPerOrigin: 1 })
    const slow = client.send(get(`${url}first`))
    expect(await client.send(get(`${url}given-up`, { timeoutMs: 50 }))).toMatchObject({
      code: 'timeout',
      sent: 'no',
    })
    release()
    expect(await slow).toMatchObject({ kind: 'response' })
    expect(await client.send(get(`${url}last`))).toMatchObject({ kind: 'response' })
    expect(seen).toEqual(['/first', '/last'])
  })

  test('a kept-alive connection that the other side drops at the next request costs that request, once', async () => {
    const { url, received } = await serve({ do: 'answer-then-close' })
    const client = makeClient({ connectionsPerOrigin: 1 })
    const kinds: string[] = []
    for (let call = 0; call < 4; call += 1) {
      const outcome = await client.send(get(url, { method: 'POST', body: '{}' }))
      kinds.push(outcome.kind === 'failed' ? outcome.sent : outcome.kind)
    }
    expect(kinds).toEqual(['response', 'maybe', 'response', 'maybe'])
    expect(received()).toBe(4)
  })

  test('a kept-alive connection that was closed while idle is not used', async () => {
    let closing: Promise<unknown> = Promise.resolve()
    const { url, received } = await listenRaw((socket) => {
      closing = once(socket, 'close')
      socket.end(answer(200, {}, 'ok'))
    })
    const client = makeClient()
    for (let call = 0; call < 3; call += 1) {
      expect(await client.send(get(url, { method: 'POST', body: '{}' }))).toMatchObject({ kind: 'response' })
      await closing
    }
    expect(received()).toBe(3)
  })

  test('many requests over few connections all end, whether they succeed or not', async () => {
    const client = makeClient({ connectionsPerOrigin: 2 })
    const { url, received } = await listenRaw((socket) => socket.write(answer(200, {}, 'ok')))
    const served = await Promise.all(Array.from({ length: 50 }, () => client.send(get(url))))
    expect(served.every((outcome) => outcome.kind === 'response')).toBe(true)
    expect(received()).toBe(50)
    const { url: refused } = await serve({ do: 'refuse' })
    const failed = await Promise.all(Array.from({ length: 50 }, () => client.send(get(refused))))
    expect(failed.every((outcome) => outcome.kind === 'failed' && outcome.code === 'refused')).toBe(true)
  })

  test('proxies of the environment are ignored', async () => {
    const proxy = await listenRaw((socket) => socket.end(answer(200, {}, 'proxied')))
    const { url } = await listenRaw((socket) => socket.end(answer(200, {}, 'direct')))
    const before = { ...process.env }
    Object.assign(process.env, { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url })
    try {
      expect(await makeClient().send(get(url))).toMatchObject({ body: 'direct' })
    } finally {
      for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
    }
  })

  test('after closing, requests under way and later ones fail with an outcome', async () => {
    const { url, received } = await listenRaw(() => {})
    const client = makeHttpClient({ allow: ['loopback'] })
    const underWay = client.send(get(url))
    while (received() === 0) await new Promise(setImmediate)
    await client[Symbol.asyncDispose]()
    expect(await underWay).toMatchObject({ kind: 'failed', sent: 'maybe' })
    expect(await client.send(get(url))).toMatchObject({ kind: 'failed', sent: 'no' })
  })
})

describe('TLS', () => {
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]

  async function listenTls() {
    const names: (string | false | null)[] = []
    const server = createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (request, response) => {
      names.push(
        (request.socket as import('node:tls').TLSSocket & { servername: string | false | null }).servername,
      )
      response.end('ok')
    })
    return { port: await listen(server), names }
  }

  test('asks for the name in the address and checks the certificate against it', async () => {
    const { port, names } = await listenTls()
    const client = makeClient({ ca: TEST_CERTIFICATE, resolve })
    expect(await client.send(get(`https://api.example.test:${port}/`))).toMatchObject({ body: 'ok' })
    expect(names).toEqual(['api.example.test'])
    expect(await client.send(get(`https://other.example.test:${port}/`))).toMatchObject({
      code: 'tls',
      sent: 'no',
    })
    expect(await client.send(get(`https://127.0.0.1:${port}/`))).toMatchObject({ code: 'tls', sent: 'no' })
    expect(names).toHaveLength(1)
  })

  test('does not send to a server whose certificate is not trusted', async () => {
    const { port, names } = await listenTls()
    const client = makeClient({ resolve })
    expect(await client.send(get(`https://api.example.test:${port}/`))).toMatchObject({
      code: 'tls',
      sent: 'no',
    })
    expect(names).toEqual([])
  })

  test.each([
    [
      'answers in clear',
      (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    ],
    ['closes', (socket: Socket) => socket.once('data', () => socket.destroy())],
    ['resets', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy())],
  ])('a server that %s during the handshake got nothing', async (_name, onConnection) => {
    const port = await listen(createNetServer((socket) => void onConnection(socket)))
    expect(await makeClient().send(get(`https://127.0.0.1:${port}/`))).toMatchObject({
      code: 'tls',
      sent: 'no',
    })
  })

  test('a handshake that never ends times out with nothing sent', async () => {
    const port = await listen(createNetServer(() => {}))
    const outcome = await makeClient().send(get(`https://127.0.0.1:${port}/`, { timeoutMs: 100 }))
    expect(outcome).toMatchObject({ code: 'timeout', sent: 'no' })
  })
})
