export {
  CLOSED_LETTERS,
  FINAL_WORK,
  type KeepTimes,
  keeperOf,
  keepMsOf,
  OPEN_ENTRIES,
  type Pruned,
  type PruneRequest,
  pruneEnd,
} from './retention.ts'
