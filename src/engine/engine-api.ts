// The engine as the HTTP API, the command line and the app use it.

import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { ComposedCredentials, Integrations } from './connections/index.ts'
import type { BulkReplays, DeadLetterActions } from './dead-letters/index.ts'
import type { Definitions } from './definitions/index.ts'
import type { FlowControlActions } from './flow-control/index.ts'
import type {
  Accepted,
  BusConsumers,
  Intake,
  IntakeRequest,
  Publisher,
  Received,
  Rejections,
  Schedules,
} from './ingest/index.ts'
import type { Feed, Inspect, Meter } from './observe/index.ts'
import type { Relay } from './outbox/index.ts'
import type { BeginPolls } from './pollers/index.ts'
import type { BacklogAges, LaneActions } from './queue/index.ts'
import type { EscalationActions, WorkActions } from './settlement/index.ts'
import type { DeliveryActions, DeliveryViews, Subscriptions } from './webhooks/index.ts'
import type { OrphanActions, WorkflowOperatorApi } from './workflows/index.ts'

export interface EngineHealth {
  /** Accepts events. */
  readonly open: boolean
  /** By the node's own clock, its lease in the store is still valid. */
  readonly alive: boolean
  readonly running: number
}

export interface Engine extends DeadLetterActions, WorkActions {
  /** Replays many dead letters or events at once. */
  readonly replays: BulkReplays
  /** Operator actions on escalated failures. */
  readonly escalations: EscalationActions
  /** Load or apply before `start`, so that recovered jobs find them. */
  readonly definitions: Definitions
  /** Shows which dead or parked job blocks a lane, and lets the jobs behind it continue. */
  readonly lanes: LaneActions
  /** Subscriptions: which endpoints receive which events. */
  readonly subscriptions: Subscriptions
  /** Deliveries to the endpoints of subscriptions. */
  readonly deliveries: DeliveryViews & DeliveryActions
  /** Shows when the jobs of routes may run, and closes circuits. */
  readonly flowControl: FlowControlActions
  /** Providers, connections, credentials and integration runs. */
  readonly integrations: Integrations & Pick<ComposedCredentials['operatorApi'], 'supplied'>
  /** Shows workflows and their instances, and changes them for operators. */
  readonly workflows: WorkflowOperatorApi
  /** Explains what an event would do, and why an event did what it did. */
  readonly inspect: Inspect
  /** Deploys these documents as the folder of the tenant; folder definitions that are not among them are removed. */
  apply(tenant: TenantId, documents: readonly DefinitionDocument[]): Promise<{ readonly hash: string }>
  start(): Promise<void>
  /** The largest body that the source accepts, in bytes. Throws AppError if the request is refused whatever its body is. */
  bodyBytesMax: Intake['bodyBytesMax']
  /** Handles a sender's request: an event, or the handshake that precedes events. */
  receive(request: IntakeRequest): Promise<Received>
  /** Like `receive`, for requests that are events. */
  accept(request: IntakeRequest): Promise<Accepted>
  /** Records a request that was refused before it reached the engine. */
  refused: Intake['refused']
  /** The requests that ingest refused. */
  readonly rejections: Pick<Rejections, 'list'>
  /** Stores events that a client publishes through the API. */
  publish: Publisher['publish']
  /** Operator actions on orphaned events, which matched no instance or several. */
  readonly orphans: OrphanActions
  /** When scheduled sources fire. */
  readonly schedules: Pick<Schedules, 'state'>
  readonly pollers: Pick<BeginPolls, 'run'>
  /** Whether each source consumes its messages from the bus. */
  readonly busConsumers: Pick<BusConsumers, 'state'>
  /** Accepts nothing new, lets running jobs finish for at most `withinMs`, releases the rest to other nodes, and stops. Returns how many were left. */
  drain(withinMs: number): Promise<{ readonly left: number }>
  health(): EngineHealth
  /** Calls the listener with the changes of this node's commits as they become durable. Returns a function that unsubscribes. */
  watch: Feed['watch']
  /** Publishes the outbox to the bus; null: this node does not. */
  readonly relay: Pick<Relay, 'status'> | null
  /** The age of the oldest due job that another node could run; null: this node has no lease. */
  backlog(): Promise<BacklogAges | null>
  /** Counts what this node has done. */
  readonly meter: Omit<Meter, 'applied'>
}
