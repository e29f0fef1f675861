// What a connector's test says about its vendor, besides the manifest: the requests it receives, and its responses.

import type { LimitDialect, VendorReply } from '../../test/support/vendor-api/index.ts'
import type { FailureClass } from '../core/failures/failure/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'

export interface OperationSample {
  /** Omitted: the first example of its schema. */
  readonly input?: JsonValue
  /** What the vendor sees: `POST /repos/octo/hello/hooks`, with the query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** One of the three; none: no body. */
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly body?: string
  readonly answer: VendorReply
  /** What the operation returns; omitted: not compared. */
  readonly result?: unknown
  readonly ref?: string
  readonly lookup?: {
    readonly target: string
    readonly there: VendorReply
    /** Omitted: that of the call. */
    readonly ref?: string
    readonly absent: VendorReply
    /** For look-ups in a list: pages without it that others follow, or may follow. */
    readonly pages?: readonly VendorReply[]
    /** Responses that are neither yes nor no. */
    readonly unclear?: readonly VendorReply[]
  }
}

export interface AnswerSample {
  /** Omitted: `effect`. */
  readonly operation?: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: JsonValue
  readonly as: FailureClass | 'done'
}

export interface ConnectorSamples {
  /** Of a connection to a vendor at this address. */
  config(url: string): JsonValue
  readonly operations: Readonly<Record<string, OperationSample>>
  /** The operation whose responses the table is about: one that creates something. */
  readonly effect?: string
  readonly answers: readonly AnswerSample[]
  readonly probe?: { readonly target: string; readonly answer: VendorReply }
  /** The vendor's response to an unknown caller; omitted: 401. */
  readonly refusal?: VendorReply
  readonly limits?: LimitDialect
  /** What the vendor sees of the secret, if that is not the secret itself. */
  readonly token?: (secret: string) => string
  readonly inbound?: {
    readonly secret: string
    readonly headers: Readonly<Record<string, string>>
    readonly payload: JsonValue
    readonly subject: string
  }
}
