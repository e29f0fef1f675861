export { type EnvNames, isEnvEntry, isEnvReadable, RESERVED_ENV } from './env-names.ts'
export { fingerprintOf } from './fingerprint.ts'
export {
  findLiterals,
  HIDDEN,
  hideLiterals,
  hideRequest,
  type LiteralCredential,
  mayHoldLiteral,
  USER_INFO_WHAT,
} from './literals.ts'
export { isSimpleMasterKey, parseMasterKey } from './master-key.ts'
export { type MasterKey, type MasterKeys, makeMasterKeys } from './master-keys.ts'
export { isSecretName, OWN_SECRETS, SECRET_NAME } from './name.ts'
export { type NamedSecret, namedSecrets } from './named.ts'
export { makeRedact, REDACTED, type Redact } from './redact.ts'
export {
  expectPending,
  expectVersion,
  type Former,
  type HeldVersion,
  inOverlap,
  nextVersion,
  promoteVersion,
  type SecretVersions,
  setVersion,
} from './versions.ts'
