// Records which call of an upsert was about to be made, as evidence on its ledger entry.

import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { parseJson, stringifyJson } from '../../../core/foundation/json/index.ts'

export type Phase = 'create' | 'update'

const PHASE = 'calling '

export function phaseEvidence(phase: Phase, epoch: number): string {
  return `${PHASE}${stringifyJson({ call: phase, epoch })}`
}

/** Of the open reserve; null: no call was about to be made under it. */
export function lastPhase(entry: Pick<LedgerEntry, 'evidence' | 'epoch'>): Phase | null {
  for (const text of entry.evidence.toReversed()) {
    if (!text.startsWith(PHASE)) continue
    const { call, epoch } = parseJson(text.slice(PHASE.length)) as { call: Phase; epoch: number }
    return epoch === entry.epoch ? call : null
  }
  return null
}
