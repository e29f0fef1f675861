// What a connector's test says of its vendor, beside the manifest: what requests look like there, and what answers.

import type { LimitDialect, VendorReply } from '../../test/support/vendor-api/index.ts'
import type { FailureClass } from '../core/failures/failure/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'

export interface OperationSample {
  /** Left out: the first example of its schema. */
  readonly input?: JsonValue
  /** What the vendor sees: `POST /repos/octo/hello/hooks`, with the query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** One of the three; none: no body. */
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly body?: string
  readonly answer: VendorReply
  /** What the operation gives; left out: not compared. */
  readonly result?: unknown
  readonly ref?: string
  readonly lookup?: {
    readonly target: string
    readonly there: VendorReply
    /** Left out: that of the call. */
    readonly ref?: string
    readonly absent: VendorReply
    /** Of lookups in a list: pages without it that others follow, or may follow. */
    readonly pages?: readonly VendorReply[]
    /** Answers that are neither yes nor no. */
    readonly unclear?: readonly VendorReply[]
  }
}

export interface AnswerSample {
  /** Left out: `effect`. */
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
  /** The operation whose answers the table is about: one that makes something. */
  readonly effect?: string
  readonly answers: readonly AnswerSample[]
  readonly probe?: { readonly target: string; readonly answer: VendorReply }
  /** What the vendor tells a caller that it does not know; left out: 401. */
  readonly refusal?: VendorReply
  readonly limits?: LimitDialect
  /** What the vendor sees of the secret, where that is not the secret itself. */
  readonly token?: (secret: string) => string
  readonly inbound?: {
    readonly secret: string
    readonly headers: Readonly<Record<string, string>>
    readonly payload: JsonValue
    readonly subject: string
  }
}
