// What servers may do to a request, on real sockets: each is one outcome, and none holds the caller longer than its limit.

import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { EXPIRED_CERTIFICATE, EXPIRED_KEY, TEST_CERTIFICATE, TEST_KEY } from './certificates.fixture.ts'
import { answer, get, listen, listenRaw, makeClient } from './servers.fixture.ts'

const FOR_EVER_MS = 60_000

/** Sends the request to a server that does `act`, and waits until the server has seen the connection end. */
async function exchange(
  act: (socket: Socket) => unknown,
  over: Partial<HttpRequest> = {},
  options: Parameters<typeof makeClient>[0] = {},
): Promise<HttpOutcome> {
  let closed: Promise<unknown> = Promise.resolve()
  const { url } = await listenRaw((socket) => {
    closed = new Promise((resolve) => socket.once('close', resolve))
    act(socket)
  })
  const outcome = await makeClient(options).send(get(url, over))
  await closed
  return outcome
}

/** Writes the piece again and again, for as long as the other side reads. */
function flood(socket: Socket, head: string, piece: string): void {
  socket.write(head)
  const more = () => {
    while (!socket.destroyed && socket.write(piece.repeat(1_000))) {}
  }
  socket.on('drain', more)
  more()
}

function drip(socket: Socket, piece: string, head = ''): void {
  socket.write(head)
  const timer = setInterval(() => socket.write(piece), 5)
  socket.once('close', () => clearInterval(timer))
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`

describe('a response that may be cut', () => {
  const cut = { cut: true, maxResponseBytes: 10, timeoutMs: FOR_EVER_MS } as const

  test.each<[string, (socket: Socket) => unknown, string]>([
    ['announces too much', (socket) => socket.write(answer(200, {}, 'x'.repeat(5_000))), 'xxxxxxxxxx'],
    ['has one byte too many', (socket) => socket.write(answer(200, {}, '12345678901')), '1234567890'],
    ['never ends', (socket) => flood(socket, CHUNKED, '5\r\nabcde\r\n'), 'abcde'],
    ['closes early', (socket) => socket.end(`${HEAD}content-length: 9\r\n\r\nshort`), 'short'],
    [
      'is reset',
      (socket) => socket.write(`${HEAD}content-length: 9\r\n\r\nshort`, () => socket.resetAndDestroy()),
      'short',
    ],
    ['has malformed chunks', (socket) => socket.write(`${CHUNKED}5\r\nshort\r\nzz\r\n`), 'short'],
    ['has a chunk without its end', (socket) => socket.end(`${CHUNKED}5\r\nsho`), 'sho'],
    [
      'has trailers without end',
      (socket) => socket.write(`${CHUNKED}5\r\nshort\r\n0\r\nx: ${'x'.repeat(100_000)}`),
      'short',
    ],
  ])('[OG12] [OG13] that %s is a response, and the connection is closed', async (_name, act, body) => {
    const outcome = await exchange(act, cut)
    expect(outcome).toMatchObject({ kind: 'response', status: 200, isCut: true })
    expect(outcome.kind === 'response' && body.startsWith(outcome.body.slice(0, 5))).toBe(true)
    expect(outcome.kind === 'response' && outcome.body.length).toBeLessThanOrEqual(10)
  })

  test.each<[string, (socket: Socket) => unknown]>([
    ['stops behind its head', (socket) => socket.write(`${HEAD}content-length: 9\r\n\r\n`)],
    ['stops in its body', (socket) => socket.write(`${CHUNKED}5\r\nshort\r\n`)],
    ['drips', (socket) => drip(socket, '1\r\nx\r\n', CHUNKED)],
  ])(
    '[OG12] [OG13] that %s is cut after its grace period, or at the limit if that is sooner',
    async (_name, act) => {
      const plenty = { ...cut, maxResponseBytes: 1_000_000 }
      for (const [limits, options] of [
        [plenty, { cutAfterMs: 30 }],
        [{ ...plenty, timeoutMs: 150 }, { cutAfterMs: FOR_EVER_MS }],
      ] as const) {
        const outcome = await exchange(act, limits, options)
        expect(outcome).toMatchObject({ kind: 'response', status: 200, isCut: true })
      }
    },
  )

  test('[OG12] that is complete is not cut, and its connection is kept alive', async () => {
    const sockets = new Set<Socket>()
    const { url } = await listenRaw((socket) => {
      sockets.add(socket)
      socket.write(answer(503, { 'retry-after': '7' }, '1234567890'))
    })
    const client = makeClient({ connectionsPerOrigin: 1 })
    for (let call = 0; call < 3; call += 1) {
      const outcome = await client.send(get(url, cut))
      expect(outcome).toMatchObject({ status: 503, body: '1234567890', headers: { 'retry-after': '7' } })
      expect(outcome).not.toHaveProperty('isCut')
    }
    expect(sockets.size).toBe(1)
  })

  test('[OG12] a failure before the head is still a failure', async () => {
    const late = { ...cut, timeoutMs: 60 }
    expect(await exchange(() => {}, late)).toMatchObject({ code: 'timeout', sent: 'maybe' })
    expect(await exchange((socket) => socket.destroy(), cut)).toMatchObject({ code: 'reset', sent: 'maybe' })
    expect(await exchange((socket) => socket.end('no HTTP\r\n'), cut)).toMatchObject({ code: 'protocol' })
    expect(await exchange((socket) => drip(socket, 'H'), late)).toMatchObject({
      kind: 'failed',
      code: expect.stringMatching(/^(protocol|timeout)$/),
    })
  })

  test('[OG12] after a cut the next request opens a new connection', async () => {
    const seen = new Set<Socket>()
    const { url } = await listenRaw((socket) => {
      seen.add(socket)
      socket.write(answer(200, {}, 'x'.repeat(100)))
    })
    const client = makeClient({ connectionsPerOrigin: 1 })
    for (let call = 0; call < 3; call += 1)
      expect(await client.send(get(url, cut))).toMatchObject({
        status: 200,
        isCut: true,
        body: 'x'.repeat(10),
      })
    expect(seen.size).toBe(3)
  })
})

describe('a server that', () => {
  const soon = { timeoutMs: 100 }
  const outcome = (code: string) => ({ kind: 'failed', code, sent: 'maybe' })

  test.each<[string, (socket: Socket) => unknown, string, Partial<HttpRequest>?]>([
    ['sends a header without end', (socket) => socket.write(`${HEAD}x: ${'x'.repeat(200_000)}`), 'too_large'],
    ['sends headers without end', (socket) => flood(socket, HEAD, 'x: 1\r\n'), 'too_large'],
    ['drips its head', (socket) => drip(socket, 'x', HEAD), 'timeout', soon],
    ['drips its status', (socket) => socket.write('HTTP/1.1 2'), 'timeout', soon],
    ['floods with 1xx', (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'), 'protocol'],
    ['drips 1xx', (socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n'), 'protocol'],
    ['stops after a 1xx', (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 'timeout', soon],
    ['drips its body', (socket) => drip(socket, '1\r\nx\r\n', CHUNKED), 'timeout', soon],
    ['sends malformed chunks', (socket) => socket.write(`${CHUNKED}zz\r\n`), 'protocol'],
    [
      'sends a chunk size beyond all numbers',
      (socket) => socket.write(`${CHUNKED}${'f'.repeat(40)}\r\n`),
      'protocol',
    ],
    ['ends in a chunk', (socket) => socket.end(`${CHUNKED}5\r\nsho`), 'reset'],
    [
      'ends in a chunk, having said that it closes',
      (socket) => socket.end(`${HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nsho`),
      'protocol',
    ],
    [
      'sends trailers without end',
      (socket) => socket.write(`${CHUNKED}0\r\nx: ${'x'.repeat(200_000)}`),
      'too_large',
    ],
    [
      'says two lengths',
      (socket) => socket.write(`${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      'protocol',
    ],
    [
      'says a length and chunks',
      (socket) => socket.write(`${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`),
      'protocol',
    ],
    ['closes before its head is whole', (socket) => socket.end(HEAD), 'reset'],
    ['speaks HTTP/2 unasked', (socket) => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), 'protocol'],
    ['speaks something else', (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'), 'protocol'],
    ['sends zeroes', (socket) => socket.write('\0'.repeat(1_000)), 'protocol'],
  ])('[OG13] [OG14] %s has one outcome, and loses its connection', async (_name, act, code, over = {}) => {
    expect(await exchange(act, { timeoutMs: FOR_EVER_MS, ...over })).toMatchObject(outcome(code))
  })

  test.each<[string, string, string]>([
    ['HTTP/1.0 with a length', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['HTTP/1.0 until it closes', 'HTTP/1.0 200 OK\r\n\r\nok', 'ok'],
    ['HTTP/1.1 until it closes', 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok', 'ok'],
    ['trailers', `${CHUNKED}2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n`, 'ok'],
    ['chunk extensions', `${CHUNKED}2;a=b\r\nok\r\n0\r\n\r\n`, 'ok'],
    ['no reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ])('[OG14] responds with %s is understood', async (_name, text, body) => {
    for (const over of [{}, { cut: true } as const])
      expect(await exchange((socket) => socket.end(text), over)).toMatchObject({
        kind: 'response',
        status: 200,
        body,
      })
  })
})

describe('a certificate', () => {
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]

  test.each([
    ['that nobody vouches for', TEST_KEY, TEST_CERTIFICATE, undefined, 'api.example.test'],
    ['for another name', TEST_KEY, TEST_CERTIFICATE, TEST_CERTIFICATE, 'other.example.test'],
    ['for a name, where a number was called', TEST_KEY, TEST_CERTIFICATE, TEST_CERTIFICATE, '127.0.0.1'],
    ['that has expired', EXPIRED_KEY, EXPIRED_CERTIFICATE, EXPIRED_CERTIFICATE, 'api.example.test'],
  ])('[OG8] [OG14] %s ends the call before anything is sent', async (_name, key, cert, ca, host) => {
    let requests = 0
    const server = createTlsServer({ key, cert }, (_request, response) => {
      requests += 1
      response.end('ok')
    })
    const port = await listen(server)
    const client = makeClient({ resolve, ...(ca !== undefined && { ca }) })
    const outcome = await client.send(get(`https://${host}:${port}/`, { cut: true }))
    expect(outcome).toMatchObject({ kind: 'failed', code: 'tls', sent: 'no' })
    expect(requests).toBe(0)
  })
})
