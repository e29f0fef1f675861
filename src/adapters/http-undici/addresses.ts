// Which addresses a request may go to. Public ones always; others only when the operator named them, because a URL in a
// definition or an event must not reach the machine's own network.

import ipaddr from 'ipaddr.js'

export type AllowPrivate = 'none' | 'loopback' | readonly string[]

/** Every public IPv6 address lies in 2000::/3; what is outside has no business here, whatever it is called. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3')

export function makeAddressPolicy(allowPrivate: AllowPrivate): (address: string) => boolean {
  const isAllowed = makeException(allowPrivate)
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.parse(text)
    const isPublic = address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_V6))
    // `process` turns an IPv4 address in IPv6 clothes into what it is.
    return isPublic || isAllowed(ipaddr.process(text))
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

function makeException(allowPrivate: AllowPrivate): (address: Address) => boolean {
  if (allowPrivate === 'none') return () => false
  if (allowPrivate === 'loopback') return (address) => address.range() === 'loopback'
  const ranges = allowPrivate.map((cidr) => ipaddr.parseCIDR(cidr))
  return (address) => ranges.some((range) => address.kind() === range[0].kind() && address.match(range))
}
