export { findOwnFiles } from './own-files.ts'
export { makeFileVault } from './vault-file.ts'
