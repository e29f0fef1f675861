export {
  CLOSED_LETTERS,
  FINAL_WORK,
  type KeepTimes,
  keepMsOf,
  OPEN_ENTRIES,
  type Pruned,
  type PruneRequest,
  pruneEnd,
} from './retention.ts'
