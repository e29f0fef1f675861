// Names: what they lead to, and whether that may be called. Everybody who needs an address of a name asks here, once.

import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { judgeAddresses, judgeTarget, type OutboundPolicy, readTarget } from '../../core/guard/index.ts'
import type { Vetted } from '../../ports/http-client.ts'

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    )
  })
}

/** What is said of an address before it is called. A name that nobody knows yet may be known by the time that it is needed. */
export function makeVet(
  policy: OutboundPolicy,
  resolve: Resolve,
  waitMs: number,
): (url: string) => Promise<Vetted> {
  return async (text) => {
    const target = readTarget(text)
    if (!target.ok) return target
    const verdict = judgeTarget(target, policy)
    if (!verdict.ok || target.isLiteral) return verdict
    const { host } = target
    const addresses = await within(waitMs, resolve(host))
    if (addresses === null || addresses.length === 0)
      return {
        ok: true,
        warning: `the name ${host} could not be resolved just now; it is judged again at each call`,
      }
    return judgeAddresses(
      host,
      addresses.map(({ address }) => address),
      policy,
    )
  }
}

/** null: it failed, or is not there in time. */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, null)
    promise.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer))
  })
}
