// Whether an address is this machine or its own network: a typing error must not send a payload elsewhere.

import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

const LOCAL = new BlockList()
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  LOCAL.addSubnet(network, prefix, 'ipv4')
}
LOCAL.addAddress('::1', 'ipv6')
LOCAL.addSubnet('fc00::', 7, 'ipv6')
LOCAL.addSubnet('fe80::', 10, 'ipv6')

/** An IPv4 address in IPv6 form counts as IPv4. */
function isLocalAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  return LOCAL.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** A name is local if all its addresses are. */
export async function isLocalHost(
  hostname: string,
  resolve: (name: string) => Promise<readonly string[]> = resolveName,
): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  if (isIP(host) !== 0) return isLocalAddress(host)
  const addresses = await resolve(host).catch(() => [])
  return addresses.length > 0 && addresses.every(isLocalAddress)
}

async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}
