export type { FailureClass, ReportedAs } from './class.ts'
export { FAILURE_CLASSES, REPORTED_AS } from './class.ts'
export type { CallFacts, CallPolicy, CallVerdict } from './classify.ts'
export { classifyCall, parseRetryAfter } from './classify.ts'
