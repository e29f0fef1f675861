// Names, versions, fingerprints and redacts secrets.

export {
  findLiterals,
  HIDDEN,
  hideLiterals,
  hideRequest,
  type LiteralCredential,
  mayHoldLiteral,
  USER_INFO_WHAT,
} from './clear-text-credentials.ts'
export { type EnvNames, isEnvEntry, isEnvReadable, RESERVED_ENV } from './env-names.ts'
export { fingerprintOf } from './fingerprint.ts'
export { weaknessOf } from './key-strength.ts'
export { isSimpleMasterKey, parseMasterKey } from './master-key-text.ts'
export { type MasterKey, type MasterKeys, makeMasterKeys } from './master-keys.ts'
export { type NamedSecret, namedSecrets } from './named-secrets.ts'
export { makeRedact, REDACTED, type Redact } from './redact-secrets.ts'
export { isSecretName, OWN_SECRETS, SECRET_NAME } from './secret-name.ts'
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
} from './secret-versions.ts'
