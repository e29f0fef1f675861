// One request to an external server. What the server does is an outcome, never an exception.

import type { OutboundRule } from '../core/access/network/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'

export interface HttpRequest {
  /** Whose call it is; each tenant may reach what the operator allows it. Omitted: public addresses only. */
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
   * Only the status counts: a response that is larger, or whose body does not end in time, is cut there and is a response all
   * the same. Omitted: it is a failure.
   */
  readonly cut?: true
  /**
   * Called with each piece of a 2xx response's body as it arrives, whole characters only. Must not throw, and must not wait.
   */
  readonly onChunk?: (text: string) => void
}

export type HttpOutcome =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      /** The body continues after what is here. */
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
      /** For users; without secrets and without the machine's own addresses. */
      readonly message: string
      readonly durationMs: number
    }

/** The result of checking an address before any call. */
export type Vetted =
  | {
      readonly ok: true
      /** A warning for the author of the address: it could not be resolved completely. */
      readonly warning?: string
    }
  /** The message names the rule and what to do, as a clause without its full stop. */
  | { readonly ok: false; readonly rule: OutboundRule; readonly message: string }

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpOutcome>
  /**
   * Whether the address may be called, by the rules of `send`: its form, and every address that it resolves to now. Calls only
   * the resolver, and ends within a few seconds. `send` checks again.
   */
  vet(url: string, tenant?: TenantId): Promise<Vetted>
}
