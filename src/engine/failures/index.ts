export { type CanonicalDraft, type CanonicalParent, canonicalEvent } from './canonical.ts'
export {
  closeFailure,
  concerns,
  type FailureChange,
  type Failures,
  failAtTheDoor,
  makeFailures,
  NO_FAILURE_CHANGE,
} from './failures.ts'
