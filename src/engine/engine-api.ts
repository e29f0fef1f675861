// The engine as the HTTP API, the command line and the app use it.

import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { CredentialKeeping, Integrations } from './connections/index.ts'
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
import type { BacklogAges, LaneActions } from './queue/index.ts'
import type { EscalationActions, WorkActions } from './settlement/index.ts'
import type { DeliveryActions, DeliveryViews, Subscriptions } from './webhooks/index.ts'
import type { OrphanActions, WorkflowOperatorApi } from './workflows/index.ts'

export interface EngineHealth {
  /** Takes events in. */
  readonly open: boolean
  /** Has a life in the store by its own clock. */
  readonly alive: boolean
  readonly running: number
}

export interface Engine extends DeadLetterActions, WorkActions {
  /** Dead letters by the many. */
  readonly replays: BulkReplays
  /** What people do about failures that they were told of. */
  readonly escalations: EscalationActions
  /** Load or apply before `start`, so that recovered work finds them. */
  readonly definitions: Definitions
  /** Who holds others up, and letting them go on. */
  readonly lanes: LaneActions
  /** Whose endpoints get which of our events. */
  readonly subscriptions: Subscriptions
  /** What is sent to the endpoints of subscriptions. */
  readonly deliveries: DeliveryViews & DeliveryActions
  /** When the work of routes may run. */
  readonly flowControl: FlowControlActions
  /** Somebody else's systems: providers, connections, credentials and runs. */
  readonly integrations: Integrations & Pick<CredentialKeeping['operatorApi'], 'supplied'>
  /** Workflows and their instances, as people see and change them. */
  readonly workflows: WorkflowOperatorApi
  /** What would happen, and why something did. */
  readonly inspect: Inspect
  /** Puts a tenant's definitions in force as its folder's, all of them: what is not among them goes. */
  apply(tenant: TenantId, documents: readonly DefinitionDocument[]): Promise<{ readonly hash: string }>
  start(): Promise<void>
  /** How many bytes of a body a source takes; throws AppError where the request is refused whatever its body is. */
  bodyBytesMax: Intake['bodyBytesMax']
  /** What a sender asks: an event, or a handshake that comes before events. */
  receive(request: IntakeRequest): Promise<Received>
  /** The same for requests that are events. */
  accept(request: IntakeRequest): Promise<Accepted>
  /** Tells of a request that was refused before it came here. */
  refused: Intake['refused']
  /** What was refused on the way in. */
  readonly rejections: Pick<Rejections, 'list'>
  /** Keeps events that somebody publishes. */
  publish: Publisher['publish']
  /** Events that found no instance: what people do about them. */
  readonly orphans: OrphanActions
  /** When sources fire by the clock. */
  readonly schedules: Pick<Schedules, 'state'>
  /** Whether sources take messages of the bus. */
  readonly busConsumers: Pick<BusConsumers, 'state'>
  /** Takes nothing new, finishes what runs (for at most `withinMs`), gives the rest to others, and stops. Answers how much that was. */
  drain(withinMs: number): Promise<{ readonly left: number }>
  health(): EngineHealth
  /** Tells what this node's commits change, as they become durable. Answers how to stop. */
  watch: Feed['watch']
  /** Telling the bus; null: this node does not. */
  readonly relay: Pick<Relay, 'status'> | null
  /** How long work has been due that more nodes could take; null: this node may not ask. */
  backlog(): Promise<BacklogAges | null>
  /** What this node has done, counted. */
  readonly meter: Omit<Meter, 'applied'>
}
