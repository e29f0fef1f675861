// The types of an outbound call or an internal action: what to do, for which job, and how it differs from one request
// under one key.

import type { HttpAction, ParsedResponse, RenderedRequest } from '../../core/effects/action/index.ts'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { Scope } from '../../core/expression/index.ts'
import type { DeadLetterReason } from '../../core/failures/dead-letter/index.ts'
import type { CallPolicy, CallVerdict, FailureClass } from '../../core/failures/failure/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { Item } from '../leases/index.ts'

/** An action that runs inside the process, or starts there. */
export interface InternalCall {
  readonly item: Item
  readonly route: Route
  readonly key: string
  readonly scope: Scope
  /**
   * Joins others, or ends, instead of making its own call. Returns when the job has left this node, or what
   * the ledger says by now.
   */
  readonly instead?: (over: LedgerEntry | null) => Promise<Joined>
  /** How its requests are sent; omitted: directly. */
  readonly through?: Through
}

/** Sends the requests of one call through a connection. */
export interface Through {
  readonly connection: string
  /** Completes a URL that may be only a path. Unchanged if the connection has no base URL. */
  locate(request: RenderedRequest): RenderedRequest
  send(request: RenderedRequest, options: SendOptions): Promise<Sent>
}

export interface SendOptions extends Pick<HttpRequest, 'timeoutMs' | 'maxResponseBytes' | 'onChunk'> {
  /** The secrets in the request: they are removed from everything that is returned. Omitted: none. */
  readonly hidden?: readonly string[]
}

/** The result of one request. */
export interface Sent {
  readonly outcome: HttpOutcome
  /** Replaces the outcome's own error; null: keep that. */
  readonly error: string | null
  /** Classifies the response if its status alone does not; null: the status does. */
  readonly judge: ((policy: CallPolicy) => CallVerdict) | null
}

/** Dead-letters a job that cannot continue. */
export type DeadLetterRouteJob = (
  item: Item,
  route: Route | null,
  key: string | null,
  failureClass: FailureClass,
  reason: DeadLetterReason,
  error: string,
) => Promise<void>

export interface Call extends InternalCall, Variation {
  readonly action: Pick<HttpAction, 'policy' | 'abilities' | 'probe'>
  /** The request that is logged, and sent unless the call performs another. */
  readonly request: RenderedRequest
}

/** The result of a call. */
export interface Performed {
  readonly outcome: HttpOutcome
  readonly verdict: CallVerdict
  /** Replaces the outcome's own error. */
  readonly error?: string
  /** Replaces the reference in the response. */
  readonly effectRef?: string | null
  /** Replaces the response: the value that the action returned. */
  readonly value?: JsonValue
  /** It failed without an effect, and is put back for this long without using up an attempt: the cause is being handled. */
  readonly wait?: { readonly delayMs: number; readonly why: string }
}

/** What is reserved beside the key, or why that is impossible now. */
export type Beside =
  | { readonly ok: true; readonly guards: readonly Guard[]; readonly writes: readonly Write[] }
  | { readonly ok: false; readonly delayMs: number; readonly why: string }

export type ProbeAnswer =
  /** `said` replaces the response that was lost. */
  | { readonly effect: 'found'; readonly effectRef: string | null; readonly said?: ParsedResponse }
  | { readonly effect: 'absent' }
  /** Anything else is not an answer. */
  | { readonly effect: null; readonly error: string }

/** What else may be known of an effect that consists of several requests. */
export type KnownOutcome =
  | ProbeAnswer
  /** Repeating it is safe, and certain. */
  | { readonly effect: 'repeat' }
  /** No probe could decide it. */
  | { readonly effect: 'unclear' }

/** How a call differs from one request under one key. */
interface Variation {
  readonly beside?: () => Promise<Beside>
  /** Several requests instead of one. `sendBy`: the latest start of the first, by the monotonic clock. */
  readonly perform?: (sendBy: number) => Promise<Performed>
  /**
   * Runs before the reserve, for each attempt: reads the secrets of the requests, and returns the function
   * that sends them. Used instead of `perform`.
   */
  readonly prepare?: () => Promise<(sendBy: number) => Promise<Performed>>
  /** The reference of the object at the other side, for the log. */
  readonly externalRef?: string
  /** Replaces the action's probe. */
  readonly ask?: (entry: LedgerEntry) => Promise<KnownOutcome>
}

/** The job is settled or put back, or the ledger has something new and the job is checked again. */
export type Round = 'finished' | { readonly entry: LedgerEntry | null }

/** Or it cannot join now, and waits. */
export type Joined = Round | { readonly delayMs: number; readonly why: string }
