// Encryption: stored sensitive data is unreadable without a key that is stored elsewhere.
//
// It is synchronous, because it is part of every commit and claim. A text is bound to the place where it is stored: copied to
// another row, tenant or part, it cannot be decrypted.

import type { TenantId } from '../core/foundation/ids/index.ts'

/** Where an encrypted text is stored. */
export interface EncryptionContext {
  readonly tenant: TenantId
  /** The id of the event, the key of the ledger's entry, or the kind and key of a record. */
  readonly row: string
  readonly part: 'data' | 'raw' | 'headers' | 'result' | 'evidence' | 'record'
}

export interface Opened {
  readonly text: string
  readonly paths: readonly string[]
}

export interface Encryption {
  /** In the form of src/core/events/sensitive: which key and which paths is readable, but cannot be changed. */
  encrypt(place: EncryptionContext, text: string, paths: readonly string[]): string
  /** Throws EncryptionError. */
  open(place: EncryptionContext, encrypted: string): Opened
}

/** A text cannot be decrypted; the error says why, and nothing of its content. */
export class EncryptionError extends Error {
  override readonly name = 'SealError'
  readonly reason: 'unknown-key' | 'altered'
  constructor(reason: EncryptionError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
