// One request to somebody else's server. What the server does is an outcome, never an exception.

import type { OutboundRule } from '../core/access/network/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'

export interface HttpRequest {
  /** Whose call it is; each tenant may reach what the operator lets it. Left out: what no tenant is let beside public addresses. */
  readonly tenant?: TenantId
  readonly method: string
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** For the whole exchange, connecting included. */
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /**
   * The status is all that counts: an answer that is larger, or whose body is not over in time, is cut there and is an answer all
   * the same. Left out: it is a failure.
   */
  readonly cut?: true
  /** Told of each piece of a 2xx answer's body as it comes, whole characters only. Must not throw, and must not wait. */
  readonly onChunk?: (text: string) => void
}

export type HttpOutcome =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      /** The body goes on behind what is here. */
      readonly isCut?: true
      readonly durationMs: number
    }
  | {
      readonly kind: 'failed'
      /** Whether a byte of the request may have reached the server. Only `no` proves that nothing happened there. */
      readonly sent: 'no' | 'maybe'
      readonly code:
        | 'refused'
        | 'unresolved'
        | 'blocked'
        | 'tls'
        | 'reset'
        | 'timeout'
        | 'too_large'
        | 'protocol'
        | 'bad_url'
      /** For people; free of secrets and of the machine's own addresses. */
      readonly message: string
      readonly durationMs: number
    }

/** What is said of an address before anybody calls it. */
export type Vetted =
  | {
      readonly ok: true
      /** Worth telling whoever wrote the address: it could not be looked up to the end. */
      readonly warning?: string
    }
  /** The message names the rule and what to do, as a clause without its full stop. */
  | { readonly ok: false; readonly rule: OutboundRule; readonly message: string }

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpOutcome>
  /**
   * Whether the address may be called, by the rules that `send` goes by: its form, and every address that it leads to now. Calls
   * nobody but the resolver, and ends within a few seconds. `send` judges anew.
   */
  vet(url: string, tenant?: TenantId): Promise<Vetted>
}
