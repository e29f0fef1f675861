export { findClearRead } from './clear-reads.ts'
export { inheritSensitive } from './inherit.ts'
export {
  compileSensitive,
  parseSensitivePath,
  SENSITIVE_PATHS_MAX,
  type Sensitive,
  type SensitivePath,
  WHOLE_PAYLOAD,
} from './paths.ts'
export { HIDDEN, redact, redactHeader } from './redact.ts'
export { makeScrub, type Scrub, scrubNothing } from './scrub.ts'
export { isSealed, joinSealed, parsePayload, SEALED_MARK, sealedProblem, splitSealed } from './sealed-text.ts'
