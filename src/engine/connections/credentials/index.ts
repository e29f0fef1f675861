// Authorizes requests with credentials, and rotates their secrets.

export { credentialOf, newRotation } from './begin-rotation.ts'
export { type ComposedCredentials, makeCredentials } from './compose.ts'
export type { Rotations } from './rotation-worker.ts'
