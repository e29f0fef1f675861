// One request to somebody else's server. What the server does is an outcome, never an exception.

export interface HttpRequest {
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

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpOutcome>
}
