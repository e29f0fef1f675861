// What the engine needs from outside, and its settings.

import { TENANT_LIMITS, type TenantLimits } from '../core/access/callers/index.ts'
import { type ProviderDocument, RETENTION_MS } from '../core/definitions/documents/index.ts'
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
  /** Where secrets that are made here are kept, and those of credentials; `vault` resolves them. */
  readonly secrets: EngineSecrets
  /** For what the ledger keeps of sensitive events; the store seals the events themselves. */
  readonly encryption: Encryption
  readonly log: Log
  readonly code: Code
  /** Between nodes that share the store. */
  readonly wakes: Wakes
  /** null: there is none. */
  readonly bus: Bus | null
}

export type EngineSecrets = Pick<
  SecretVault,
  'current' | 'find' | 'names' | 'pending' | 'promote' | 'remove' | 'set'
>

export interface EngineConfig {
  readonly node: NodeId
  /** What this node does; the others that share its store do the rest. */
  readonly roles: ReadonlySet<Role>
  /** Other nodes may share the store. */
  readonly isShared: boolean
  /** What happens is told to the bus: the outbox is filled. */
  readonly hasOutbox: boolean
  /** The first tokens of what is told to the bus. */
  readonly busPrefix: string
  /** Which streams of the bus the sources of each tenant may read. */
  readonly natsStreams: StreamList
  /** How much a tenant may have. */
  readonly limits: TenantLimits
  /** Open jobs and dead letters of one tenant, beyond which its new events are refused; 0: no limit. */
  readonly openJobsMax: number
  /** How long an incarnation lives without a heartbeat. */
  readonly leaseMs: number
  /** Items that run at once on this node. */
  readonly concurrency: number
  /** Bytes of the events whose jobs run at once on this node: beyond it no further job begins. */
  readonly runningBytesMax: number
  /** Bytes of messages of the bus that are taken and not answered, over all sources. */
  readonly messageBytesMax: number
  /** The backstop between claims when nothing wakes the node. */
  readonly pollMs: number
  /** A reserved call must begin within this. */
  readonly sendWithinMs: number
  readonly responseBytesMax: number
  /** `vars` of expressions: what differs between environments. */
  readonly vars: Vars
  /** Headers of requests that are stored besides those that say what an event is; `*` at the end: all that begin so. */
  readonly keptHeaders: readonly string[]
  /** Events that may wait for the store at once; more are refused, so that a slow disk does not fill the memory. */
  readonly acceptsMax: number
  /** Results larger than this are not kept in the ledger. */
  readonly resultBytesMax: number
  /** From the end of one walk of retention to the next; 0: never. */
  readonly retentionEveryMs: number
  /** How long events are kept whose source does not say. */
  readonly retentionMs: number
  /** How long the ledger remembers effects of routes that are gone. */
  readonly ledgerRetentionMs: number
  /** Dead letters that were marked ready and are replayed by themselves; 0: none. */
  readonly replayReadyPerMinute: number
  /** How long events are kept by which this system tells of itself. */
  readonly canonicalRetentionMs: number
  /** From the end of one sweep over failures and escalations to the next; 0: never. */
  readonly sweepEveryMs: number
  /** A failure that is open for longer is escalated. */
  readonly escalateAfterMs: number
  /** What deliveries call themselves by, and calls on connections. */
  readonly version: string
  /** Providers that come with Millrace. */
  readonly providers: readonly ProviderDocument[]
}

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
  sendWithinMs: 5_000,
  responseBytesMax: 1_048_576,
  vars: {},
  keptHeaders: [],
  acceptsMax: 10_000,
  resultBytesMax: 16_384,
  retentionEveryMs: 10 * MINUTE,
  retentionMs: RETENTION_MS,
  ledgerRetentionMs: 365 * DAY,
  replayReadyPerMinute: 0,
  canonicalRetentionMs: 7 * DAY,
  sweepEveryMs: 1 * MINUTE,
  escalateAfterMs: 1 * DAY,
  version: '0.0.0',
  providers: [],
} as const satisfies Omit<EngineConfig, 'node'>
