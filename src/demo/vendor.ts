// Another company's system, simulated inside the node's process while the demo is deployed: a tracker on a free port of
// the loopback that is now and then slow, overloaded or rude. Its behaviour derives from the request's key alone, so
// that a key gets the same outcome on every machine.
//
// POST /tickets        needs a short title (422); sometimes busy (503, 429) at first, sometimes applies and hangs up
// POST /comments       the same without a rule for titles; GET /comments?ref= says whether a comment exists
// PUT  /pages/{id}, /boards/{id}, /changelog/{id}, /mirrors/{id}   upserts

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Vendor extends AsyncDisposable {
  readonly url: string
}

const TITLE_MAX = 120
const BODY_BYTES_MAX = 262_144
const REMEMBERED_MAX = 20_000
const DELAY_MS_MIN = 15
const DELAY_MS_SPAN = 220

export type Fate = 'ok' | 'busy' | 'throttled' | 'vanish'

/** By the last number in the key, so that any forty samples in a row get every outcome. */
const FATES: readonly Fate[] = ['ok', 'ok', 'ok', 'throttled', 'ok', 'vanish', 'ok', 'busy']

export function fateOf(key: string): Fate {
  const number = /(\d{1,15})\D*$/.exec(key)?.[1] ?? '0'
  return FATES[Number(number) % FATES.length] as Fate
}

/** `delayMsSpan`: how much its response times differ; each key has its own. */
export async function startVendor({ delayMsSpan = DELAY_MS_SPAN } = {}): Promise<Vendor> {
  /** How often each key was requested; bounded, the oldest are forgotten. */
  const asked = new Map<string, number>()
  const there = new Set<string>()
  const timers = new Set<NodeJS.Timeout>()

  const countAsked = (key: string): number => {
    const times = (asked.get(key) ?? 0) + 1
    asked.delete(key)
    asked.set(key, times)
    forget(asked)
    return times
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://vendor')
    const [path = '', id] = pathname.slice(1).split('/')
    if (request.method === 'GET') {
      const found = there.has(`${path}\n${searchParams.get('ref') ?? ''}`)
      return reply(response, 200, { items: found ? [{ ref: searchParams.get('ref') }] : [] })
    }
    const body = await readJson(request)
    const key = String(request.headers['idempotency-key'] ?? id ?? '')
    const times = countAsked(`${path}\n${key}`)
    await pause(
      DELAY_MS_MIN + (createHash('sha256').update(key).digest().readUInt16BE(4) % delayMsSpan),
      timers,
    )
    const refusal = refuse(path, body)
    if (refusal !== null) return reply(response, 422, refusal)
    const fate = fateOf(key)
    if (fate === 'busy' && times <= 2) return reply(response, 503, { error: 'the tracker is overloaded' })
    if (fate === 'throttled' && times === 1) {
      return reply(response, 429, { error: 'too many requests' }, { 'retry-after': '3' })
    }
    there.add(`${path}\n${key}`)
    forget(there)
    // It is done, and the caller never learns it.
    if (fate === 'vanish' && times === 1) {
      response.destroy()
      return
    }
    const digits = createHash('sha256').update(key).digest().readUInt32BE(8) % 90_000
    reply(response, 201, { id: `${path.slice(0, 1).toUpperCase()}-${10_000 + digits}`, ref: key })
  }

  const server = createServer((request, response) => {
    // An error here is the caller's lost connection, as it would be with a real system.
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // It must not keep a process alive that has nothing else to do.
  server.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function refuse(path: string, body: unknown): object | null {
  if (path !== 'tickets') return null
  const { title } = (body ?? {}) as { readonly title?: unknown }
  if (typeof title !== 'string' || title === '') return { error: 'title is missing', field: 'title' }
  if (title.length <= TITLE_MAX) return null
  return { error: `title has more than ${TITLE_MAX} characters`, field: 'title' }
}

function forget(kept: {
  readonly size: number
  keys(): Iterator<string>
  delete(key: string): boolean
}): void {
  if (kept.size <= REMEMBERED_MAX) return
  const oldest = kept.keys().next()
  if (oldest.done !== true) kept.delete(oldest.value)
}

function pause(delayMs: number, timers: Set<NodeJS.Timeout>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      resolve()
    }, delayMs)
    timers.add(timer)
  })
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > BODY_BYTES_MAX) throw new Error('the body is too large')
    chunks.push(chunk as Buffer)
  }
  return size === 0 ? null : JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function reply(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
