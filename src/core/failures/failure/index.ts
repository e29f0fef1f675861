// Classifies failed calls and describes the failure of a job until it is resolved or escalated.

export type { CallFacts, CallPolicy, CallVerdict } from './classify-call.ts'
export { classifyCall, isTimeout, parseRetryAfter } from './classify-call.ts'
export type { FailedTry, Failure, FailureEvent, FailureState, NewFailure } from './failure.ts'
export { FAILURE_STATES, failureId, stepFailure } from './failure.ts'
export type { FailureClass, ReportedAs } from './failure-class.ts'
export { FAILURE_CLASSES, REPORTED_AS } from './failure-class.ts'
export { refusalWords } from './refusal-reason.ts'
