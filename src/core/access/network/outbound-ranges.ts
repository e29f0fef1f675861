// Classifies addresses by the IANA registries of special-purpose addresses and by the addresses of cloud metadata services.
// Invariants: an IPv4-mapped IPv6 address is the IPv4 address. Of IPv6 only 2000::/3 can be public, and not all of it.

import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

export type AddressRule =
  | 'unreadable'
  | 'unspecified'
  | 'loopback'
  | 'private'
  /** Shared by providers among their customers (CGNAT). */
  | 'shared'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'documentation'
  | 'benchmark'
  | 'reserved'
  /** Leads to an IPv4 address by a translator or a tunnel. */
  | 'transition'

type Row = readonly [network: string, rule: AddressRule]

/** The first match counts. */
const IPV4: readonly Row[] = [
  ['169.254.169.254/32', 'metadata'],
  ['169.254.170.2/32', 'metadata'],
  ['169.254.170.23/32', 'metadata'],
  ['100.100.100.200/32', 'metadata'],
  ['168.63.129.16/32', 'metadata'],
  ['192.0.0.192/32', 'metadata'],
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link_local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', 'transition'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmark'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
]

const IPV6: readonly Row[] = [
  ['fd00:ec2::254/128', 'metadata'],
  ['fd00:ec2::23/128', 'metadata'],
  ['fd20:ce::254/128', 'metadata'],
  ['fd00:42::42/128', 'metadata'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'transition'],
  ['::ffff:0:0:0/96', 'transition'],
  ['64:ff9b:1::/48', 'transition'],
  ['2001::/32', 'transition'],
  ['2001:2::/48', 'benchmark'],
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', 'transition'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link_local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
]

const compile = (rows: readonly Row[]) =>
  rows.map(([network, rule]) => ({ network: ipaddr.parseCIDR(network), rule }))
const BY_KIND = { ipv4: compile(IPV4), ipv6: compile(IPV6) }
const GLOBAL = ipaddr.parseCIDR('2000::/3')
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')

/** The class that forbids the address unless the policy allows it; null: the address is public. */
export function ruleOfAddress(address: IpAddress): AddressRule | null {
  for (const { network, rule } of BY_KIND[address.kind()]) if (address.match(network)) return rule
  if (address instanceof ipaddr.IPv4) return null
  // Where a translator reaches IPv4, every IPv4-only name resolves to this range: the address is as public as the IPv4 address
  // inside.
  if (address.match(NAT64)) {
    const rule = ruleOfAddress(tail(address))
    // Allowing a surrounding network does not allow a metadata service in it.
    return rule === null || rule === 'metadata' ? rule : 'transition'
  }
  if (isIsatap(address)) return 'transition'
  return address.match(GLOBAL) ? null : 'reserved'
}

/** The address, IPv4 where an IPv6 spelling embeds it; null: ambiguous. */
export function readAnyAddress(text: string): IpAddress | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!text.includes(':') || text.includes('%')) return null
  const groups = withoutDots(text)
  if (groups === null || !ipaddr.IPv6.isValid(groups)) return null
  const address = ipaddr.IPv6.parse(groups)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** `::127.0.0.1` is `::7f00:1`; the parser would read it as `::ffff:7f00:1`. null: the dotted ending is not an IPv4 address. */
function withoutDots(text: string): string | null {
  if (!text.includes('.')) return text
  const at = text.lastIndexOf(':') + 1
  const dotted = text.slice(at)
  if (!ipaddr.IPv4.isValidFourPartDecimal(dotted)) return null
  const [a, b, c, d] = ipaddr.IPv4.parse(dotted).octets as [number, number, number, number]
  return `${text.slice(0, at)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}

/** In any network: the interface identifier marks the last four bytes as an IPv4 address. Two bits of it are free. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return ((parts[4] as number) & 0xfcff) === 0 && parts[5] === 0x5efe
}

function tail({ parts }: ipaddr.IPv6): ipaddr.IPv4 {
  const [high, low] = [parts[6] as number, parts[7] as number]
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
}
