import { describe, expect, test } from 'vitest'
import { ConnectionError, makeClient, ProblemError, type StreamMessage } from './index.ts'

interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** A node whose responses the test sets. */
function makeNode(answers: readonly (Response | Error | ((sent: Sent, signal: AbortSignal) => Response))[]) {
  const sent: Sent[] = []
  const left = [...answers]
  const send = async (input: unknown, init: RequestInit = {}) => {
    const request = {
      url: String(input),
      method: init.method ?? 'GET',
      headers: init.headers as Record<string, string>,
      body: (init.body as string | undefined) ?? null,
    }
    sent.push(request)
    const answer = left.shift()
    if (answer === undefined) throw new Error('nobody answers')
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(request, init.signal as AbortSignal) : answer
  }
  return { sent, fetch: send as typeof fetch }
}

const json = (value: unknown, status = 200, type = 'application/json', headers = {}) =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': type, ...headers } })
const PROBLEM = {
  type: '/errors/not_found',
  title: 'Not found',
  status: 404,
  detail: 'there is no event with this id',
  code: 'not_found',
  next: 'Check the id or the address.',
  instance: '/requests/1',
}
const problem = (over: object = {}, headers = {}) => {
  const body = { ...PROBLEM, ...over }
  return json(body, body.status, 'application/problem+json', headers)
}

describe('[AP10] the client', () => {
  test('puts arguments where they belong: path, query, body', async () => {
    const node = makeNode([json({ items: [], nextCursor: null }), json({ id: 'wrk_1' })])
    const client = makeClient({ url: 'http://localhost:4400/', key: 'mrk_1', fetch: node.fetch })
    await client.listEvents({ source: 'my shop', limit: 10, q: undefined })
    await client.resolveWork({ id: 'a/b', as: 'done', reason: 'seen' }, { idempotencyKey: 'k' })
    expect(node.sent).toEqual([
      {
        method: 'GET',
        url: 'http://localhost:4400/v1/events?limit=10&source=my+shop',
        headers: { accept: 'application/json', authorization: 'Bearer mrk_1' },
        body: null,
      },
      {
        method: 'POST',
        url: 'http://localhost:4400/v1/work/a%2Fb/resolve',
        headers: {
          accept: 'application/json',
          authorization: 'Bearer mrk_1',
          'content-type': 'application/json',
          'idempotency-key': 'k',
        },
        body: '{"as":"done","reason":"seen"}',
      },
    ])
  })

  test('requires needed arguments before it calls the node', async () => {
    const client = makeClient({ url: '', fetch: makeNode([]).fetch })
    await expect(client.getEvent({ id: '' })).rejects.toThrow('getEvent needs ‘id’')
  })

  test('[AP18] accepts no dot segment as a name', async () => {
    const node = makeNode([])
    const client = makeClient({ url: 'http://localhost:4400', key: 'mrk_1', fetch: node.fetch })
    for (const id of ['.', '..']) {
      await expect(client.getEvent({ id })).rejects.toThrow('names nothing')
      await expect(client.ingest({ tenant: id, source: 'shop', body: '{}' })).rejects.toThrow(TypeError)
    }
    expect(node.sent).toEqual([])
  })

  test('without a key uses the page’s session, and says that it is the console', async () => {
    const node = makeNode([new Response(null, { status: 204 })])
    const client = makeClient({ url: '', fetch: node.fetch })
    expect(await client.signOut()).toBeUndefined()
    expect(node.sent[0]).toMatchObject({ url: '/v1/session', headers: { 'millrace-console': '1' } })
    expect(node.sent[0]?.headers.authorization).toBeUndefined()
  })

  test('throws the problem document of a refusal, and when to retry', async () => {
    const node = makeNode([problem(), problem({ status: 429, code: 'limited' }, { 'retry-after': '7' })])
    const client = makeClient({ url: 'http://node', fetch: node.fetch })
    const first = await client.getEvent({ id: 'evt_1' }).catch((error) => error)
    expect(first).toBeInstanceOf(ProblemError)
    expect(first).toMatchObject({ status: 404, code: 'not_found', problem: PROBLEM, retryAfterMs: null })
    expect(first.message).toBe('there is no event with this id')
    expect(await client.getMe().catch((error) => error)).toMatchObject({ retryAfterMs: 7_000 })
  })

  test('distinguishes a missing response from a server that is not a node', async () => {
    const refused = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
    const page = new Response('<html>', { status: 502, headers: { 'content-type': 'text/html' } })
    Object.defineProperty(page, 'url', { value: 'http://proxy/v1/me' })
    const client = makeClient({ url: 'http://node', fetch: makeNode([refused, page]).fetch })
    const first = await client.getMe().catch((error) => error)
    expect(first).toBeInstanceOf(ConnectionError)
    expect(first.message).toBe('http://node does not answer (ECONNREFUSED)')
    const second = await client.getMe().catch((error) => error)
    expect(second).toBeInstanceOf(ConnectionError)
    expect(second.message).toContain('is http://proxy a Millrace node?')
  })

  test('reads a list page after page, also over pages without rows', async () => {
    const pages = [
      { items: [{ id: 'a' }, { id: 'b' }], nextCursor: 'c1' },
      { items: [], nextCursor: 'c2' },
      { items: [{ id: 'c' }], nextCursor: null },
    ]
    const node = makeNode(pages.map((page) => json(page)))
    const client = makeClient({ url: '', fetch: node.fetch })
    const ids: string[] = []
    for await (const event of client.each('listEvents', { source: 'shop' })) ids.push(event.id)
    expect(ids).toEqual(['a', 'b', 'c'])
    expect(node.sent.map(({ url }) => url)).toEqual([
      '/v1/events?source=shop',
      '/v1/events?cursor=c1&source=shop',
      '/v1/events?cursor=c2&source=shop',
    ])
  })

  test('sends an event as it is', async () => {
    const node = makeNode([json({ eventId: 'evt_1', duplicate: false }, 202)])
    const client = makeClient({ url: 'http://node', key: 'mrk_1', fetch: node.fetch })
    const body = '{"a": 1.0}'
    const answer = await client.ingest({
      tenant: 'default',
      source: 'shop',
      body,
      headers: { 'x-sign': 's' },
    })
    expect(answer).toEqual({ eventId: 'evt_1', duplicate: false })
    expect(node.sent[0]).toEqual({
      method: 'POST',
      url: 'http://node/in/default/shop',
      headers: { 'content-type': 'application/json', 'x-sign': 's' },
      body,
    })
  })
})

/** A stream that sends its pieces and then ends, breaks off, or stays open until it is aborted. */
function streaming(pieces: readonly string[], then: 'end' | 'break' | 'stay' = 'end') {
  return (_sent: Sent, signal: AbortSignal) => {
    const left = [...pieces]
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener('abort', () => controller.error(signal.reason))
      },
      pull(controller) {
        const piece = left.shift()
        if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece))
        if (then === 'end') controller.close()
        else if (then === 'break') controller.error(new TypeError('terminated'))
        return undefined
      },
    })
    return new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } })
  }
}

const changes = (id: number) =>
  `event: changes\nid: life-${id}\ndata: {"changes":[{"type":"replay","id":"r${id}"}]}\n\n`

async function take(stream: AsyncGenerator<StreamMessage>, count: number): Promise<readonly StreamMessage[]> {
  const taken: StreamMessage[] = []
  while (taken.length < count) {
    const { done, value } = await stream.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

describe('[AP11] the client’s stream', () => {
  const quick = { retryMsFirst: 1, retryMsLast: 2 }

  test('yields whole messages, however the bytes are split, and hides pings', async () => {
    const text = `event: ping\nid: life-0\ndata: {}\n\n${changes(1)}event: gap\nid: life-9\ndata: {"dropped":8}\n\n`
    const node = makeNode([
      streaming(
        [...text].map((char) => char),
        'stay',
      ),
    ])
    const stop = new AbortController()
    const client = makeClient({ url: '', key: 'mrk_1', fetch: node.fetch })
    const stream = client.stream({ ...quick, signal: stop.signal })
    expect(await take(stream, 3)).toEqual([
      { type: 'connected' },
      { type: 'changes', changes: [{ type: 'replay', id: 'r1' }] },
      { type: 'gap' },
    ])
    stop.abort()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('reconnects after the end, a break or a failure of the node, and says where it was', async () => {
    const node = makeNode([
      streaming([changes(1)]),
      streaming([changes(2)], 'break'),
      problem({ status: 503, code: 'shutting_down' }),
      new TypeError('fetch failed'),
      streaming([changes(3)], 'stay'),
    ])
    const stop = new AbortController()
    const stream = makeClient({ url: '', fetch: node.fetch }).stream({ ...quick, signal: stop.signal })
    const told = await take(stream, 10)
    expect(told.map(({ type }) => type)).toEqual([
      'connected',
      'changes',
      'disconnected',
      'connected',
      'changes',
      'disconnected',
      'disconnected',
      'disconnected',
      'connected',
      'changes',
    ])
    expect(node.sent.map(({ headers }) => headers['last-event-id'] ?? null)).toEqual([
      null,
      'life-1',
      'life-2',
      'life-2',
      'life-2',
    ])
    stop.abort()
    await stream.next()
  })

  test('ends with the problem if the node refuses it', async () => {
    const node = makeNode([problem({ status: 401, code: 'not_authenticated' })])
    const stream = makeClient({ url: '', fetch: node.fetch }).stream(quick)
    await expect(stream.next()).rejects.toMatchObject({ name: 'ProblemError', status: 401 })
  })

  test('drops a connection that is silent for too long', async () => {
    const node = makeNode([streaming([changes(1)], 'stay'), streaming([], 'stay')])
    const stop = new AbortController()
    const client = makeClient({ url: '', fetch: node.fetch })
    const stream = client.stream({ ...quick, silenceMsMax: 20, signal: stop.signal })
    const told = await take(stream, 4)
    expect(told.map(({ type }) => type)).toEqual(['connected', 'changes', 'disconnected', 'connected'])
    stop.abort()
    await stream.next()
  })

  test('stops when its reader stops', async () => {
    let hasEnded = false
    const node = makeNode([
      (sent, signal) => {
        signal.addEventListener('abort', () => {
          hasEnded = true
        })
        return streaming([changes(1)], 'stay')(sent, signal)
      },
    ])
    for await (const message of makeClient({ url: '', fetch: node.fetch }).stream(quick)) {
      if (message.type === 'changes') break
    }
    expect(hasEnded).toBe(true)
  })
})
