// Resolves names and judges whether the addresses may be called. All code that needs an address of a name asks here,
// once.

import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import {
  judgeAddresses,
  judgeTarget,
  type OutboundPolicy,
  type RefusedName,
  readTarget,
  unreachableName,
} from '../../core/access/network/index.ts'
import type { Vetted } from '../../ports/http-client.ts'

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    )
  })
}

/**
 * The verdict on a URL before it is called. A name that does not resolve yet may do so when it is needed; one that
 * leads to a forbidden address gets the same answer.
 */
export function makeVet(
  policy: OutboundPolicy,
  resolve: Resolve,
  waitMs: number,
  onRefusedName?: (refused: RefusedName) => void,
): (url: string) => Promise<Vetted> {
  return async (text) => {
    const target = readTarget(text)
    if (!target.ok) return target
    const verdict = judgeTarget(target, policy)
    if (!verdict.ok || target.isLiteral) return verdict
    const { host } = target
    const found = await within(waitMs, resolve(host))
    const addresses = (found ?? []).map(({ address }) => address)
    const judged = judgeAddresses(host, addresses, policy)
    if (!judged.ok) onRefusedName?.({ host, rule: judged.rule, addresses })
    else if (addresses.length > 0) return judged
    return { ok: true, warning: `${unreachableName(host, policy)}; each call looks again` }
  }
}

/** null: it failed, or is not there in time. */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, null)
    promise.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer))
  })
}
