// What a vendor on the loopback received and responded.

/** One call, as the vendor got it. */
export interface VendorCall {
  readonly number: number
  /** In the vendor's time. */
  readonly at: number
  readonly method: string
  /** Decoded, without its query. */
  readonly path: string
  /** As in the request line. */
  readonly target: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body, where it is JSON; null otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form
  readonly json: any
  /** The credential it came with, without its prefix; null: none. */
  readonly token: string | null
  /** Parts of the path that a route names, `:owner`. */
  readonly parts: Readonly<Record<string, string>>
}

export interface VendorRecord extends VendorCall {
  /** null: no response was sent. */
  readonly status: number | null
  /** Whether something was done by it. False for reads, refusals and repetitions of a known key. */
  readonly isEffect: boolean
}

export interface VendorReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent as it is, null nothing, anything else as JSON. */
  readonly body?: unknown
}

export type VendorAnswer = VendorReply | ((call: VendorCall) => VendorReply | Promise<VendorReply>)

/**
 * What is wrong with it. A status: every call gets it, and does nothing. `reset-before`, `hang-before`: the call does
 * nothing and gets no response. `reset`, `hang`: the call does its work and gets none. `wrong-json`, `html`, `cut`: it
 * does its work, and the response cannot be read.
 */
export type Outage =
  | number
  | 'reset-before'
  | 'hang-before'
  | 'reset'
  | 'hang'
  | 'wrong-json'
  | 'html'
  | 'cut'
