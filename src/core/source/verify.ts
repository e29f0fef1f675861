// core/source/verify.ts — whether a request was sent by somebody who knows the secret (docs/spec/sources.md).
// Not its job: finding the secrets, reading the body, answering the caller.
// Invariants: S3 every secret is tried, and digests are compared in constant time. S7 no detail holds a secret, a
// digest or a part of the body.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { VerifyDocument } from '../definition/index.ts'
import { unreachable } from '../errors/index.ts'
import { ExpressionError } from '../expression/index.ts'
import type { Instant } from '../time/index.ts'
import { compileSigned, type Headers, type SignedPart, type SignedParts } from './signed.ts'

export interface VerifyInput {
  readonly headers: Headers
  /** As received. */
  readonly body: Uint8Array
  /** More than one while a secret is being rotated. */
  readonly secrets: readonly string[]
  readonly now: Instant
}

export type VerifyResult =
  | { readonly ok: true }
  | {
      readonly ok: false
      readonly code: 'signature_missing' | 'signature_wrong' | 'signature_expired'
      readonly detail: string
    }

export type Verifier = (input: VerifyInput) => VerifyResult

interface SignInput {
  readonly headers?: Headers
  readonly body: Uint8Array
  readonly secret: string
}

type HmacDocument = Extract<VerifyDocument, { scheme: 'hmac' }>
type HmacShape = Omit<HmacDocument, 'scheme' | 'secret' | 'signed'>

const GITHUB: HmacShape = {
  header: 'x-hub-signature-256',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: 'sha256=',
  timestampHeader: null,
  toleranceMs: 0,
}
const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const
const HEX = /^[0-9a-fA-F]*$/
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const TIMESTAMP = /^\d{1,15}$/
/** Larger numbers are milliseconds: as seconds they would lie beyond the year 5000. */
const SECONDS_MAX = 100_000_000_000
const OK: VerifyResult = { ok: true }

/** Reads the `signed` template once; the result is cheap to call. */
export function compileVerifier(document: VerifyDocument): Verifier {
  switch (document.scheme) {
    case 'none':
      return () => OK
    case 'closed':
      return () => refuse('signature_wrong', 'nobody sends to this source')
    case 'github': {
      const signed = compileSigned('{{ body }}')
      return (input) => verifyHmac(GITHUB, signed, input)
    }
    case 'hmac': {
      const signed = compileSigned(document.signed)
      return (input) => verifyHmac(document, signed, input)
    }
    default:
      return unreachable(document)
  }
}

export function verifySignature(document: VerifyDocument, input: VerifyInput): VerifyResult {
  return compileVerifier(document)(input)
}

/** The header that makes a request valid, for samples and tests: `{ 'x-hub-signature-256': 'sha256=…' }`. */
export function signRequest(document: VerifyDocument, input: SignInput): Headers {
  if (document.scheme === 'none' || document.scheme === 'closed') return {}
  const shape = document.scheme === 'github' ? GITHUB : document
  const signed = compileSigned(document.scheme === 'github' ? '{{ body }}' : document.signed)
  const value = digest(shape, input.secret, signed(input.headers ?? {}, input.body))
  return { [shape.header]: shape.prefix + value.toString(shape.encoding) }
}

function verifyHmac(shape: HmacShape, signed: SignedParts, input: VerifyInput): VerifyResult {
  const header = input.headers[shape.header]
  if (header === undefined || header === '') {
    return refuse('signature_missing', `the header ${shape.header} is missing`)
  }
  const sentAt = readTimestamp(shape, input.headers)
  if (typeof sentAt === 'object') return sentAt
  const given = decode(shape, header)
  if (given === null) return refuse('signature_wrong', `the header ${shape.header} is not ${describe(shape)}`)
  // An empty secret is no secret: anybody can sign with it.
  const secrets = input.secrets.filter((secret) => secret !== '')
  const parts = render(signed, input)
  if (parts === null) return refuse('signature_wrong', 'what is signed cannot be made from this request')
  let isKnown = false
  for (const secret of secrets) isKnown = timingSafeEqual(digest(shape, secret, parts), given) || isKnown
  if (!isKnown) return refuse('signature_wrong', `the header ${shape.header} does not match the body`)
  // After the signature, so that «expired» is said only of what a holder of the secret has sent.
  const offMs = Math.abs(input.now - sentAt)
  if (shape.timestampHeader !== null && offMs > shape.toleranceMs) {
    const seconds = Math.ceil(offMs / 1000)
    return refuse('signature_expired', `the header ${shape.timestampHeader} is ${seconds} s off`)
  }
  return OK
}

/** null: an expression of the template failed on what was sent. */
function render(signed: SignedParts, input: VerifyInput): readonly SignedPart[] | null {
  try {
    return signed(input.headers, input.body)
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

function refuse(
  code: Exclude<VerifyResult, { ok: true }>['code'],
  detail: string,
): VerifyResult & { ok: false } {
  return { ok: false, code, detail }
}

function digest(shape: HmacShape, secret: string, parts: readonly SignedPart[]): Buffer {
  const hmac = createHmac(shape.algorithm, secret)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

/** Bytes of the digest's length, or null. */
function decode(shape: HmacShape, header: string): Buffer | null {
  if (!header.startsWith(shape.prefix)) return null
  const text = header.slice(shape.prefix.length)
  const bytes = DIGEST_BYTES[shape.algorithm]
  if (shape.encoding === 'hex') {
    return text.length === bytes * 2 && HEX.test(text) ? Buffer.from(text, 'hex') : null
  }
  if (text.length > bytes * 2 || !BASE64.test(text)) return null
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === bytes ? decoded : null
}

function describe(shape: HmacShape): string {
  return `${shape.algorithm} as ${shape.encoding}${shape.prefix === '' ? '' : ` after ${shape.prefix}`}`
}

/** Unix seconds or milliseconds; 0 when the source has none. */
function readTimestamp(shape: HmacShape, headers: Headers): Instant | (VerifyResult & { ok: false }) {
  if (shape.timestampHeader === null) return 0
  const text = headers[shape.timestampHeader]
  if (text === undefined || text === '') {
    return refuse('signature_missing', `the header ${shape.timestampHeader} is missing`)
  }
  if (!TIMESTAMP.test(text)) {
    return refuse(
      'signature_wrong',
      `the header ${shape.timestampHeader} is not a number of seconds since 1970`,
    )
  }
  const value = Number(text)
  return value > SECONDS_MAX ? value : value * 1000
}
