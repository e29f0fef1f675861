// Decides by the ledger whether an effect may run, has run, or has an unknown outcome.

export type { EffectAbilities, EffectQuestion, EffectStep } from './decide-effect.ts'
export {
  acknowledgedRef,
  acknowledgedResult,
  acknowledgement,
  decideEffect,
  EVIDENCE_ACKNOWLEDGED,
  isProved,
  keyOfGeneration,
  LEDGER_STEPS,
} from './decide-effect.ts'
export type { LedgerEntry, LedgerProof, LedgerState, NewLedgerEntry } from './ledger.ts'
export { LEDGER_STATES } from './ledger.ts'
