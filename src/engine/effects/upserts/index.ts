// Finds an object by its external reference, then creates or updates it, with the reference locked meanwhile.

export { freeLocks, releaseLocks } from './reference-locks.ts'
export { makeUpserts, type Upserts } from './upserts.ts'
