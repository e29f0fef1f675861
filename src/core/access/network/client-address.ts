// Determines who sent a request, and to which address, when proxies are in between.
// Invariants: GU4 a header counts only as far as trusted proxies vouch for it: starting from the peer, each trusted hop names
// the one before it. GU5 without a trusted peer no header is read.

import { type Networks, normalAddress } from './networks.ts'

type HeaderValue = string | readonly string[] | undefined
export type ProxyHeaders = Readonly<Record<string, HeaderValue>>

/** A real chain has a handful of hops; more would only cost time. */
const HOPS_MAX = 64
const HOST = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * The nearest address that is not a trusted proxy. If all of them are trusted, the farthest; if a hop cannot be parsed, the
 * proxy that reported it, because no trusted proxy vouches for anything beyond it.
 */
export function clientAddress(peer: string, forwardedFor: HeaderValue, isTrusted: Networks): string {
  let client = normalAddress(peer) ?? peer
  if (forwardedFor === undefined || !isTrusted(client)) return client
  const hops = textOf(forwardedFor).split(',')
  for (const hop of hops.reverse().slice(0, HOPS_MAX)) {
    const address = normalAddress(bare(hop.trim()))
    if (address === null) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

export interface PublicUrlInput {
  readonly peer: string
  readonly headers: ProxyHeaders
  readonly isEncrypted: boolean
  /** Path and query as received. */
  readonly target: string
}

/** The address as the sender saw it; `base` is the operator's setting, and wins. */
export function publicUrl(input: PublicUrlInput, isTrusted: Networks, base: string | null): string {
  if (base !== null) return base + input.target
  const { headers } = input
  const believes = isTrusted(input.peer)
  const proto = believes ? lastOf(headers['x-forwarded-proto']).toLowerCase() : ''
  const scheme = proto === 'https' || proto === 'http' ? proto : input.isEncrypted ? 'https' : 'http'
  const forwarded = believes ? lastOf(headers['x-forwarded-host']) : ''
  const host = HOST.test(forwarded) ? forwarded : textOf(headers.host)
  return `${scheme}://${HOST.test(host) ? host : 'localhost'}${input.target}`
}

/** The nearest proxy appends last. */
function lastOf(value: HeaderValue): string {
  const text = textOf(value)
  return text.slice(text.lastIndexOf(',') + 1).trim()
}

function textOf(value: HeaderValue): string {
  return value === undefined ? '' : typeof value === 'string' ? value : value.join(',')
}

/** Without the port that some proxies append. */
function bare(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)
  if (bracketed !== null) return bracketed[1] as string
  const withPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop)
  return withPort === null ? hop : (withPort[1] as string)
}
