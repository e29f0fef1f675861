// A poller: how a source that sends nothing is asked for what changed, and what its items become.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { HttpActionDocument, OperationActionDocument } from './action-documents.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** How the next page is asked for. Expressions see `result`. */
export type PagingDocument = {
  readonly pageSize: number
  /** How many pages one run reads; the next run goes on behind them. */
  readonly maxPages: number
} & (
  | {
      readonly style: 'page' | 'offset'
      readonly param: string
      /** Of the first page. */
      readonly first: number
      /** How many items there are over all pages; null: the pages end with an empty one. */
      readonly total: string | null
    }
  | { readonly style: 'cursor'; readonly param: string; readonly next: string }
  /** `none`: one response has everything. */
  | { readonly style: 'link' | 'none' }
)

export interface PollerDocument {
  readonly kind: 'Poller'
  readonly name: string
  readonly description: string | null
  readonly status: 'active' | 'paused' | 'disabled'
  /** A cron expression and its zone, or every so many milliseconds. */
  readonly cadence: { readonly everyMs: number } | { readonly cron: string; readonly zone: string }
  /** Templates in it see `window.from`, `window.to` and `pageSize`. */
  readonly list: HttpActionDocument | OperationActionDocument
  /** An expression over `result`: the list of items. */
  readonly items: string
  readonly paging: PagingDocument
  /** An expression over `item`: when it changed last. */
  readonly watermark: string
  /** How far back the first window begins. */
  readonly sinceMs: number
  readonly overlapMs: number
  readonly safetyLagMs: number
  /** An expression over `item`: an object with the same value as before is skipped. Left out: only the time of its change counts. */
  readonly unchanged?: string
  /** A template over `item`. */
  readonly subject: string
  readonly event: {
    /** An expression over `item`; null: the object and when it changed. */
    readonly id: string | null
    /** A template. */
    readonly objectType: string | null
    readonly objectId: string
    readonly occurredAt: string | null
  }
  /** A tree of templates over `item`: the payload. */
  readonly data: JsonValue
  readonly retry: RetryPolicy
  readonly deadLetter: { readonly severity: string; readonly runbook: string | null }
  /** Paths in the payload. Left out: none. */
  readonly sensitive?: readonly string[]
  /** Left out: `RETENTION_MS`. */
  readonly retentionMs?: number
}
