// Requests to other people's servers, on undici's dispatcher (its `fetch` is several times slower). One request per call:
// no redirects, no retries, no proxies, no cookies, no decompression.

import { Agent } from 'undici'
import type { HttpClient, HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { type AllowPrivate, makeAddressPolicy } from './addresses.ts'
import { makeConnector, type Resolve } from './connector.ts'
import { Exchange } from './exchange.ts'

export interface HttpClientOptions {
  /** Addresses beside the public ones: none, this machine's, or networks in CIDR notation. */
  readonly allowPrivate: AllowPrivate
  readonly connectionsPerOrigin?: number
  readonly connectTimeoutMs?: number
  /** How long an idle connection is kept; a server's own hint may shorten it. */
  readonly keepAliveMs?: number
  /** Certificates to trust instead of the usual ones, in PEM. */
  readonly ca?: string
  /** Stands in for the system's name resolution. */
  readonly resolve?: Resolve
}

/** Decide about the connection or the framing, which is the client's business. */
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

export function makeHttpClient(options: HttpClientOptions): HttpClient & AsyncDisposable {
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    keepAliveTimeout: options.keepAliveMs ?? 4_000,
    keepAliveMaxTimeout: 60_000,
    // The exchange has one limit for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: makeConnector({
      isAllowed: makeAddressPolicy(options.allowPrivate),
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      ...(options.resolve !== undefined && { resolve: options.resolve }),
      ...(options.ca !== undefined && { ca: options.ca }),
    }),
  })

  const send = (request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((settle) => {
      const { method, timeoutMs, maxResponseBytes, onChunk } = request
      const target = parseTarget(request)
      if (typeof target === 'string') {
        const message = `the request is not valid: ${target}`
        return settle({ kind: 'failed', sent: 'no', code: 'bad_url', message, durationMs: 0 })
      }
      const exchange = new Exchange({
        method,
        host: target.host,
        timeoutMs,
        maxResponseBytes,
        onChunk,
        settle,
      })
      try {
        agent.dispatch(
          {
            origin: target.origin,
            path: target.pathname + target.search,
            method,
            headers: { ...request.headers, 'accept-encoding': 'identity' },
            body: request.body,
            // undici may write an idempotent request again by itself; whether to repeat is decided elsewhere.
            idempotent: false,
          },
          exchange,
        )
      } catch {
        exchange.fail('reset')
      }
    })

  return { send, [Symbol.asyncDispose]: () => agent.destroy() }
}

/** The URL, or what is wrong with the request; never a value of it. */
function parseTarget(request: HttpRequest): URL | string {
  const url = parseUrl(request.url)
  if (url === null) return 'its address is not a URL'
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'only http and https addresses can be called'
  if (url.username !== '' || url.password !== '')
    return 'its address holds credentials; send a header instead'
  for (const name of Object.keys(request.headers)) {
    if (FORBIDDEN_HEADERS.has(name.toLowerCase())) return `the header ${name.toLowerCase()} cannot be set`
  }
  return url
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}
