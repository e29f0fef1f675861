export { makeLocalVault } from './vault-local.ts'
