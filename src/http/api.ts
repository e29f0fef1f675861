// What the HTTP surface asks of the rest: the narrow part of the engine and the store that routes use.

import type { OutboundPolicy } from '../core/access/network/index.ts'
import type {
  DefinitionDocument,
  SubscriptionDocument,
  VarSettings,
} from '../core/definitions/documents/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { Instant } from '../core/foundation/time/index.ts'
import type { StreamList } from '../core/ingest/bus-message/index.ts'
import type { Role } from '../core/queue/node-role/index.ts'
import type { EnvNames } from '../core/secrets/index.ts'
import type { CheckAnswers, CheckJob, CheckQuestions, CheckResults } from '../definitions/index.ts'
import type { Access, Idempotency } from '../engine/access/index.ts'
import type { Integrations } from '../engine/connections/index.ts'
import type { Definitions } from '../engine/definitions/index.ts'
import type {
  BulkReplays,
  DeadLetterActions,
  Engine,
  Feed,
  IntakeRequest,
  Meter,
  Received,
  WorkActions,
  WorkflowOperatorApi,
} from '../engine/index.ts'
import type { Inspect } from '../engine/observe/index.ts'
import type { DeliveryActions, DeliveryViews, Subscriptions } from '../engine/webhooks/index.ts'
import type { Vetted } from '../ports/http-client.ts'
import type { TenantReads } from '../ports/store.ts'
import type { SecretVault } from '../ports/vault.ts'
import type { MetricName } from './metrics.ts'

interface DemoState {
  /** Whether the demo definitions are deployed for the caller’s tenant. */
  readonly available: boolean
  readonly isSending: boolean
  readonly sent: number
  readonly total: number
}

interface DemoApi {
  state(tenant: TenantId): Promise<DemoState>
  /** Returns how many it accepted; throws AppError if the demo is not deployed. */
  send(
    tenant: TenantId,
    options: { readonly count: number; readonly perSecond: number },
  ): Promise<{ readonly sending: number }>
  stop(tenant: TenantId): Promise<DemoState>
}

/** Runs one check and answers its questions on the way; throws AppError when it takes too long. */
export type RunCheck = <Job extends CheckJob>(
  job: Job,
  answer: (questions: CheckQuestions) => Promise<CheckAnswers>,
) => Promise<CheckResults[Job['job']]>

export interface HttpApi {
  /**
   * How many bytes of a body the source takes. Asked before the body is read: refuses with AppError what would be refused whatever its
   * body is. A promise: the node is starting.
   */
  sourceBodyMax(request: Parameters<Engine['bodyBytesMax']>[0]): number | Promise<number>
  /** Settles when the event is durable, or a handshake answered; throws AppError on refusal. */
  receive(request: IntakeRequest): Promise<Received>
  /** Records a request that was refused before it reached the engine. */
  refused: Engine['refused']
  /** What was refused on the way in. */
  readonly rejections: Engine['rejections']
  /** Settles when everything that can be stored is durable. */
  publish: Engine['publish']
  reads(tenant: TenantId): TenantReads
  readonly deadLetters: DeadLetterActions
  readonly work: WorkActions
  readonly replays: BulkReplays
  /** Operator actions on escalated failures. */
  readonly escalations: Engine['escalations']
  /** Who holds others up. */
  readonly lanes: Engine['lanes']
  /** When the work of routes may run. */
  readonly flowControl: Engine['flowControl']
  /** Shows deployed workflows and their instances, and changes them for operators. */
  readonly workflows: WorkflowOperatorApi
  /** Events that found no instance, or several. */
  readonly orphans: Engine['orphans']
  /** Endpoints that get our events. */
  readonly subscriptions: Omit<Subscriptions, 'refresh'>
  /** Events on their way there. */
  readonly deliveries: DeliveryActions & DeliveryViews
  /** Whether the address of a subscription may be called. */
  /** `beside`: what is deployed together with it. */
  vetSubscription(
    tenant: TenantId,
    document: SubscriptionDocument,
    beside?: readonly DefinitionDocument[],
  ): Promise<Vetted>
  readonly access: Access
  /** Ends the node's pause and settles when it runs; refuses with AppError another code than the one of the pause. */
  confirmCopy(code: string, by: string): Promise<void>
  readonly refusedCode: RefusedCode
  readonly definitions: Pick<
    Definitions,
    'apply' | 'plan' | 'rollback' | 'versions' | 'list' | 'one' | 'versionOf' | 'control' | 'setVars'
  > & {
    /** The hash of the code that has the function; null: there is none, or none that is open to the tenant. */
    functionHash(tenant: TenantId, name: string): string | null
    /** When a source fires by the clock; null: it has no schedule. */
    fires: Engine['schedules']['state']
    /** Whether a source takes messages of the bus; null: it means to take none. */
    consumes: Engine['busConsumers']['state']
    /** How long a function says that it may take, or null. */
    functionTimeoutMs(tenant: TenantId, name: string): number | null
    /** What functions that are open to the tenant say that they emit. */
    functionEmits(
      tenant: TenantId,
    ): readonly { readonly name: string; readonly subjects: readonly string[] }[]
  }
  /** Checks what tenants send, off this thread; left out: on this one. */
  readonly runCheck?: RunCheck
  readonly inspect: Inspect
  readonly secrets: Pick<SecretVault, 'list' | 'names' | 'set' | 'promote' | 'remove' | 'rewrap'> & {
    /** A pending value is there: a credential that uses it may be rotated to it. */
    onPending?(tenant: TenantId, name: string, by: string): Promise<void>
  }
  /** Other systems: providers, connections, credentials and runs. */
  readonly integrations: Integrations
  readonly demo: DemoApi
  /** What changes on this node, as it happens. */
  watch: Feed['watch']
  /** What this node has done. */
  readonly meter: Pick<Meter, 'rates' | 'stats' | 'queueAge'>
  now(): Instant
  readonly idempotency: Pick<Idempotency, 'begin'>
  /** Where the node may call; left out: not configured. */
  outbound?(tenant: TenantId): OutboundPolicy
  /** Names of the node's environment that definitions may name; left out: not known. */
  readonly variableNames?: ReadonlySet<string>
  /** What the node's own subjects on the bus begin with; left out: there is no bus. */
  readonly busPrefix?: string | undefined
  /** Which streams of the bus the sources of each tenant may read; left out: there is no bus. */
  readonly natsStreams?: StreamList | undefined
  /** What settings of the node say of `vars`, for its own tenant; left out: nothing. */
  readonly varSettings?: VarSettings
  /** By name in capitals, the other nodes whose settings give another value; left out: there are none. */
  differingVars?(tenant: TenantId): Promise<ReadonlyMap<string, readonly string[]>>
  /** Environment variables that `{ env }` of definitions may read; left out: all. */
  readonly secretEnv?: EnvNames | undefined
  readonly about: {
    readonly environment: string
    readonly version: string
    readonly node: string
    readonly roles: readonly Role[]
  }
  /** Whether the node can take and do work now, and if not, why. */
  health(): Promise<Readiness>
  /** For who collects figures; left out: there are none. What is not known is left out. */
  gauges?(): readonly Gauge[]
}

/** A stored bundle of functions that must not be run. */
export interface RefusedBundle {
  readonly codeHash: string
  readonly file: string
  readonly bytes: number
  readonly why: string
  /** Definitions that pin it, as `default/Route/book`; none: no job needs it. */
  readonly usedBy: readonly string[]
}

export interface RefusedCode {
  list(): Promise<readonly RefusedBundle[]>
  /** null: there is none, or it is not refused. */
  one(codeHash: string): Promise<(RefusedBundle & { readonly text: string }) | null>
  /** Throws `not_found`, and `conflict` for code that was changed in the database. */
  sign(codeHash: string, said: { readonly actor: string; readonly reason: string }): Promise<void>
}

export interface Gauge {
  readonly name: MetricName
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Readiness {
  readonly ready: boolean
  /** Why not, in words. */
  readonly reasons: readonly string[]
  /** What an operator should do although the node is ready. Left out: nothing. */
  readonly notes?: readonly string[]
  readonly checks: {
    readonly store: 'ok' | 'away'
    readonly lease: 'held' | 'lost'
    /** Away, it delays and loses nothing: the node is ready all the same. */
    readonly bus: 'ok' | 'away' | 'none'
    /** Some stored code that definitions use must not be run, and its jobs wait; the node is ready all the same. Left out: there is none. */
    readonly code?: 'refused'
  }
}
