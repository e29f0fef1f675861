// What every scheme of verification is: a check of a request, and the other side of it, for samples and tests.

import type { Instant } from '../../foundation/time/index.ts'
import type { Headers } from './signed-bytes.ts'
import type { Answer } from './source-guards.ts'

export interface VerifyInput {
  readonly headers: Headers
  /** As received. */
  readonly body: Uint8Array
  /** More than one while a secret is being rotated. */
  readonly secrets: readonly string[]
  readonly now: Instant
  readonly method?: string
  /** As the sender saw it, with its query; some sign it. */
  readonly url?: string
}

export type VerifyResult =
  | { readonly ok: true }
  | {
      readonly ok: false
      readonly code: 'signature_missing' | 'signature_wrong' | 'signature_expired'
      readonly detail: string
    }

export type Refusal = VerifyResult & { readonly ok: false }
export type Verifier = (input: VerifyInput) => VerifyResult

export interface SignInput {
  readonly headers?: Headers
  readonly body: Uint8Array
  /** Of schemes with public keys, the private one. */
  readonly secret: string
  readonly method?: string
  readonly url?: string
  /** Needed by schemes with a time, unless a header has it already. */
  readonly now?: Instant
  /** Needed by schemes that sign the message's id, unless a header has it already. */
  readonly id?: string
}

export interface Scheme {
  readonly verify: Verifier
  /** The headers that make a request valid. */
  readonly sign: (input: SignInput) => Headers
  /** Where a request with this body has to go, if not to the address itself. */
  readonly signedUrl?: (url: string, headers: Headers, body: Uint8Array) => string
  /** `false`: whatever the body is, `verify` says the same. */
  readonly signsBody?: false
  /** Lower case; never stored with an event. */
  readonly secretHeaders: readonly string[]
  /** The answer to a question that is no event; null: it is one. Asked only after `verify` has said yes. */
  readonly handshake?: (input: VerifyInput) => Answer | null
}

/** This secret cannot sign by this scheme; the text says which one could, and holds nothing of it. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
}

export const OK: VerifyResult = { ok: true }

export const TOLERANCE_MS = 300_000

/** How many signatures of one header are looked at: senders list two while they rotate. */
export const SIGNATURES_MAX = 8

export function refuse(code: Refusal['code'], detail: string): Refusal {
  return { ok: false, code, detail }
}

export function missing(header: string): Refusal {
  return refuse('signature_missing', `the header ${header} is missing`)
}
