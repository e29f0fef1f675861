export type { FailureQuestion, FailureStep } from './decide.ts'
export { decideExhausted, decideFailure, LOSSES_MAX, WORK_STEPS } from './decide.ts'
export type { Attempt, Counters, NewWork, Note, SettledState, WorkRow, WorkState } from './work.ts'
export { EMPTY_NOTE, WORK_STATES } from './work.ts'
