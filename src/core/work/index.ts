export type { Attempt, Counters, NewWork, Note, SettledState, WorkRow, WorkState } from './work.ts'
export { EMPTY_NOTE, WORK_STATES } from './work.ts'
