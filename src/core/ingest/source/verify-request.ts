// Verifies that a request's sender knows the secret (docs/spec/sources.md). Not its job: finding the secrets, parsing the body,
// responding to the caller.

import type { VerifyDocument } from '../../definitions/documents/index.ts'
import { makeScheme } from './schemes/index.ts'
import type { Headers } from './signed-bytes.ts'
import type { Answer } from './source-guards.ts'
import type { SignInput, Verifier, VerifyInput, VerifyResult } from './verification-scheme.ts'

/** Parses templates and keys once; the result is cheap to call. */
export function compileVerifier(document: VerifyDocument): Verifier {
  return makeScheme(document).verify
}

export function verifySignature(document: VerifyDocument, input: VerifyInput): VerifyResult {
  return compileVerifier(document)(input)
}

/** The headers that make a request valid, for samples and tests: `{ 'x-hub-signature-256': 'sha256=…' }`. */
export function signRequest(document: VerifyDocument, input: SignInput): Headers {
  return makeScheme(document).sign(input)
}

/** The address for such a request: Twilio’s scheme writes the hash of a body that is not a form into the address. */
export function signedUrl(document: VerifyDocument, url: string, headers: Headers, body: Uint8Array): string {
  return makeScheme(document).signedUrl?.(url, headers, body) ?? url
}

/** Names of headers, in lower case, that are never stored with an event. */
export function secretHeadersOf(document: VerifyDocument): ReadonlySet<string> {
  return new Set(makeScheme(document).secretHeaders)
}

/** Whether the verdict on a request may depend on its body. */
export function signsBody(document: VerifyDocument): boolean {
  return makeScheme(document).signsBody !== false
}

/** Responds to a vendor's handshakes; call it only for verified requests. */
export function handshakeOf(document: VerifyDocument): ((input: VerifyInput) => Answer | null) | null {
  return makeScheme(document).handshake ?? null
}
