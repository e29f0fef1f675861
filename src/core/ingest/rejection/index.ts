// Keeps the bounded list and the counters of requests that ingest refused.

export {
  compareRejections,
  EMPTY_LOG,
  mergeLogs,
  RECENT_MAX,
  type ReasonCount,
  type Rejection,
  type RejectionLog,
} from './rejection.ts'
