// Sealing: what is kept of sensitive data is unreadable without a key that is kept elsewhere.
//
// It is synchronous, so that it can stand on the way of every commit and claim. A text is bound to the place that it is kept
// at: copied to another row, tenant or part, it does not open.

import type { TenantId } from '../core/foundation/ids/index.ts'

/** Where a sealed text is kept. */
export interface SealPlace {
  readonly tenant: TenantId
  /** The id of the event, the key of the ledger's entry, or the kind and key of a record. */
  readonly row: string
  readonly part: 'data' | 'raw' | 'headers' | 'result' | 'evidence' | 'record'
}

export interface Opened {
  readonly text: string
  readonly paths: readonly string[]
}

export interface Seal {
  /** In the form of src/core/events/sensitive: anybody may see which key and which paths, nobody can change them. */
  seal(place: SealPlace, text: string, paths: readonly string[]): string
  /** Throws SealError. */
  open(place: SealPlace, sealed: string): Opened
}

/** A text does not open; it says why, and nothing of what is in it. */
export class SealError extends Error {
  override readonly name = 'SealError'
  readonly reason: 'unknown-key' | 'altered'
  constructor(reason: SealError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
