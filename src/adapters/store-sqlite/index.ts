export { openSqliteArchive } from './archive.ts'
export { type CommitOutcome, type Executor, type ExecutorOptions, makeExecutor } from './executor.ts'
export type { AcceptedLoss, Opening } from './opening.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './store.ts'
