export { CREDENTIAL_PREFIX, credentialOf, newRotation } from './begin.ts'
export { type CredentialKeeping, makeCredentials } from './credentials.ts'
export type { CredentialDeps, Named } from './deps.ts'
export type { Rotations } from './rotation.ts'
