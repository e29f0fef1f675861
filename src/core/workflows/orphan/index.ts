// Describes an orphaned event: a trigger selected it, but not exactly one instance matched.

export type { NewOrphan, Orphan, OrphanReason, OrphanState } from './orphan.ts'
export { ORPHAN_REASONS, ORPHAN_STATES } from './orphan.ts'
