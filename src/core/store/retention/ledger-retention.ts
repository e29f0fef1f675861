// How long the ledger must remember a route's effects: until none of its events can recur automatically. `check` shows this
// arithmetic, and the default follows it.

import type { RouteDocument } from '../../definitions/documents/index.ts'
import { DAY } from '../../foundation/time/index.ts'

/** Where a route sets nothing, and the need is less. */
const LEDGER_KEEP_MS = 90 * DAY
/** How far back a reconciliation with the other side may look. */
const LOOK_BACK_MS = 7 * DAY
/** Clock differences, intervals of the deletion, a weekend's delay. */
const OVERLAP_MS = DAY

export interface LedgerNeed {
  readonly name: string
  readonly ms: number
}

/** `horizonMs`: how long events of its sources are stored, and so can be replayed. */
export function ledgerNeeds(
  route: Pick<RouteDocument, 'retry' | 'maxWaitMs' | 'delayMs'>,
  horizonMs: number,
): readonly LedgerNeed[] {
  // At the maximum of jitter.
  const retriesMs = Math.ceil(route.retry.delaysMs.reduce((sum, delay) => sum + delay, 0) * 1.2)
  return [
    { name: 'replays', ms: horizonMs },
    { name: 'look-back', ms: LOOK_BACK_MS },
    ...(route.delayMs === undefined ? [] : [{ name: 'delay', ms: route.delayMs }]),
    { name: 'retries', ms: retriesMs },
    { name: 'maxWait', ms: route.maxWaitMs },
    { name: 'overlap', ms: OVERLAP_MS },
  ]
}

export function sumOf(needs: readonly LedgerNeed[]): number {
  return needs.reduce((sum, { ms }) => sum + ms, 0)
}

/** The route's setting, or else as long as its events may recur, and at least 90 days. */
export function ledgerKeepMsOf(
  route: Pick<RouteDocument, 'retry' | 'maxWaitMs' | 'delayMs' | 'ledgerKeepMs'>,
  horizonMs: number,
): number {
  return route.ledgerKeepMs ?? Math.max(LEDGER_KEEP_MS, sumOf(ledgerNeeds(route, horizonMs)))
}
