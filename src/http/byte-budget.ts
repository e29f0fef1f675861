// How many bytes of request bodies the node holds at once: received and not answered yet, from all senders. A body that would pass the
// limit is refused with 503, so that no number of senders fills the memory. Of bodies that are still coming, one remote address holds
// no more than its share, so that it alone cannot make the node refuse all others. Connections of trusted proxies carry the bodies of
// many clients and have no share.
//
// Invariants: B1 `held` never passes the limit. B2 every byte that was taken is released once. B3 after its release a holding takes
// nothing more.

import type { Socket } from 'node:net'
import { compileNetworks } from '../core/access/network/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { addressGroup } from './auth.ts'

export interface ByteBudget {
  /** For one request that comes on this connection. */
  hold(socket: Pick<Socket, 'remoteAddress'>): Holding
  readonly held: number
}

/** What one request holds. */
export interface Holding {
  /** Null: taken. Otherwise why there is no room, and nothing was taken. */
  take(bytes: number): AppError | null
  /** The whole body is here: the address's share is free again, and the bytes are held until the release. */
  complete(): void
  /** Any number of times. */
  release(): void
}

export function makeByteBudget(
  bytesMax: number,
  options: {
    /** The largest body: an address always has room for one. Left out: no address has a limit. */
    readonly bodyBytesMax?: number
    readonly trustedProxies?: readonly string[]
  } = {},
): ByteBudget {
  const shareMax = Math.max(bytesMax / 2, options.bodyBytesMax ?? Number.POSITIVE_INFINITY)
  const isTrusted = compileNetworks(options.trustedProxies ?? [])
  /** Bytes of unfinished bodies; only addresses that have some are in it. */
  const unfinished = new Map<string, number>()
  /** A connection has many requests, and reading an address takes time. */
  const groups = new WeakMap<object, string>()
  let held = 0

  const groupOf = (socket: Pick<Socket, 'remoteAddress'>): string => {
    const known = groups.get(socket)
    if (known !== undefined) return known
    const { remoteAddress } = socket
    const group = remoteAddress === undefined || isTrusted(remoteAddress) ? '' : addressGroup(remoteAddress)
    groups.set(socket, group)
    return group
  }

  class OneHolding implements Holding {
    readonly #socket: Pick<Socket, 'remoteAddress'>
    #bytes = 0
    /** Of an unfinished body; empty: the address has no share. */
    #group = ''
    #ofShare = 0
    #state: 'unfinished' | 'complete' | 'released' = 'unfinished'
    constructor(socket: Pick<Socket, 'remoteAddress'>) {
      this.#socket = socket
    }
    take(bytes: number): AppError | null {
      if (this.#state === 'released' || held + bytes > bytesMax) return overBudget()
      if (this.#state === 'unfinished' && shareMax < bytesMax) {
        this.#group ||= groupOf(this.#socket)
        if (this.#group !== '') {
          const share = (unfinished.get(this.#group) ?? 0) + bytes
          if (share > shareMax) return overShare()
          unfinished.set(this.#group, share)
          this.#ofShare += bytes
        }
      }
      held += bytes
      this.#bytes += bytes
      return null
    }
    complete(): void {
      if (this.#state === 'released') return
      this.#state = 'complete'
      this.#leaveShare()
    }
    release(): void {
      this.#state = 'released'
      this.#leaveShare()
      held -= this.#bytes
      this.#bytes = 0
    }
    #leaveShare(): void {
      if (this.#ofShare === 0) return
      const left = (unfinished.get(this.#group) ?? 0) - this.#ofShare
      if (left > 0) unfinished.set(this.#group, left)
      else unfinished.delete(this.#group)
      this.#ofShare = 0
    }
  }

  return {
    hold: (socket) => new OneHolding(socket),
    get held() {
      return held
    },
  }
}

function overBudget(): AppError {
  return new AppError(
    'overloaded',
    'the node holds as many bytes of requests as `MILLRACE_BODIES_LIMIT` allows',
  )
}

function overShare(): AppError {
  return new AppError(
    'overloaded',
    'unfinished requests of this address hold as many bytes as one address may: half of `MILLRACE_BODIES_LIMIT`',
  )
}
