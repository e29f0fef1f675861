// Open connections per remote address, up to a limit: one client alone cannot use up the node's sockets. Connections of trusted
// proxies carry the requests of many clients and are not counted; the proxy limits its own clients.

import type { Socket } from 'node:net'
import { compileNetworks } from '../core/access/network/index.ts'
import { addressGroup } from './auth.ts'

export interface Connections {
  /** False: the address has as many as it may. Counted until the socket closes otherwise. */
  admit(socket: Pick<Socket, 'remoteAddress' | 'once'>): boolean
}

export function makeConnections(options: {
  readonly perAddressMax: number
  readonly trustedProxies: readonly string[]
}): Connections {
  const { perAddressMax } = options
  const isTrusted = compileNetworks(options.trustedProxies)
  /** Only addresses with an open connection are in it. */
  const open = new Map<string, number>()
  return {
    admit(socket) {
      const { remoteAddress } = socket
      if (remoteAddress === undefined || isTrusted(remoteAddress)) return true
      const group = addressGroup(remoteAddress)
      const count = open.get(group) ?? 0
      if (count >= perAddressMax) return false
      open.set(group, count + 1)
      socket.once('close', () => {
        const left = (open.get(group) ?? 1) - 1
        if (left === 0) open.delete(group)
        else open.set(group, left)
      })
      return true
    },
  }
}
