export { type Digest, type DigestMaker, isSameDigest, makeDigest } from './digest.ts'
export { decideMove, type MoveVerdict, type TargetState } from './move.ts'
export { inPages, PAGE_LIMITS, type PageLimits } from './pages.ts'
export { ARCHIVE_TABLES, type ArchiveRows, type ArchiveTable, COUNTER_NAMES } from './rows.ts'
