export { type CommitOutcome, type Executor, type ExecutorOptions, makeExecutor } from './executor.ts'
export { type InlineOptions, makeSqliteStoreInline } from './inline.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './store.ts'
