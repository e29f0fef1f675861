// What the checks of one document know about everything besides it.

import type { OutboundPolicy } from '../core/access/network/index.ts'
import type { EnvironmentName } from '../core/definitions/documents/index.ts'
import type { SensitivePath } from '../core/events/sensitive/index.ts'
import type { KnownIntegrations } from './integrations.ts'
import type { ReadableStreams } from './nats.ts'
import type { KnownProfile } from './profiles.ts'

/** What a source hides, and the first token of what it publishes; null if a template makes it. */
export interface SensitiveSource {
  readonly paths: readonly SensitivePath[]
  readonly firstToken: string | null
}

export interface Surroundings {
  /** Names in the files, valid or not, and of deployed documents besides them. */
  readonly agents: readonly string[]
  readonly workflows: readonly string[]
  readonly integrations: KnownIntegrations
  readonly profiles: readonly KnownProfile[]
  /** The hash of the code that has the function, or null. */
  functions(name: string): string | null
  /** Whether the vault has the secret. */
  secrets(name: string): boolean
  /** Whether the environment has the variable, as far as is known. */
  hasVariable(name: string): boolean
  /** Whether `{ env }` may be used. */
  readonly hasEnvironment: boolean
  /** Whether `{ env }` may read this variable. */
  isEnvReadable(name: string): boolean
  /** What the sources of the same files hide, and the deployed ones besides them. */
  readonly sensitive: readonly SensitiveSource[]
  /** Where the node may call; undefined: no node was asked; null: others judge. */
  readonly outbound: OutboundPolicy | null | undefined
  readonly isProduction: boolean
  /** Of the node. */
  readonly environment: EnvironmentName
  /** Whether a credential in clear text prevents a document from being applied. */
  refusesLiteral(literal: string): boolean
  /** The prefix of the node's own subjects on the bus; undefined: no node was asked. */
  readonly busPrefix: string | undefined
  /** What sources may read of the bus; undefined: no node was asked. */
  readonly streams: ReadableStreams | undefined
}
