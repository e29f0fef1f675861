export { type BrokenCommit, executeCommits } from './executor.ts'
export { dumpState } from './reads.ts'
export { type MemoryState, makeMemoryState } from './state.ts'
export { type MemoryStoreOptions, makeMemoryStore } from './store.ts'
