export { freeLocks, releaseLocks } from './locks.ts'
export { makeUpserts, type Upserts } from './upserts.ts'
