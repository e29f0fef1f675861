export { type Connections, makeConnections } from './connections.ts'
export type { Entrance } from './entrance.ts'
export type { FunctionConnections } from './functions.ts'
export { redactOutcome } from './heads.ts'
export { makeHealthWorker, type Watched } from './health.ts'
export { connectionOf, type Named } from './named.ts'
export type { ConnectionPeople } from './people.ts'
export { CONNECTION_BUCKETS } from './shared-buckets.ts'
export type { Tester } from './tester.ts'
export type {
  AfterRefusal,
  Asked,
  Authorized,
  ConnectionDetail,
  ConnectionTest,
  ConnectionView,
  Credentials,
  CredentialView,
  Door,
  DoorAnswer,
  DoorRequest,
  Gate,
  Integrations,
  ProviderView,
  ToAuthorize,
} from './types.ts'
