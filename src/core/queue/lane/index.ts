// Decides the order and concurrency of the jobs in a lane.

export type { DebouncePolicy, DebounceQuestion, DebounceStep } from './debounce.ts'
export { decideDebounce, gathers } from './debounce.ts'
export type { RouteLane } from './lane.ts'
export { compileLane, isStale, keepsPlace } from './lane.ts'
export { compareVersions } from './lane-version.ts'
