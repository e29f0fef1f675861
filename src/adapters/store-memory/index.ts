export { type MemoryState, makeMemoryState } from './state.ts'
export { type MemoryStoreOptions, makeMemoryStore } from './store.ts'
