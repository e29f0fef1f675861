// Decides where an outbound call may go. Public addresses are always allowed; others only where the operator named them,
// because an address in a definition, a subscription or an event must not reach the node's own network. Names are not resolved
// here: after resolving one, the caller passes every resulting address to `judgeAddresses`.
// Invariants: OG1 an address that does not parse is refused. OG2 an address is judged by its meaning, not its spelling. OG3 one
// forbidden address refuses the name. OG31 the verdict of `judgeAddresses` on a resolved name is for the operator: callers get
// `unreachableName`, which is the same for a name that does not exist.

import type { OutboundPolicy } from './outbound-policy.ts'
import { type AddressRule, type IpAddress, readAnyAddress, ruleOfAddress } from './outbound-ranges.ts'

/** Why an address may not be called. */
export type OutboundRule = 'url' | 'scheme' | 'credentials' | 'fragment' | 'port' | AddressRule

export interface OutboundRefusal {
  readonly ok: false
  readonly rule: OutboundRule
  /** For users: which rule, and what to do. A clause without its full stop. */
  readonly message: string
}

export type OutboundVerdict = { readonly ok: true } | OutboundRefusal

/** An address that parses and may be called, provided that its host resolves to allowed addresses. */
export interface OutboundTarget {
  readonly ok: true
  readonly url: URL
  /** Canonical: without brackets and without a final dot. */
  readonly host: string
  readonly isLiteral: boolean
}

const HOST_CHARACTERS_MAX = 253
/** The URL parser writes every IPv4 address like this, and accepts no other host that ends in a number. */
const FOUR_PARTS = /^\d+\.\d+\.\d+\.\d+$/
/** Their protocols read lines as commands, and would execute the lines of a request. */
const OTHER_PROTOCOLS: ReadonlySet<string> = new Set(
  [
    0, 7, 9, 19, 21, 22, 23, 25, 53, 110, 119, 139, 143, 389, 445, 465, 514, 587, 636, 993, 995, 6379, 6667,
    11211,
  ].map(String),
)

/** Checks the text alone: whether it is an address that can be called at all, and which host it names. */
export function readTarget(text: string): OutboundTarget | OutboundRefusal {
  // The URL parser skips line breaks and reads a backslash as a slash: a user would see a different address.
  if (hasControls(text)) return refusal('url', 'the address holds control characters or spaces around it')
  if (/^[^?#]*\\/.test(text)) return refusal('url', 'the address holds a backslash; write / instead')
  const url = parseUrl(text)
  if (url === null) return refusal('url', 'the address is not a URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refusal('scheme', 'only http and https addresses can be called')
  if (url.username !== '' || url.password !== '' || /^[^/?#]*\/\/[^/?#]*@/.test(text))
    return refusal('credentials', 'the address holds credentials; send a header instead')
  if (text.includes('#'))
    return refusal('fragment', 'the address has a part behind #, which is never sent; leave it out')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (host === '' || host.length > HOST_CHARACTERS_MAX)
    return refusal('url', 'the address names no host that can be called')
  if (OTHER_PROTOCOLS.has(url.port))
    return refusal('port', `port ${url.port} belongs to a protocol that is not HTTP`)
  return { ok: true, url, host, isLiteral: url.hostname.startsWith('[') || FOUR_PARTS.test(host) }
}

/**
 * The same for a mail server. No port is refused: a mail server speaks first, and nothing is sent to a peer that does not greet
 * as one. The address is parsed as http, so that its host has the canonical spelling that is judged.
 */
export function readMailTarget(text: string): OutboundTarget | OutboundRefusal {
  const scheme = /^smtps?(?=:\/\/)/i.exec(text)?.[0].toLowerCase()
  if (scheme === undefined) return refusal('scheme', 'only smtp and smtps addresses lead to a mail server')
  const usual = scheme === 'smtps' ? 465 : 587
  const rest = text.slice(scheme.length)
  const isPortNamed = /^:\/\/(?:\[[^\]]*\]|[^/?#:]*):\d+(?=[/?#]|$)/.exec(rest)
  const read = readTarget(`http${rest.replace(/^(:\/\/(?:\[[^\]]*\]|[^/?#:]*)):\d+/, '$1')}`)
  if (!read.ok) return read
  const port = isPortNamed === null ? usual : Number(/:(\d+)$/.exec(isPortNamed[0])?.[1])
  if (port < 1 || port > 65_535) return refusal('url', 'the address names no port that can be called')
  const url = new URL(read.url)
  url.port = String(port)
  return { ...read, url }
}

/** The verdict that is possible without resolving a name. */
export function judgeUrl(text: string, policy: OutboundPolicy): OutboundVerdict {
  const target = readTarget(text)
  return target.ok ? judgeTarget(target, policy) : target
}

export function judgeTarget({ host, isLiteral }: OutboundTarget, policy: OutboundPolicy): OutboundVerdict {
  if (isLiteral) return judgeAddress(host, policy)
  // These names mean loopback by definition, whatever a resolver returns.
  const isLocal = host === 'localhost' || host.endsWith('.localhost')
  return isLocal ? judgeAddresses(host, ['127.0.0.1'], policy) : OK
}

/** A literal address. */
export function judgeAddress(text: string, policy: OutboundPolicy): OutboundVerdict {
  const rule = forbids(text, policy, null)
  return rule === null
    ? OK
    : refusal(rule, `${text} is ${WORDS[rule]}, ${howToAllow(rule, 'its network', policy)}`)
}

/**
 * The error for callers, both when a name does not resolve and when it resolves to a forbidden address. One text for both:
 * otherwise a tenant could discover which names exist in the operator's network, and what kind of address each has.
 */
export function unreachableName(host: string, { within }: OutboundPolicy): string {
  const settings =
    within === undefined ? 'MILLRACE_OUTBOUND_ALLOW' : 'MILLRACE_OUTBOUND_ALLOW and MILLRACE_OUTBOUND_TENANTS'
  return `${host} cannot be reached from here: the name does not resolve, or it leads to an address that is not allowed; check the name, or ask the operator to allow the host (${settings})`
}

/** For a name that resolves to a forbidden address. Only for the operator's log. */
export interface RefusedName {
  readonly host: string
  readonly rule: OutboundRule
  readonly addresses: readonly string[]
}

/**
 * Judges all addresses of a name. One forbidden address refuses the name: which address is dialled would be a matter of chance.
 */
export function judgeAddresses(
  host: string,
  addresses: readonly string[],
  policy: OutboundPolicy,
): OutboundVerdict {
  for (const address of addresses) {
    const rule = forbids(address, policy, host)
    if (rule !== null)
      return refusal(
        rule,
        `${host} leads to ${WORDS[rule]}, ${howToAllow(rule, 'the host or its network', policy)}`,
      )
  }
  return OK
}

/** The rule that forbids the address; null: it may be called. */
function forbids(text: string, policy: OutboundPolicy, host: string | null): AddressRule | null {
  const address = readAnyAddress(text)
  if (address === null) return 'unreadable'
  const rule = ruleOfAddress(address)
  return rule === null || isExcepted(address, rule, policy, host) ? null : rule
}

function isExcepted(
  address: IpAddress,
  rule: AddressRule,
  policy: OutboundPolicy,
  host: string | null,
): boolean {
  if (policy.within !== undefined && !isExcepted(address, rule, policy.within, host)) return false
  // Allowing a network that contains a metadata service does not allow the service: only its exact address does.
  if (rule === 'metadata')
    return policy.networks.some((network) => isWhole(network) && contains(network, address))
  if (policy.networks.some((network) => contains(network, address))) return true
  return host !== null && (rule === 'private' || rule === 'shared') && isNamed(host, policy)
}

type Network = OutboundPolicy['networks'][number]

function contains([base, bits]: Network, address: IpAddress): boolean {
  return base.kind() === address.kind() && address.match(base, bits)
}

function isWhole([base, bits]: Network): boolean {
  return bits === (base.kind() === 'ipv4' ? 32 : 128)
}

function isNamed(host: string, { hosts, suffixes }: OutboundPolicy): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return hosts.has(name) || suffixes.some((suffix) => name.endsWith(suffix) && name.length > suffix.length)
}

const OK = { ok: true } as const

const WORDS: Readonly<Record<AddressRule, string>> = {
  unreadable: 'an address that cannot be read',
  unspecified: 'an address of no machine in particular',
  loopback: 'an address of this machine itself',
  private: 'an address of a private network',
  shared: 'an address of a network that providers share among their customers',
  link_local: 'a link-local address',
  metadata: 'an address of a cloud’s metadata service',
  multicast: 'a multicast address',
  documentation: 'an address for documentation',
  benchmark: 'an address for benchmarks',
  reserved: 'a reserved address',
  transition: 'an IPv6 address that stands for an IPv4 one',
}

function howToAllow(rule: AddressRule, what: string, { within }: OutboundPolicy): string {
  const no = 'which may not be called'
  if (rule === 'unreadable') return no
  const settings = 'MILLRACE_OUTBOUND_ALLOW'
  const tenant = within === undefined ? '' : ', and MILLRACE_OUTBOUND_TENANTS does for this tenant'
  if (rule === 'metadata') return `${no} unless ${settings} names that very address${tenant}`
  if (rule === 'loopback') return `${no} unless ${settings} says loopback${tenant}`
  const isForHosts = rule === 'private' || rule === 'shared'
  return `${no} unless ${settings} names ${isForHosts ? what : 'its network'}${tenant}`
}

function refusal(rule: OutboundRule, message: string): OutboundRefusal {
  return { ok: false, rule, message }
}

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code === 0x7f) return true
  }
  return text !== text.trim()
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}
