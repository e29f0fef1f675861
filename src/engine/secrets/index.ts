// Reads secrets from vaults, and keeps sensitive values out of logs, errors and results.

export {
  combineVaults,
  isVaultTrouble,
  missingSecrets,
  placeOfSecret,
  unsetSecrets,
} from './combined-vault.ts'
export { type HmacKeys, makeHmacKeys } from './hmac-keys.ts'
export { limitSecrets } from './secret-quota.ts'
export {
  encryptResult,
  logSensitiveRead,
  openResult,
  type Reader,
  scrubFields,
  scrubOf,
  scrubOrNull,
  sensitiveOfCaused,
} from './sensitive-values.ts'
export { hidingScope, isHiding } from './subscription-scope.ts'
export { type NoValue, unreadable } from './unreadable-secret.ts'
