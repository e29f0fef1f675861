// What the parts of connections ask of each other, and what people ask of them.
//
// Every call to somebody else's system on a connection goes through the door: it knows the account, the secret, the limits, the health,
// and what each kind of failure means. Who holds an item asserts its tenant before anything here is asked.

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
import type { Run, RunPurpose, RunState } from '../../core/effects/integration-run/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import type { Gate } from '../flow-control/index.ts'

// --- The door

export interface DoorRequest {
  readonly tenant: TenantId
  readonly connection: string
  /** Which of its addresses; null: the base. */
  readonly endpoint: string | null
  readonly method: string
  /** A path behind that address, with its query; or a whole address of the same origin. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Buckets that it takes a token of; empty: `default`. */
  readonly buckets: readonly string[]
  readonly traceparent: string
  /** `pending`: with the value that is being verified. */
  readonly secret?: 'pending'
  /** Whose call it is, where a bucket lets one try. Left out: nobody's. */
  readonly by?: string
  /** By the monotonic clock: what cannot be sent by then is not. Left out: there is no hurry. */
  readonly sendBy?: number
  /** Its tokens were taken when it was let in: they are spent when it is sent, and otherwise given back. */
  readonly isCounted?: true
  readonly onChunk?: (text: string) => void
  /** What the request carries of secrets beside the credential: it must be seen nowhere. */
  readonly hidden?: readonly string[]
}

export interface DoorAnswer {
  /** Its texts hold no secret of the exchange. */
  readonly outcome: HttpOutcome
  /** In place of what the outcome says: nothing was sent, for this reason. */
  readonly problem: { readonly class: FailureClass; readonly error: string } | null
  /** Nothing was sent, for the credential has to be seen to first. */
  readonly wait?: Waiting
  /** It was refused for too many calls, by its status or by what its headers say. */
  readonly isLimited: boolean
  readonly retryAfterMs: number | null
  readonly credentialVersion: number | null
  /** Redacted and cut, for the run. */
  readonly requestHead: string
  readonly responseHead: string | null
}

export interface Door {
  /** `buckets`: those that the call takes a token of; left out: `default`. */
  gate(tenant: TenantId, connection: string, buckets?: readonly string[]): Gate
  /** One exchange. Does not look at the gate; takes its tokens from the buckets and tells them what the answer says of limits. */
  send(request: DoorRequest): Promise<DoorAnswer>
  /** What a call came to, for the circuit. `isTry`: it was let through to see whether the other side is back. */
  told(tenant: TenantId, connection: string, failureClass: FailureClass | null, isTry?: boolean): void
  /** The try of an open circuit; false: its time has not come, or somebody else makes it. Who may try tells how it went. */
  mayTry(tenant: TenantId, connection: string): Promise<boolean>
  /** What a probe saw, for health and circuit. */
  probed(tenant: TenantId, connection: string, result: ProbeResult, isTry: boolean): void
}

// --- Credentials

export type Authorized =
  | {
      readonly ok: true
      /** Of the secret; of the token, where one is derived from it. null: nothing is sent. */
      readonly version: number | null
      /** By lower-case name. */
      readonly headers: Readonly<Record<string, string>>
      /** Put behind the query. */
      readonly query: Readonly<Record<string, string>>
      /** What must be seen nowhere: replaced in everything that is kept of the exchange. */
      readonly secrets: readonly string[]
    }
  | {
      readonly ok: false
      readonly class: FailureClass
      readonly code: string
      readonly error: string
      /** Of the secret that no token was given out for. */
      readonly version?: number
      /** A rotation sees to it: work waits for its end without using up an attempt. */
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
  /** The connection's base address, where tokens are given out behind it; left out: the provider's. */
  readonly base?: string
  readonly secret: 'current' | 'pending'
}

/** What becomes of work whose call was refused with a credential. */
export type AfterRefusal =
  /** Another version is in use by now, or a new token: it is tried again at once. */
  | { readonly is: 'again' }
  /** A rotation is on its way: it waits for its end without using up an attempt. */
  | { readonly is: 'wait'; readonly delayMs: number; readonly why: string }
  | { readonly is: 'dead'; readonly why: string }

export interface Credentials {
  authorize(request: ToAuthorize): Promise<Authorized>
  /** `version`: the one that was refused. Begins a rotation where the credential can have one. */
  refused(
    tenant: TenantId,
    credential: string,
    about: { readonly version: number | null; readonly correlationId: string; readonly error: string },
  ): Promise<AfterRefusal>
  /**
   * The vendor took it after all, in a call that began at `since`: whoever waited because it was refused goes on. A rotation that is under way
   * goes on, too.
   */
  accepted(tenant: TenantId, credential: string, version: number | null, since: Instant): Promise<void>
  /** null: calls may use it. Asked in memory. */
  gate(tenant: TenantId, credential: string): Extract<Gate, { is: 'closed' }> | null
}

// --- What people ask

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
  /** The latest look at the other side, by the clock or by a test; null: none so far. */
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
  /** null: by no policy. */
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
  /** Throws `not_found`, as all that name one do. */
  provider(tenant: TenantId, name: string): ProviderView
  connections(tenant: TenantId): Promise<readonly ConnectionView[]>
  connection(tenant: TenantId, name: string): Promise<ConnectionDetail>
  /** One call of the provider's probe, now, whatever the circuit says. A passed one makes it active. */
  test(tenant: TenantId, name: string, asked: Asked): Promise<ConnectionTest>
  retire(tenant: TenantId, name: string, asked: Asked): Promise<ConnectionView>
  /** null: as the circuit itself says. */
  override(
    tenant: TenantId,
    name: string,
    override: Pick<CircuitOverride, 'is' | 'until'> | null,
    asked: Asked,
  ): Promise<ConnectionView>
  credentials(tenant: TenantId): Promise<readonly CredentialView[]>
  credential(tenant: TenantId, name: string): Promise<CredentialView>
  /** Begins one, unless one is under way. `rotationId` is the work item. */
  rotate(
    tenant: TenantId,
    name: string,
    reason: RotationReason,
    asked: Asked,
  ): Promise<{ readonly rotationId: string | null; readonly isNew: boolean; readonly view: CredentialView }>
  /** Where a person goes to allow us in, for credentials of the authorization code. */
  authorizeUrl(
    tenant: TenantId,
    name: string,
    callback: string,
    asked: Asked,
  ): Promise<{ readonly url: string; readonly expiresAt: Instant }>
  /** What the vendor's redirect brought. Throws `oauth_state_invalid`, `oauth_refused`. */
  authorized(query: {
    readonly state: string
    readonly code: string | null
    readonly error: string | null
  }): Promise<{ readonly tenant: TenantId; readonly credential: string }>
  run(tenant: TenantId, id: string): Promise<Run>
  runs(
    tenant: TenantId,
    query: PageRequest & {
      readonly connection?: string
      readonly state?: RunState
      readonly purpose?: RunPurpose
      readonly workId?: string
    },
  ): Promise<Page<Run>>
}
