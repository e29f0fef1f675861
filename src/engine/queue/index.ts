// Claims due jobs, keeps lanes in order, runs each job by its kind and action, and exchanges wake-up signals with other
// nodes.

export type { BacklogAges } from './backlog.ts'
export type { Claims } from './claims.ts'
export { composeQueue, type Queue } from './compose.ts'
export type { LaneActions } from './lane-actions.ts'
export { makeActions } from './run-action.ts'
