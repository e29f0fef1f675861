// Finds, then creates or updates an object by its external reference, which is locked meanwhile.

export { freeLocks, releaseLocks } from './reference-locks.ts'
export { makeUpserts, type Upserts } from './upserts.ts'
