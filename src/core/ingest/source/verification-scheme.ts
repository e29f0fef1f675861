// The interface of every verification scheme: checks a request, and signs one, for samples and tests.

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
  /** As the sender saw it, with its query; some schemes sign it. */
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
  /** For public-key schemes, the private key. */
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
  /** The address for a request with this body, if it differs. */
  readonly signedUrl?: (url: string, headers: Headers, body: Uint8Array) => string
  /** `false`: the verdict of `verify` does not depend on the body. */
  readonly signsBody?: false
  /** Lower case; never stored with an event. */
  readonly secretHeaders: readonly string[]
  /** The response to a handshake; null: it is an event. Called only after `verify` succeeded. */
  readonly handshake?: (input: VerifyInput) => Answer | null
}

/** This secret cannot sign by this scheme; the text says which kind could, and contains nothing of it. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
}

export const OK: VerifyResult = { ok: true }

export const TOLERANCE_MS = 300_000

/** How many signatures of one header are examined: senders list two during a rotation. */
export const SIGNATURES_MAX = 8

export function refuse(code: Refusal['code'], detail: string): Refusal {
  return { ok: false, code, detail }
}

export function missing(header: string): Refusal {
  return refuse('signature_missing', `the header ${header} is missing`)
}
