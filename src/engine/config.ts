// The ports that the engine needs, and its settings.

import { TENANT_LIMITS, type TenantLimits } from '../core/access/callers/index.ts'
import {
  type EnvironmentName,
  type ProviderDocument,
  RETENTION_MS,
  type VarSettings,
  type VarValues,
} from '../core/definitions/documents/index.ts'
import type { SystemEvents } from '../core/events/canonical/index.ts'
import type { NodeId } from '../core/foundation/ids/index.ts'
import { DAY, MINUTE } from '../core/foundation/time/index.ts'
import type { StreamList } from '../core/ingest/bus-message/index.ts'
import { ALL_ROLES, type Role } from '../core/queue/node-role/index.ts'
import type { Vars } from '../core/routing/index.ts'
import { BUS_PREFIX } from '../core/store/outbox/index.ts'
import type { Bus } from '../ports/bus.ts'
import type { Clock } from '../ports/clock.ts'
import type { Code } from '../ports/code.ts'
import type { Encryption } from '../ports/encryption.ts'
import type { HttpClient } from '../ports/http-client.ts'
import type { Log } from '../ports/log.ts'
import type { Random } from '../ports/random.ts'
import type { Store } from '../ports/store.ts'
import type { SecretVault, Vault } from '../ports/vault.ts'
import type { Wakes } from '../ports/wakes.ts'

export interface EngineDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly http: HttpClient
  readonly vault: Vault
  /** Stores generated secrets and those of credentials; `vault` resolves them. */
  readonly secrets: EngineSecrets
  /** Encrypts ledger results of sensitive events; the store encrypts the events themselves. */
  readonly encryption: Encryption
  readonly log: Log
  readonly code: Code
  /** Wake-up signals between nodes that share the store. */
  readonly wakes: Wakes
  /** null: no bus is configured. */
  readonly bus: Bus | null
}

export type EngineSecrets = Pick<
  SecretVault,
  'current' | 'find' | 'names' | 'pending' | 'promote' | 'remove' | 'set'
>

export interface EngineConfig {
  readonly node: NodeId
  /** The roles of this node; other nodes with the same store have the rest. */
  readonly roles: ReadonlySet<Role>
  /** Other nodes may share the store. */
  readonly isShared: boolean
  /** Commits write outbox rows, which the relay publishes to the bus. */
  readonly hasOutbox: boolean
  /** The prefix of published bus subjects. */
  readonly busPrefix: string
  /** Which streams of the bus the sources of each tenant may read. */
  readonly natsStreams: StreamList
  /** The limits of a tenant. */
  readonly limits: TenantLimits
  /** Open jobs and dead letters of one tenant, beyond which its new events are refused; 0: no limit. */
  readonly openJobsMax: number
  /** How long an incarnation lives without a heartbeat. */
  readonly leaseMs: number
  /** Jobs that run at once on this node. */
  readonly concurrency: number
  /** Bytes of the events whose jobs run at once on this node: beyond it no further job begins. */
  readonly runningBytesMax: number
  /** Bytes of bus messages that are received and not yet acknowledged, over all sources. */
  readonly messageBytesMax: number
  /** The longest time between two claims when nothing wakes the node. */
  readonly pollMs: number
  /** How often a node looks at what other nodes change, and for replays and rotations that nothing else announces. */
  readonly followMs: number
  /** A reserved call must begin within this. */
  readonly sendWithinMs: number
  readonly responseBytesMax: number
  /** The `vars` of expressions that the node provides, beside those of the deployed documents. */
  readonly vars: VarValues
  /** What settings of the node say of `vars`, in place of the definitions of its own tenant. */
  readonly varSettings: VarSettings
  /** Whose values of those documents it takes. */
  readonly environment: EnvironmentName
  /** Headers of requests that are stored besides those that say what an event is; `*` at the end: all that begin so. */
  readonly keptHeaders: readonly string[]
  /** Events that may wait for the store at once; more are refused, so that a slow disk does not fill the memory. */
  readonly acceptsMax: number
  /** Results larger than this are not stored in the ledger. */
  readonly resultBytesMax: number
  /** From the end of one walk of retention to the next; 0: never. */
  readonly retentionEveryMs: number
  /** How long events are stored if their source does not say. */
  readonly retentionMs: number
  /** How long the ledger remembers effects of routes that are gone. */
  readonly ledgerRetentionMs: number
  /** How many dead letters marked ready are replayed automatically per minute; 0: none. */
  readonly replayReadyPerMinute: number
  /** How long canonical events, which the system publishes about itself, are stored. */
  readonly canonicalRetentionMs: number
  /** Which facts are written. What definitions select is always emitted. */
  readonly systemEvents: SystemEvents
  /** From the end of one sweep over failures and escalations to the next; 0: never. */
  readonly sweepEveryMs: number
  /** A failure that is open for longer is escalated. */
  readonly escalateAfterMs: number
  /** The version in the user agent of deliveries and of calls on connections. */
  readonly version: string
  /** The built-in providers. */
  readonly providers: readonly ProviderDocument[]
}

/** With the `vars` of each tenant. */
export type RunningConfig = Omit<EngineConfig, 'vars'> & { readonly vars: Vars }

export const ENGINE_DEFAULTS = {
  roles: ALL_ROLES,
  isShared: false,
  hasOutbox: false,
  busPrefix: BUS_PREFIX,
  natsStreams: null,
  limits: TENANT_LIMITS,
  openJobsMax: 0,
  leaseMs: 30_000,
  concurrency: 256,
  runningBytesMax: 256 * 1_048_576,
  messageBytesMax: 64 * 1_048_576,
  pollMs: 1_000,
  followMs: 5_000,
  sendWithinMs: 5_000,
  responseBytesMax: 1_048_576,
  vars: {},
  varSettings: {},
  environment: 'DEV',
  keptHeaders: [],
  acceptsMax: 10_000,
  resultBytesMax: 16_384,
  retentionEveryMs: 10 * MINUTE,
  retentionMs: RETENTION_MS,
  ledgerRetentionMs: 365 * DAY,
  replayReadyPerMinute: 0,
  canonicalRetentionMs: 7 * DAY,
  systemEvents: 'all',
  sweepEveryMs: 1 * MINUTE,
  escalateAfterMs: 1 * DAY,
  version: '0.0.0',
  providers: [],
} as const satisfies Omit<EngineConfig, 'node'>
