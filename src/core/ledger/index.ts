export type { LedgerEntry, LedgerProof, LedgerState, NewLedgerEntry } from './ledger.ts'
export { LEDGER_STATES } from './ledger.ts'
