export { findClearRead, findClearReads } from './clear-reads.ts'
export { inheritSensitive } from './inherit.ts'
export {
  compileSensitive,
  parseSensitivePath,
  type Sensitive,
  type SensitivePath,
} from './paths.ts'
export { HIDDEN, isHiddenAt, namedPart, redact, redactHeader } from './redact.ts'
export { makeScrub, makeScrubOfTexts, type Scrub, scrubNothing } from './scrub.ts'
export { isSealed, joinSealed, parsePayload, SEALED_MARK, sealedProblem, splitSealed } from './sealed-text.ts'
