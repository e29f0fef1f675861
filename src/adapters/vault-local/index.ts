export { makeMasterKeys } from './master-keys.ts'
export { makeLocalVault } from './vault-local.ts'
