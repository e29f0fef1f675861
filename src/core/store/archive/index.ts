// Reads and checks the rows of a store as pages, to move them to another store.

export { ARCHIVE_TABLES, type ArchiveRows, type ArchiveTable, COUNTER_NAMES } from './archive-rows.ts'
export { decideMove, type MoveVerdict, type TargetState } from './move-check.ts'
export { inPages, PAGE_LIMITS, type PageLimits } from './row-pages.ts'
export { type Digest, type DigestMaker, isSameDigest, makeDigest } from './table-digest.ts'
