// A vendor on the loopback, for tests of everything that calls one: it accepts tokens that expire and are revoked,
// limits its callers in the formats of several vendors, is slow, wrong or down on request, issues tokens by OAuth2,
// remembers idempotency keys, and logs all calls. Tests trust that log, not the node's.
//
//   await using vendor = await makeVendor({
//     tokens: ['t1'],
//     answers: { 'POST /repos/:owner/:repo/hooks': { status: 201, body: { id: 7 } } },
//   })
//   vendor.tokens.revoke('t1')
//   vendor.outage(503, { calls: 3 })
//   vendor.slow(200)
//   await vendor.down()
//   await vendor.up()
//   vendor.calls.filter(({ isEffect }) => isEffect)

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeLimiter, type VendorLimit } from './limits.ts'
import { makeOAuth, type OAuth, type OAuthOptions } from './oauth.ts'
import { makeTokens, type Tokens } from './tokens.ts'
import type { Outage, VendorAnswer, VendorCall, VendorRecord, VendorReply } from './types.ts'

export type { LimitDialect, VendorLimit } from './limits.ts'
export type { Outage, VendorAnswer, VendorCall, VendorRecord, VendorReply } from './types.ts'

export interface VendorOptions {
  /** Valid ones; omitted: every caller is served, unless tokens are accepted later. */
  readonly tokens?: readonly string[]
  /** Where a token is expected; default `authorization` after `Bearer `. */
  readonly auth?: { readonly header: string; readonly prefix?: string } | { readonly query: string }
  /** The response to a call without a valid token; default 401. */
  readonly refusal?: VendorReply
  readonly limit?: VendorLimit
  /** By method and path; a part of the path that begins with a colon stands for any. `*` for the rest. */
  readonly answers?: Readonly<Record<string, VendorAnswer>>
  /** Lower case: a call with a known key gets the first response again, and does nothing. */
  readonly keyHeader?: string
  /** How long a key is remembered; default for ever. */
  readonly keyTtlMs?: number
  readonly oauth?: OAuthOptions
  readonly now?: () => number
}

export interface VendorApi extends AsyncDisposable {
  /** Without a final slash. */
  readonly url: string
  /** All of them, also refused ones; oldest first. */
  readonly calls: readonly VendorRecord[]
  /** Of one method and path, as in `answers`. */
  callsOf(route: string): readonly VendorRecord[]
  /** What it did by key: more than one is a doubled effect. By body if no key came. */
  effects(): ReadonlyMap<string, number>
  readonly tokens: Tokens
  readonly oauth: OAuth | null
  /** From now on. */
  answer(route: string, answer: VendorAnswer): void
  /** null: it works again. `calls`: only this many are hit; `where`: only those that match. */
  outage(
    outage: Outage | null,
    only?: { readonly calls?: number; readonly where?: (call: VendorCall) => boolean },
  ): void
  /** Every response takes this long from now on. */
  slow(ms: number): void
  limit(limit: VendorLimit | null): void
  /** From now on responses are held back, effects are not. */
  hold(): void
  /** Sends the responses that were held back, if their callers still wait. */
  release(): void
  held(): number
  /** Nothing listens: connections are refused. */
  down(): Promise<void>
  /** At the same address again. */
  up(): Promise<void>
  /** Ends when this many calls have come. */
  seen(calls: number): Promise<void>
}

interface Route {
  readonly method: string
  readonly parts: readonly string[]
  readonly answer: VendorAnswer
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

export async function makeVendor(options: VendorOptions = {}): Promise<VendorApi> {
  const now = options.now ?? Date.now
  const tokens = makeTokens(now)
  for (const token of options.tokens ?? []) tokens.accept(token)
  const oauth = options.oauth === undefined ? null : makeOAuth(options.oauth, tokens, now)
  const routes: Route[] = Object.entries(options.answers ?? {}).map(toRoute)
  const calls: VendorRecord[] = []
  const keys = new Map<string, { readonly reply: VendorReply; readonly until: number }>()
  const waiters: { calls: number; done: () => void }[] = []
  let limiter = options.limit === undefined ? null : makeLimiter(options.limit, now)
  let trouble: { outage: Outage; left: number; where: (call: VendorCall) => boolean } | null = null
  let slowMs = 0
  let count = 0
  let isHolding = false
  let heldBack: (() => void)[] = []
  const timers = new Set<NodeJS.Timeout>()

  const tokenOf = ({ headers, query }: Pick<VendorCall, 'headers' | 'query'>): string | null => {
    const auth = options.auth ?? { header: 'authorization', prefix: 'Bearer ' }
    if ('query' in auth) return query.get(auth.query)
    const value = headers[auth.header]
    const { prefix = '' } = auth
    return value?.startsWith(prefix) ? value.slice(prefix.length) : null
  }

  const record = (call: VendorCall, status: number | null, isEffect: boolean) => {
    calls.push({ ...call, status, isEffect })
    for (const waiter of [...waiters]) if (calls.length >= waiter.calls) waiter.done()
  }

  const troubleOf = (call: VendorCall): Outage | null => {
    if (trouble === null || !trouble.where(call)) return null
    const { outage } = trouble
    trouble.left -= 1
    if (trouble.left <= 0) trouble = null
    return outage
  }

  /** Its response, and whether something was done. */
  const decide = async (call: VendorCall): Promise<{ reply: VendorReply; isEffect: boolean }> => {
    const granted = oauth?.handle(call) ?? null
    if (granted !== null) return { reply: granted, isEffect: granted.status < 300 }
    const limited = limiter?.() ?? null
    if (limited?.isOver)
      return {
        reply: { status: limited.status, headers: limited.headers, body: limited.body },
        isEffect: false,
      }
    const told = limited?.headers ?? {}
    const isOpen = options.tokens === undefined && oauth === null && tokens.all().length === 0
    if (call.token !== null) {
      const known = tokens.get(call.token)
      if (known !== undefined) known.uses += 1
    }
    if (!isOpen && (call.token === null || !tokens.isGood(call.token))) {
      const refusal = options.refusal ?? { status: 401, body: { message: 'Bad credentials' } }
      return { reply: { ...refusal, headers: { ...told, ...refusal.headers } }, isEffect: false }
    }
    const key = options.keyHeader === undefined ? undefined : call.headers[options.keyHeader]
    const first = key === undefined ? undefined : keys.get(key)
    if (first !== undefined && now() < first.until) return { reply: first.reply, isEffect: false }
    const reply = await replyOf(routes, call)
    const isEffect = !READS.has(call.method) && reply.status < 300
    const whole = { ...reply, headers: { ...told, ...reply.headers } }
    if (key !== undefined && isEffect)
      keys.set(key, { reply: whole, until: now() + (options.keyTtlMs ?? Number.POSITIVE_INFINITY) })
    return { reply: whole, isEffect }
  }

  const give = (response: ServerResponse, send: () => void) => {
    if (isHolding) heldBack.push(send)
    else if (slowMs === 0) send()
    else {
      const timer = setTimeout(() => {
        timers.delete(timer)
        if (!response.destroyed) send()
      }, slowMs)
      timers.add(timer)
    }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    count += 1
    const call = await readCall(request, count, now(), tokenOf)
    const outage = troubleOf(call)
    if (typeof outage === 'number') {
      record(call, outage, false)
      return give(response, () => write(response, { status: outage, body: { message: 'not now' } }))
    }
    if (outage === 'reset-before' || outage === 'hang-before') {
      record(call, null, false)
      if (outage === 'reset-before') response.destroy()
      return
    }
    const { reply, isEffect } = await decide(call)
    record(call, outage === 'reset' || outage === 'hang' ? null : reply.status, isEffect)
    if (outage === 'hang') return
    give(response, () => {
      if (outage === 'reset') response.destroy()
      else write(response, reply, outage)
    })
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const close = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }

  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    callsOf(route) {
      const sought = toRoute([route, { status: 200 }])
      return calls.filter((call) => matches(sought, call) !== null)
    },
    effects() {
      const counts = new Map<string, number>()
      for (const { isEffect, headers, body } of calls) {
        if (!isEffect) continue
        const key = (options.keyHeader === undefined ? undefined : headers[options.keyHeader]) ?? body
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
      return counts
    },
    tokens,
    oauth,
    answer: (route, answer) => routes.unshift(toRoute([route, answer])),
    outage(outage, only = {}) {
      const { calls: left = Number.POSITIVE_INFINITY, where = () => true } = only
      trouble = outage === null ? null : { outage, left, where }
    },
    slow(ms) {
      slowMs = ms
    },
    limit(limit) {
      limiter = limit === null ? null : makeLimiter(limit, now)
    },
    hold() {
      isHolding = true
    },
    release() {
      isHolding = false
      for (const send of heldBack.splice(0)) send()
    },
    held: () => heldBack.length,
    down: close,
    async up() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    seen(sought) {
      if (calls.length >= sought) return Promise.resolve()
      return new Promise((done) => {
        const waiter = {
          calls: sought,
          done() {
            waiters.splice(waiters.indexOf(waiter), 1)
            done()
          },
        }
        waiters.push(waiter)
      })
    },
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer)
      heldBack = []
      await close()
    },
  }
}

function toRoute([route, answer]: readonly [string, VendorAnswer]): Route {
  const [method = '*', path = '*'] = route === '*' ? ['*', '*'] : route.split(' ')
  return { method, parts: path === '*' ? ['*'] : path.split('/').slice(1), answer }
}

function matches(route: Route, call: VendorCall): Readonly<Record<string, string>> | null {
  if (route.method !== '*' && route.method !== call.method) return null
  if (route.parts[0] === '*') return {}
  // By the request line: a slash within a part is written %2F there.
  const given = call.target.replace(/\?.*$/s, '').split('/').slice(1).map(decodeURIComponent)
  if (given.length !== route.parts.length) return null
  const parts: Record<string, string> = {}
  for (const [at, part] of route.parts.entries()) {
    if (part.startsWith(':')) parts[part.slice(1)] = given[at] ?? ''
    else if (part !== given[at]) return null
  }
  return parts
}

async function replyOf(routes: readonly Route[], call: VendorCall): Promise<VendorReply> {
  for (const route of routes) {
    const parts = matches(route, call)
    if (parts === null) continue
    return typeof route.answer === 'function' ? await route.answer({ ...call, parts }) : route.answer
  }
  if (routes.length > 0) return { status: 404, body: { message: 'Not Found' } }
  return READS.has(call.method)
    ? { status: 200, body: { ok: true } }
    : { status: 201, body: { id: call.number } }
}

async function readCall(
  request: IncomingMessage,
  number: number,
  at: number,
  tokenOf: (call: Pick<VendorCall, 'headers' | 'query'>) => string | null,
): Promise<VendorCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks).toString('utf8')
  const target = request.url ?? '/'
  const { pathname, searchParams: query } = new URL(target, 'http://vendor')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : (value ?? '')
  return {
    number,
    at,
    method: request.method ?? 'GET',
    path: decodeURIComponent(pathname),
    target,
    query,
    headers,
    body,
    json: jsonOf(body),
    token: tokenOf({ headers, query }),
    parts: {},
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function write(
  response: ServerResponse,
  { status, headers = {}, body }: VendorReply,
  outage?: Outage | null,
) {
  const isText = typeof body === 'string'
  const text = body === undefined || body === null ? '' : isText ? body : JSON.stringify(body)
  const type = { 'content-type': isText ? 'text/plain' : 'application/json' }
  switch (outage) {
    case 'wrong-json':
      response.writeHead(status, { ...headers, ...type }).end(`{"broken": ${text.slice(0, 20)}`)
      return
    case 'html':
      response
        .writeHead(status, { ...headers, 'content-type': 'text/html' })
        .end('<!doctype html><p>Sign in</p>')
      return
    case 'cut':
      response.writeHead(status, { ...headers, ...type, 'content-length': String(text.length + 100) })
      response.write(text, () => response.destroy())
      return
    default:
      response.writeHead(status, text === '' ? headers : { ...type, ...headers }).end(text)
  }
}
