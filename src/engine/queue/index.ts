// Claims due jobs, keeps lanes in order, runs each job by its kind and action, and exchanges wake-up signals with other
// nodes.

export { type BacklogAges, makeBacklog } from './backlog.ts'
export { type Claims, makeClaims } from './claims.ts'
export { makeExpandEach } from './expand-each.ts'
export { type LaneActions, makeLaneActions } from './lane-actions.ts'
export { makeDebouncer } from './lane-debounce.ts'
export { makeLostClaims } from './lost-claims.ts'
export { makeActions } from './run-action.ts'
export { makeRunner } from './run-job.ts'
export { makeNodeWakes } from './wake-signals.ts'
