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
  parseSensitivePath,
  type Sensitive,
  type SensitivePath,
} from './sensitive-paths.ts'
