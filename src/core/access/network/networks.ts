// Addresses and the networks that contain them, for allowlists and trusted proxies.
// Invariants: GU2 an IPv4 address written as IPv6 is the IPv4 address, on both sides of the comparison. An address that does
// not parse is in no network.

import ipaddr from 'ipaddr.js'
import { VENDOR_NETWORKS } from './vendor-networks.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = readonly [Address, number]

export type Networks = (address: string) => boolean

const MAPPED_BITS = 96

/** One entry of an allowlist as networks; null: neither a network nor an address nor a vendor's name. */
export function parseAllowed(entry: string): readonly string[] | null {
  const vendor = Object.hasOwn(VENDOR_NETWORKS, entry) ? VENDOR_NETWORKS[entry] : undefined
  if (vendor !== undefined) return vendor.networks
  return readNetwork(entry) === null ? null : [entry]
}

export function vendorNames(): readonly string[] {
  return Object.keys(VENDOR_NETWORKS)
}

/** Entries that do not parse allow no sender: definitions are checked before. */
export function compileAllowlist(entries: readonly string[]): Networks {
  return compileNetworks(entries.flatMap((entry) => parseAllowed(entry) ?? []))
}

export function compileNetworks(texts: readonly string[]): Networks {
  const networks = texts.flatMap((text) => {
    const network = readNetwork(text)
    return network === null ? [] : [network]
  })
  if (networks.length === 0) return () => false
  return (text) => {
    const address = parseAddress(text)
    if (address === null) return false
    return networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
  }
}

/** The address in its canonical spelling, IPv4 where it is one; null: not an address. A port or a zone makes it invalid. */
export function normalAddress(text: string): string | null {
  return parseAddress(text)?.toString() ?? null
}

/** A network or one address; null: neither. */
export function readNetwork(text: string): Network | null {
  const slash = text.indexOf('/')
  if (slash === -1) {
    const address = parseAddress(text)
    return address === null ? null : [address, address.kind() === 'ipv4' ? 32 : 128]
  }
  const base = readAddress(text.slice(0, slash))
  const width = text.slice(slash + 1)
  if (base === null || !/^\d{1,3}$/.test(width)) return null
  const bits = Number(width)
  if (bits > (base.kind() === 'ipv4' ? 32 : 128)) return null
  if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= MAPPED_BITS) {
    return [base.toIPv4Address(), bits - MAPPED_BITS]
  }
  return [base, bits]
}

function parseAddress(text: string): Address | null {
  const address = readAddress(text)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Four decimal parts or an IPv6 address without a zone: other spellings mean different things to different parsers. */
function readAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  return text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text)
    ? ipaddr.IPv6.parse(text)
    : null
}
