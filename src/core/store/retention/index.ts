// Decides when events, records and ledger entries may be deleted.

export { ledgerKeepMsOf, ledgerNeeds, sumOf } from './ledger-retention.ts'
export {
  CLOSED_DEAD_LETTERS,
  FINAL_WORK,
  type KeepTimes,
  keeperOf,
  keepMsOf,
  longestKeepMs,
  OPEN_ENTRIES,
  OPEN_ORPHANS,
  type Pruned,
  type PruneRequest,
  pruneEnd,
  pruneFactsEnd,
  pruneRunsEnd,
  shortestKeepMs,
  youngestEntry,
} from './retention.ts'
