// Finds, redacts and inherits the sensitive parts of a payload.

export {
  hiddenFrom,
  hiddenFromEndpoint,
  isHidingLevel,
  restrictedOf,
  sensitivePathsOf,
} from './classified-paths.ts'
export { findClearRead, findClearReads } from './clear-reads.ts'
export {
  ENCRYPTED_MARK,
  encryptedProblem,
  isEncrypted,
  joinEncrypted,
  parsePayload,
  splitEncrypted,
} from './encrypted-text.ts'
export { inheritSensitive } from './inherit-sensitive.ts'
export { HIDDEN, isHiddenAt, namedPart, redact, redactHeader } from './redact-sensitive.ts'
export { makeScrub, makeScrubOfTexts, type Scrub, scrubNothing } from './scrub-text.ts'
export {
  compileSensitive,
  overlaps,
  parseSensitivePath,
  type Sensitive,
  type SensitivePath,
  WHOLE_PAYLOAD,
} from './sensitive-paths.ts'
