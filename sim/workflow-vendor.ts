// What the steps of the simulated workflows ask the vendor for. Every kind of promise is here once: a vendor that can be asked, one
// that remembers keys, one that may be called twice, and one that gives no promise at all.

import { SECOND } from '../src/core/foundation/time/index.ts'
import type { VendorOperation } from './vendor-operation.ts'

type Promised = Partial<Pick<VendorOperation, 'isIdempotent' | 'keyTtlMs' | 'probeAfterMs'>>

const of = (workflow: string, promised: Promised): Omit<VendorOperation, 'name'> => ({
  consumer: `workflow:${workflow}`,
  isIdempotent: false,
  keyTtlMs: null,
  probeAfterMs: null,
  timeoutMs: 2 * SECOND,
  ...promised,
})

export const CASE_OPERATIONS: Readonly<Record<string, Omit<VendorOperation, 'name'>>> = {
  chainone: of('chain', { probeAfterMs: 6 * SECOND }),
  chaintwo: of('chain', {}),
  chainthree: of('chain', { keyTtlMs: 80 * SECOND }),
  chainfour: of('chain', { isIdempotent: true }),
  unchainone: of('chain', { isIdempotent: true }),
  unchaintwo: of('chain', { probeAfterMs: 5 * SECOND }),
  unchainthree: of('chain', { isIdempotent: true }),
  unchainfour: of('chain', { isIdempotent: true }),
  deskcheck: of('desk', { probeAfterMs: 5 * SECOND }),
  deskmark: of('desk', { isIdempotent: true }),
  childwork: of('child', { isIdempotent: true }),
  neta: of('net', { probeAfterMs: 5 * SECOND }),
  netb: of('net', {}),
  netc: of('net', { isIdempotent: true }),
  unneta: of('net', { isIdempotent: true }),
  unnetb: of('net', { probeAfterMs: 5 * SECOND }),
  unnetc: of('net', { isIdempotent: true }),
}

/** How often a step is tried: the same for all of them. */
export const CASE_DELAYS_MS: readonly number[] = [1 * SECOND, 2 * SECOND, 4 * SECOND]
