// The interfaces between the parts of connections, and those for operators.
//
// Every call to an external system on a connection goes through the outbound client: it knows the account, the secret, the
// limits, the health, and what each kind of failure means. The owner of a job asserts its tenant before anything here is
// called.

import type {
  CircuitOverride,
  ConnectionState,
  ProbeResult,
} from '../../core/connections/connection/index.ts'
import type { CredentialState, RotationReason } from '../../core/connections/credential/index.ts'
import type {
  ConnectionDocument,
  CredentialDocument,
  ManagedBy,
  ProviderDocument,
} from '../../core/definitions/documents/index.ts'
import type { Run } from '../../core/effects/integration-run/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { ListedRun } from '../../core/queue/job-run/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Page } from '../../ports/store.ts'
import type { Gate } from '../flow-control/index.ts'
import type { RunQuery } from './run-list.ts'

// --- The outbound client

export interface OutboundRequest {
  readonly tenant: TenantId
  readonly connection: string
  /** Which of its addresses; null: the base. */
  readonly endpoint: string | null
  readonly method: string
  /** A path relative to that address, with its query; or a whole address of the same origin. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Buckets that it takes a permit from; empty: `default`. */
  readonly buckets: readonly string[]
  readonly traceparent: string
  /** `pending`: with the value that is being verified. */
  readonly secret?: 'pending'
  /** Whose call it is, if it is a bucket's trial. Omitted: no one's. */
  readonly by?: string
  /** By the monotonic clock: it is not sent after this. Omitted: no deadline. */
  readonly sendBy?: number
  /** Its permits were taken at admission: they are spent when it is sent, and otherwise given back. */
  readonly isCounted?: true
  readonly onChunk?: (text: string) => void
  /** The secrets in the request beside the credential: they must never be shown. */
  readonly hidden?: readonly string[]
}

export interface OutboundResponse {
  /** Its texts contain no secret of the exchange. */
  readonly outcome: HttpOutcome
  /** Replaces the outcome: nothing was sent, for this reason. */
  readonly problem: { readonly class: FailureClass; readonly error: string } | null
  /** Nothing was sent: the credential must be fixed first. */
  readonly wait?: Waiting
  /** It was refused for too many calls, by its status or its headers. */
  readonly isLimited: boolean
  readonly retryAfterMs: number | null
  readonly credentialVersion: number | null
  /** Redacted and truncated, for the run. */
  readonly requestHead: string
  readonly responseHead: string | null
}

export interface OutboundClient {
  /** `buckets`: those that the call takes a permit from; omitted: `default`. */
  gate(tenant: TenantId, connection: string, buckets?: readonly string[]): Gate
  /**
   * One exchange. Does not check the gate; takes its permits from the buckets and reports the limits in the response to them.
   */
  send(request: OutboundRequest): Promise<OutboundResponse>
  /** The result of a call, for the circuit. `isTry`: it was let through to see whether the other side is back. */
  reportResult(tenant: TenantId, connection: string, failureClass: FailureClass | null, isTry?: boolean): void
  /**
   * The trial of an open circuit; false: it is not due, or another node makes it. The caller that may try reports the result.
   */
  mayTry(tenant: TenantId, connection: string): Promise<boolean>
  /** The result of a probe, for health and circuit. */
  probed(tenant: TenantId, connection: string, result: ProbeResult, isTry: boolean): void
}

// --- Credentials

export type Authorized =
  | {
      readonly ok: true
      /** Of the secret; of the token, if one is derived from it. null: nothing is sent. */
      readonly version: number | null
      /** By lower-case name. */
      readonly headers: Readonly<Record<string, string>>
      /** Appended to the query. */
      readonly query: Readonly<Record<string, string>>
      /** Must never be shown: replaced in everything that is stored of the exchange. */
      readonly secrets: readonly string[]
    }
  | {
      readonly ok: false
      readonly class: FailureClass
      readonly code: string
      readonly error: string
      /** Of the secret for which no token was issued. */
      readonly version?: number
      /** A rotation is in progress: jobs wait for its end without using an attempt. */
      readonly wait?: Waiting
    }

export interface Waiting {
  readonly delayMs: number
  readonly why: string
}

export interface ToAuthorize {
  readonly tenant: TenantId
  readonly provider: ProviderDocument
  readonly credential: CredentialDocument
  /** Rendered; for signatures over the request. */
  readonly request: { readonly method: string; readonly url: string; readonly body: string | null }
  readonly config: Readonly<Record<string, unknown>>
  /** The connection's base address, if tokens are issued relative to it; omitted: the provider's. */
  readonly base?: string
  readonly secret: 'current' | 'pending'
}

/** What happens to a job whose call was refused with a credential. */
export type AfterRefusal =
  /** Another version or a new token is in use by now: it is retried at once. */
  | { readonly is: 'again' }
  /** A rotation is in progress: it waits for its end without using an attempt. */
  | { readonly is: 'wait'; readonly delayMs: number; readonly why: string }
  | { readonly is: 'dead'; readonly why: string }

export interface Credentials {
  authorize(request: ToAuthorize): Promise<Authorized>
  /** `version`: the one that was refused. Starts a rotation if the credential can have one. */
  refused(
    tenant: TenantId,
    credential: string,
    about: { readonly version: number | null; readonly correlationId: string; readonly error: string },
  ): Promise<AfterRefusal>
  /**
   * The vendor accepted it after all, in a call that began at `since`: jobs that waited because it was refused continue. A
   * rotation in progress continues too.
   */
  accepted(tenant: TenantId, credential: string, version: number | null, since: Instant): Promise<void>
  /** null: calls may use it. Answered from memory. */
  gate(tenant: TenantId, credential: string): Extract<Gate, { is: 'closed' }> | null
}

// --- The operator API

export interface ProviderView {
  readonly document: ProviderDocument
  readonly managedBy: ManagedBy | 'built-in'
  /** How many connections name it. */
  readonly connections: number
}

export interface ConnectionView {
  readonly document: ConnectionDocument
  readonly managedBy: ManagedBy
  readonly state: ConnectionState
  /** The latest probe of the other side, scheduled or by a test; null: none so far. */
  readonly lastProbe: ProbeResult | null
  readonly buckets: readonly {
    readonly name: string
    readonly perMinute: number
    readonly burst: number
    readonly left: number
    readonly closedUntil: Instant | null
  }[]
}

export interface ConnectionDetail extends ConnectionView {
  /** The latest first. */
  readonly health: readonly ProbeResult[]
}

export interface CredentialView {
  readonly document: CredentialDocument
  readonly managedBy: ManagedBy
  readonly state: CredentialState
  /** Connections that name it. */
  readonly connections: readonly string[]
  /** null: no policy. */
  readonly nextRotationAt: Instant | null
}

export interface Asked {
  readonly by: string
  readonly reason: string | null
}

export interface ConnectionTest {
  readonly ok: boolean
  readonly run: Run
  readonly view: ConnectionView
}

export interface Integrations {
  providers(tenant: TenantId): readonly ProviderView[]
  /** Throws `not_found`, as all methods that name one do. */
  provider(tenant: TenantId, name: string): ProviderView
  connections(tenant: TenantId): Promise<readonly ConnectionView[]>
  connection(tenant: TenantId, name: string): Promise<ConnectionDetail>
  /** One call of the provider's probe, now, whatever the state of the circuit. A passed one makes it active. */
  test(tenant: TenantId, name: string, asked: Asked): Promise<ConnectionTest>
  retire(tenant: TenantId, name: string, asked: Asked): Promise<ConnectionView>
  /** null: by the circuit itself. */
  override(
    tenant: TenantId,
    name: string,
    override: Pick<CircuitOverride, 'is' | 'until'> | null,
    asked: Asked,
  ): Promise<ConnectionView>
  credentials(tenant: TenantId): Promise<readonly CredentialView[]>
  credential(tenant: TenantId, name: string): Promise<CredentialView>
  /** Starts one, unless one is in progress. `rotationId` is the job. */
  rotate(
    tenant: TenantId,
    name: string,
    reason: RotationReason,
    asked: Asked,
  ): Promise<{ readonly rotationId: string | null; readonly isNew: boolean; readonly view: CredentialView }>
  /** The address where a user grants access, for credentials of the authorization code. */
  authorizeUrl(
    tenant: TenantId,
    name: string,
    callback: string,
    asked: Asked,
  ): Promise<{ readonly url: string; readonly expiresAt: Instant }>
  /** What the vendor's redirect contains. Throws `oauth_state_invalid`, `oauth_refused`. */
  authorized(query: {
    readonly state: string
    readonly code: string | null
    readonly error: string | null
  }): Promise<{ readonly tenant: TenantId; readonly credential: string }>
  run(tenant: TenantId, id: string): Promise<ListedRun>
  /** Also those of jobs that call out without a connection. */
  runs(tenant: TenantId, query: RunQuery): Promise<Page<ListedRun>>
}
