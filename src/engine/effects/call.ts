// A call outward, or an action that begins inside the process: what is to be done, for which item, and how it differs from one
// request under one key.

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

/** An action that stays inside the process, or begins there. */
export interface InternalCall {
  readonly item: Item
  readonly route: Route
  readonly key: string
  readonly scope: Scope
  /** Joins others, or ends, in place of a call of its own. Answers when the item is out of our hands, or what the ledger says by now. */
  readonly instead?: (over: LedgerEntry | null) => Promise<Joined>
  /** How its requests go out; left out: as they are. */
  readonly through?: Through
}

/** The door of a connection, for the requests of one call. */
export interface Through {
  readonly connection: string
  /** The whole address of what may be a path. As it is where the connection has none. */
  locate(request: RenderedRequest): RenderedRequest
  send(request: RenderedRequest, options: SendOptions): Promise<Sent>
}

export interface SendOptions extends Pick<HttpRequest, 'timeoutMs' | 'maxResponseBytes' | 'onChunk'> {
  /** What the request carries of secrets: it is in nothing that is given back. Left out: nothing. */
  readonly hidden?: readonly string[]
}

/** What one request came to. */
export interface Sent {
  readonly outcome: HttpOutcome
  /** In place of what the outcome says of itself; null: that. */
  readonly error: string | null
  /** What it means, where more than its status says it; null: what the status says. */
  readonly judge: ((policy: CallPolicy) => CallVerdict) | null
}

/** Ends an item that cannot go on. */
export type BuryRoute = (
  item: Item,
  route: Route | null,
  key: string | null,
  failureClass: FailureClass,
  reason: DeadLetterReason,
  error: string,
) => Promise<void>

export interface Call extends InternalCall, Variation {
  readonly action: Pick<HttpAction, 'policy' | 'abilities' | 'probe'>
  /** The one that is logged, and sent unless the call performs otherwise. */
  readonly request: RenderedRequest
}

/** What became of a call. */
export interface Performed {
  readonly outcome: HttpOutcome
  readonly verdict: CallVerdict
  /** In place of what the outcome says of itself. */
  readonly error?: string
  /** In place of what the answer names. */
  readonly effectRef?: string | null
  /** In place of the answer itself: what the action gave. */
  readonly value?: JsonValue
  /** It failed without an effect, and is put back for so long without using up an attempt: something is being done about it. */
  readonly wait?: { readonly delayMs: number; readonly why: string }
}

/** What is reserved beside the key, or why that cannot be now. */
export type Beside =
  | { readonly ok: true; readonly guards: readonly Guard[]; readonly writes: readonly Write[] }
  | { readonly ok: false; readonly delayMs: number; readonly why: string }

export type ProbeAnswer =
  /** `said` is what there is in place of the answer that got lost. */
  | { readonly effect: 'found'; readonly effectRef: string | null; readonly said?: ParsedResponse }
  | { readonly effect: 'absent' }
  /** Anything else is no answer. */
  | { readonly effect: null; readonly error: string }

/** What else may be known of an effect that is made of several requests. */
export type Doubt =
  | ProbeAnswer
  /** Doing it once more is harmless, and makes sure. */
  | { readonly effect: 'repeat' }
  /** Nothing that could be asked would tell. */
  | { readonly effect: 'unclear' }

/** How a call differs from one request under one key. */
interface Variation {
  readonly beside?: () => Promise<Beside>
  /** Several requests in place of one. `sendBy`: by the monotonic clock, when the first of them begins at the latest. */
  readonly perform?: (sendBy: number) => Promise<Performed>
  /**
   * Before the reserve, for each attempt: reads what the requests carry of secrets, and gives what performs with them. In place of `perform`.
   */
  readonly prepare?: () => Promise<(sendBy: number) => Promise<Performed>>
  /** In place of the action's probe. */
  readonly ask?: (entry: LedgerEntry) => Promise<Doubt>
}

/** The item is settled or put back, or the ledger says something new and the item is looked at again. */
export type Round = 'finished' | { readonly entry: LedgerEntry | null }

/** Or it cannot join now, and waits. */
export type Joined = Round | { readonly delayMs: number; readonly why: string }
