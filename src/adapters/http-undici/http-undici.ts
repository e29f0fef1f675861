// Requests to other systems' servers, on undici's dispatcher (its `fetch` is several times slower). One request per
// call: no redirects, no retries, no proxies, no cookies, no decompression.

import { Agent } from 'undici'
import {
  judgeTarget,
  makeOutboundPolicy,
  type OutboundPolicy,
  type RefusedName,
  readTarget,
} from '../../core/access/network/index.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { makeConnector } from './connector.ts'
import { Exchange } from './exchange.ts'
import { makeLanes } from './name-lanes.ts'
import { makeVet, type Resolve, resolveBySystem } from './names.ts'

export interface HttpClientOptions {
  /**
   * What may be called besides public addresses: networks, hosts, `*.` and a domain, `loopback`. Fixed for the client's
   * lifetime.
   */
  readonly allow: readonly string[]
  /** The upper bound of `allow`; omitted: none. */
  readonly within?: readonly string[] | undefined
  readonly connectionsPerOrigin?: number
  readonly connectTimeoutMs?: number
  /** How long an idle connection is kept alive; a server's own hint may shorten it. */
  readonly keepAliveMs?: number
  /** Certificates to trust instead of the usual ones, in PEM. */
  readonly ca?: string
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve
  /** How long the body of a response may take after its head, if only the status counts. */
  readonly cutAfterMs?: number
  /** Receives the reason why a name may not be called: for the operator's log, callers do not learn it. */
  readonly onRefusedName?: ((refused: RefusedName) => void) | undefined
  /** How long vetting waits for a name to resolve. */
  readonly vetMs?: number
}

/** They control the connection or the framing, which is the client's responsibility. */
const FORBIDDEN_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
])

const ENCODING = 'accept-encoding'
const CUT_AFTER_MS = 2_000
const VET_MS = 3_000
/** How many parsed URLs are remembered. */
const KNOWN_MAX = 4_096
/** Longer ones contain an event's data: they hardly repeat, and thousands of them would fill the memory. */
const KNOWN_LENGTH_MAX = 1_024

export function makeHttpClient(options: HttpClientOptions): HttpClient & AsyncDisposable {
  const policy = makeOutboundPolicy(
    options.allow,
    options.within === undefined ? undefined : makeOutboundPolicy(options.within),
  )
  const resolve = options.resolve ?? makeLanes(resolveBySystem)
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    keepAliveTimeout: options.keepAliveMs ?? 4_000,
    keepAliveMaxTimeout: 60_000,
    // The exchange has one limit for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: makeConnector({
      policy,
      resolve,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      onRefusedName: options.onRefusedName,
      ...(options.ca !== undefined && { ca: options.ca }),
    }),
  })

  // Most calls go to few URLs. The parsed target depends only on its text and the policy.
  let known = new Map<string, Target | Unsendable>()
  const targetOf = (url: string): Target | Unsendable => {
    const found = known.get(url)
    if (found !== undefined) return found
    const read = readUrl(url, policy)
    if (url.length > KNOWN_LENGTH_MAX) return read
    if (known.size >= KNOWN_MAX) known = new Map()
    known.set(url, read)
    return read
  }

  const send = (request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((settle) => {
      const { method } = request
      const refuse = ({ code, message }: Unsendable) =>
        settle({ kind: 'failed', sent: 'no', code, message, durationMs: 0 })
      const headers = listHeaders(request)
      if ('ok' in headers) return refuse(headers)
      const target = targetOf(request.url)
      if (!target.ok) return refuse(target)
      const { origin, path, host } = target
      const exchange = new Exchange({
        request,
        host,
        cutAfterMs: options.cutAfterMs ?? CUT_AFTER_MS,
        settle,
      })
      try {
        agent.dispatch(
          {
            origin,
            path,
            method,
            headers,
            body: request.body,
            // undici may write an idempotent request again by itself; retries are decided elsewhere.
            idempotent: false,
          },
          exchange,
        )
      } catch {
        exchange.fail('reset')
      }
    })

  return {
    send,
    vet: makeVet(policy, resolve, options.vetMs ?? VET_MS, options.onRefusedName),
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

type Unsendable = {
  readonly ok: false
  readonly code: 'bad_url' | 'blocked'
  readonly message: string
}

interface Target {
  readonly ok: true
  readonly origin: string
  readonly path: string
  readonly host: string
}

/**
 * The target of a URL, or what is wrong with it; never a value of it. Literals and resolved addresses are judged when
 * they are dialled.
 */
function readUrl(text: string, policy: OutboundPolicy): Target | Unsendable {
  const target = readTarget(text)
  if (!target.ok) return target.rule === 'port' ? blocked(target.message) : unsendable(target.message)
  const verdict = target.isLiteral ? target : judgeTarget(target, policy)
  if (!verdict.ok) return blocked(verdict.message)
  const { origin, pathname, search, host } = target.url
  return { ok: true, origin, path: pathname + search, host }
}

/** Names and values alternating, as undici takes them without checking each. */
function listHeaders({ headers }: HttpRequest): string[] | Unsendable {
  const list: string[] = []
  for (const name in headers) {
    if (FORBIDDEN_HEADERS.has(name.toLowerCase()))
      return unsendable(`the header ${name.toLowerCase()} cannot be set`)
    // Our own value wins.
    if (name !== ENCODING) list.push(name, headers[name] as string)
  }
  list.push(ENCODING, 'identity')
  return list
}

function blocked(message: string): Unsendable {
  return { ok: false, code: 'blocked', message }
}

function unsendable(message: string): Unsendable {
  return { ok: false, code: 'bad_url', message: `the request is not valid: ${message}` }
}
