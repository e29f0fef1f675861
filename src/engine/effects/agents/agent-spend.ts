// The cost of an agent's attempts so far, as evidence on the ledger entry of its step.

import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'

const SPENT = 'tokens '

export function spentEvidence(tokens: number): string {
  return `${SPENT}${tokens}`
}

/** Each note covers all attempts together: the last one counts. */
export function spentOf({ evidence }: Pick<LedgerEntry, 'evidence'>): number {
  const last = evidence.findLast((text) => text.startsWith(SPENT))
  const tokens = last === undefined ? 0 : Number(last.slice(SPENT.length))
  return Number.isSafeInteger(tokens) ? tokens : 0
}
