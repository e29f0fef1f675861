// The failure classes: named by what happens next (docs/spec/failure-classes.md).

export const FAILURE_CLASSES = [
  'transient',
  'rate_limited',
  'auth',
  'config',
  'validation',
  'poison',
  'unknown',
] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

/** What the logs write: three words that operators filter by. */
export type ReportedAs = 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'

export const REPORTED_AS: Readonly<Record<FailureClass, ReportedAs>> = {
  transient: 'TRANSIENT',
  rate_limited: 'TRANSIENT',
  auth: 'PERMANENT',
  config: 'PERMANENT',
  validation: 'DATA_QUALITY',
  poison: 'PERMANENT',
  unknown: 'TRANSIENT',
}
