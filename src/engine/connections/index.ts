// Calls providers through a tenant's connection: address, credential, limits, health, integration runs.

export { composeCredentials } from './compose.ts'
export type { HealthWorker } from './connection-health.ts'
export type {
  ConnectionDetail,
  ConnectionView,
  Credentials,
  CredentialView,
  Integrations,
  ProviderView,
} from './connection-types.ts'
export { type Connections, makeConnections } from './connections.ts'
export {
  type ComposedCredentials,
  credentialOf,
  newRotation,
  type Rotations,
} from './credentials/index.ts'
