export type { FailureClass, ReportedAs } from './class.ts'
export { FAILURE_CLASSES, REPORTED_AS } from './class.ts'
