// Schemes that differ only in data: an HMAC in a header, over the body and perhaps a time or the address. Invariants: S3 every
// secret is tried, and digests are compared in constant time. S7 no detail contains a secret, a digest or a part of the body.

import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { ExpressionError } from '../../expression/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { decodeBytes, type Encoding, makeKeys, readHmacKey } from './secret-bytes.ts'
import { checkAge, readInstant, timeToSign } from './sent-at.ts'
import type { Headers, SignedPart } from './signed-bytes.ts'
import {
  missing,
  OK,
  type Refusal,
  refuse,
  type Scheme,
  SIGNATURES_MAX,
  type SignInput,
  type VerifyInput,
  type VerifyResult,
} from './verification-scheme.ts'

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** As it was sent; empty when the scheme has none. */
  readonly time: string
}

export interface HmacShape {
  readonly header: string
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  readonly encoding: Encoding
  /** Before each signature. */
  readonly prefix: string
  /** The header is a list, with the time in it when that has a prefix. */
  readonly list?: { readonly separator: string; readonly timePrefix: string | null }
  readonly timestampHeader?: string | null
  readonly timeUnit?: 'seconds' | 'ms'
  readonly toleranceMs?: number
  signed(request: SignedRequest): readonly SignedPart[]
  /** What is signed beside the body, for users. */
  readonly alsoSigned?: string
}

const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const
/** How many elements of a list are examined, known or not. */
const ELEMENTS_MAX = 64

export function makeHmacScheme(shape: HmacShape): Scheme {
  const keys = makeKeys(readHmacKey)
  return {
    verify: (input) => verifyHmac(shape, keys, input),
    sign: (input) => signHmac(shape, input),
    secretHeaders: [shape.header],
  }
}

interface Claim {
  readonly ok: true
  readonly signatures: readonly Buffer[]
  readonly time: string
  readonly sentAt: Instant
}

function verifyHmac(
  shape: HmacShape,
  keys: (secret: string) => KeyObject | null,
  input: VerifyInput,
): VerifyResult {
  const claim = readClaim(shape, input.headers)
  if (!claim.ok) return claim
  const parts = render(shape, input, claim.time)
  if (parts === null) return refuse('signature_wrong', 'what is signed cannot be made from this request')
  let isKnown = false
  for (const secret of input.secrets) {
    const key = keys(secret)
    if (key === null) continue
    const digest = digestOf(shape, key, parts)
    for (const given of claim.signatures) isKnown = timingSafeEqual(digest, given) || isKnown
  }
  if (!isKnown) {
    const what = shape.alsoSigned === undefined ? 'the body' : `the body and ${shape.alsoSigned}`
    return refuse('signature_wrong', `the header ${shape.header} does not match ${what}`)
  }
  const place = timePlace(shape)
  return place === null ? OK : checkAge(claim.sentAt, input.now, shape.toleranceMs ?? 0, place)
}

function timePlace(shape: HmacShape): string | null {
  if (typeof shape.timestampHeader === 'string') return `the header ${shape.timestampHeader}`
  const prefix = shape.list?.timePrefix ?? null
  return prefix === null ? null : `${prefix} in the header ${shape.header}`
}

function readClaim(shape: HmacShape, headers: Headers): Claim | Refusal {
  const header = headers[shape.header]
  if (header === undefined || header === '') return missing(shape.header)
  const texts: string[] = []
  const times: string[] = []
  if (shape.list === undefined) texts.push(header)
  else {
    for (const element of header.split(shape.list.separator, ELEMENTS_MAX)) {
      const text = element.trim()
      if (shape.list.timePrefix !== null && text.startsWith(shape.list.timePrefix)) {
        times.push(text.slice(shape.list.timePrefix.length))
      } else if (text.startsWith(shape.prefix) && texts.length < SIGNATURES_MAX) texts.push(text)
    }
  }
  const time = timeOf(shape, headers, times)
  if (typeof time === 'object') return time
  const place = timePlace(shape)
  const sentAt = place === null ? 0 : readInstant(time, place)
  if (typeof sentAt === 'object') return sentAt
  const signatures = texts.flatMap((text) => {
    const bytes = text.startsWith(shape.prefix)
      ? decodeBytes(text.slice(shape.prefix.length), shape.encoding, DIGEST_BYTES[shape.algorithm])
      : null
    return bytes === null ? [] : [bytes]
  })
  if (signatures.length === 0) {
    return refuse('signature_wrong', `the header ${shape.header} is not ${describe(shape)}`)
  }
  return { ok: true, signatures, time, sentAt }
}

/** Empty when the scheme has none. Two times in one list count as none: which one was signed is unknown. */
function timeOf(shape: HmacShape, headers: Headers, listed: readonly string[]): string | Refusal {
  const place = timePlace(shape)
  if (place === null) return ''
  if (typeof shape.timestampHeader === 'string') {
    const text = headers[shape.timestampHeader]
    return text === undefined || text === '' ? missing(shape.timestampHeader) : text
  }
  return listed.length === 1 ? (listed[0] as string) : refuse('signature_wrong', `${place} is not there once`)
}

function describe(shape: HmacShape): string {
  return `${shape.algorithm} as ${shape.encoding}${shape.prefix === '' ? '' : ` after ${shape.prefix}`}`
}

/** null: an expression of the template failed on this request. */
function render(
  shape: HmacShape,
  { method = '', url = '', headers, body }: Omit<VerifyInput, 'secrets' | 'now'>,
  time: string,
): readonly SignedPart[] | null {
  try {
    return shape.signed({ method, url, headers, body, time })
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

function digestOf(shape: HmacShape, key: KeyObject, parts: readonly SignedPart[]): Buffer {
  const hmac = createHmac(shape.algorithm, key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

function signHmac(shape: HmacShape, input: SignInput): Headers {
  const isTimed = timePlace(shape) !== null
  const header = shape.timestampHeader ?? null
  const time = isTimed ? timeToSign(input, header, shape.timeUnit) : ''
  const headers = header === null ? (input.headers ?? {}) : { ...input.headers, [header]: time }
  const parts = render(shape, { ...input, headers }, time)
  assert(parts !== null, 'what is signed can be made from what is sent')
  const signature = shape.prefix + digestOf(shape, readHmacKey(input.secret), parts).toString(shape.encoding)
  const { list } = shape
  const isListed = list !== undefined && list.timePrefix !== null
  return {
    ...(header === null ? {} : { [header]: time }),
    [shape.header]: isListed ? `${list.timePrefix}${time}${list.separator}${signature}` : signature,
  }
}
