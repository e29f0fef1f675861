export { type CanonicalDraft, type CanonicalParent, canonicalEvent, canonicalKey } from './canonical.ts'
export { type EscalationActions, makeEscalations } from './escalations.ts'
export {
  concerns,
  type FailureChange,
  type Failures,
  failAtTheDoor,
  makeFailures,
  NO_FAILURE_CHANGE,
} from './failures.ts'
export { makeFailureSweep } from './sweep.ts'
