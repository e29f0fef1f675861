// What the operator allows beside public addresses: networks, and hosts by name.

import { readNetwork } from './networks.ts'
import type { IpAddress } from './outbound-ranges.ts'

export interface OutboundPolicy {
  readonly networks: readonly (readonly [base: IpAddress, bits: number])[]
  /** In lower case. */
  readonly hosts: ReadonlySet<string>
  /** With their leading dot: `.example.internal`. */
  readonly suffixes: readonly string[]
  /** The upper bound: what it does not allow stays forbidden too. Left out: no upper bound. */
  readonly within?: OutboundPolicy
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/

/**
 * One entry in its usual spelling: a network, an address, `loopback`, a host, or `*.` and a domain. null: none of these. Text
 * that ends in a number is meant as an address, so it is never a host.
 */
export function parseOutboundEntry(entry: string): readonly string[] | null {
  const text = entry.toLowerCase()
  if (text === 'loopback' || text === 'localhost') return LOOPBACK
  const network = readNetwork(text)
  if (network !== null) return [`${network[0].toString()}/${network[1]}`]
  const name = text.replace(/^\*\./, '').replace(/\.$/, '')
  if (name.length > 253 || !LABELS.test(name) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name)) return null
  return [text.startsWith('*.') ? `*.${name}` : name]
}

/** Throws if an entry does not parse: settings are checked before. */
export function makeOutboundPolicy(entries: readonly string[], within?: OutboundPolicy): OutboundPolicy {
  const networks: (readonly [IpAddress, number])[] = []
  const hosts = new Set<string>()
  const suffixes: string[] = []
  for (const entry of entries) {
    const words = parseOutboundEntry(entry)
    if (words === null) throw new Error(`‘${entry}’ is neither a network nor a host`)
    for (const word of words) {
      const network = readNetwork(word)
      if (network !== null) networks.push(network)
      else if (word.startsWith('*.')) suffixes.push(word.slice(1))
      else hosts.add(word)
    }
  }
  return { networks, hosts, suffixes, ...(within !== undefined && { within }) }
}

/** The entries that make the same policy: a policy itself cannot be sent to another thread. */
export function outboundEntries({ networks, hosts, suffixes }: OutboundPolicy): readonly string[] {
  return [
    ...networks.map(([base, bits]) => `${base.toString()}/${bits}`),
    ...hosts,
    ...suffixes.map((suffix) => `*${suffix}`),
  ]
}
