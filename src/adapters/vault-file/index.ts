export { makeFileVault } from './vault-file.ts'
