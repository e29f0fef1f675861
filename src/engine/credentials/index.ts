export { credentialOf, newRotation } from './begin.ts'
export { type CredentialKeeping, makeCredentials } from './credentials.ts'
export type { Rotations } from './rotation.ts'
export { unreadable } from './values.ts'
