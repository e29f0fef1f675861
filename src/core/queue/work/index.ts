export type { FailureQuestion, FailureStep } from './decide-failure.ts'
export { decideExhausted, decideFailure, LOSSES_MAX, WORK_STEPS } from './decide-failure.ts'
export type {
  Attempt,
  Counters,
  Lane,
  NewWork,
  Note,
  SettledState,
  WorkKind,
  WorkRow,
  WorkState,
} from './work.ts'
export {
  deadLetterOf,
  EMPTY_NOTE,
  isIsolated,
  isUntried,
  isWorkKind,
  putBackCounters,
  SUBSCRIPTION_PREFIX,
  WORK_STATES,
} from './work.ts'
