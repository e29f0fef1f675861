// The receiver's kit: whether a webhook is from the holder of the secret, and not a replay of an old one.
//
// It stands alone: of the client it loads only the JSON parser. Crypto is Node's own, loaded only when something is
// verified, so that the client still runs in browsers.
//
// Invariants: SN11 a secret's prefix decides which header it may verify; a public key is never the key of an HMAC. SN12
// the time is checked only if the signature is valid, and comparing takes constant time.

import { parseExactJson } from './exact-json.ts'

export type WebhookErrorCode =
  | 'missing_header'
  | 'bad_timestamp'
  | 'too_old'
  | 'too_new'
  | 'no_match'
  | 'bad_secret'
  | 'not_json'

/** Respond 400 and do nothing else with the request. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly code: WebhookErrorCode
  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** `req.headers` of Node, `request.headers` of fetch, or a plain object; in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far the sender's clock may be off, and how old a request may be: 300. */
  readonly toleranceSeconds?: number
  /** In milliseconds since 1970: the clock's. */
  readonly now?: number
}

const TOLERANCE_SECONDS = 300
/** Senders list several while they rotate a secret; more are ignored. */
const SIGNATURES_MAX = 8

/**
 * The payload, parsed (see `ExactNumber` for numbers that a double would change), or a `WebhookVerificationError` that says what to do. `body` is what was received, byte by byte: JSON that was
 * parsed and written again is another text. `secret` is `whsec_…`, a public key `whpk_…`, or the secret of GitHub's header; several while
 * it is being changed. GitHub's header signs the body alone: the time and `webhook-id` prove nothing there.
 */
export function verify<Payload = unknown>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Payload {
  const bytes = bytesOf(body)
  const secrets = listOf(secret).map((one) => readSecret(one))
  if (secrets.length === 0) throw refuse('bad_secret', 'there is no secret: give the one of the subscription')
  const standard = secrets.filter(({ kind }) => kind !== 'github')
  const isStandard = standard.length === secrets.length || find(headers, 'webhook-signature') !== ''
  if (isStandard && standard.length > 0) verifyStandard(bytes, headers, standard, options)
  else verifyGithub(bytes, headers, secrets)
  return parse(bytes) as Payload
}

export interface SignOptions {
  /** Of the event: the same for every attempt. `evt_test`. */
  readonly id?: string
  /** In milliseconds since 1970: the clock's. */
  readonly now?: number
}

/** The headers that Millrace would send with it, for tests of receivers. For Ed25519 with the private `whsk_…`. */
export function sign(
  body: string | Uint8Array,
  secret: string | readonly string[],
  { id = 'evt_test', now = Date.now() }: SignOptions = {},
): Record<string, string> {
  const bytes = bytesOf(body)
  const timestamp = String(Math.floor(now / 1000))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  const secrets = listOf(secret).map((one) => readSecret(one, 'sign'))
  const [first] = secrets
  if (first === undefined) throw refuse('bad_secret', 'there is no secret to sign with')
  if (first.kind === 'github') return { ...headers, 'x-hub-signature-256': githubSignature(first, bytes) }
  const message = messageOf(id, timestamp, bytes)
  const signatures = secrets.flatMap((one) => {
    if (one.kind === 'v1') return [`v1,${hmac(one.bytes, message, 'base64')}`]
    return one.kind === 'v1a' ? [`v1a,${toBase64(crypto().sign(null, message, one.key))}`] : []
  })
  return { ...headers, 'webhook-signature': signatures.join(' ') }
}

// --- Standard Webhooks

function verifyStandard(
  body: Uint8Array,
  headers: WebhookHeaders,
  secrets: readonly Secret[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions,
): void {
  const id = need(headers, 'webhook-id')
  const timestamp = need(headers, 'webhook-timestamp')
  const listed = need(headers, 'webhook-signature').split(' ', SIGNATURES_MAX)
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw refuse(
      'bad_timestamp',
      'webhook-timestamp is not a number of seconds since 1970: this is no webhook of ours',
    )
  }
  const message = messageOf(id, timestamp, body)
  let isKnown = false
  for (const secret of secrets) {
    const expected = secret.kind === 'v1' ? `v1,${hmac(secret.bytes, message, 'base64')}` : ''
    for (const given of listed) {
      const fits = secret.kind === 'v1a' ? isSignedBy(secret, message, given) : isSame(given, expected)
      isKnown = fits || isKnown
    }
  }
  if (!isKnown) throw refuse('no_match', NO_MATCH)
  const ageSeconds = Math.floor(now / 1000) - Number(timestamp)
  // Compared with NaN, every age would be within the limit.
  if (Number.isNaN(ageSeconds) || Number.isNaN(Number(toleranceSeconds)))
    throw new TypeError('toleranceSeconds and now are numbers: is the variable set that they are read from?')
  if (ageSeconds > toleranceSeconds) {
    throw refuse(
      'too_old',
      `it was sent ${ageSeconds} s ago, and ${toleranceSeconds} s are allowed: somebody may be sending an old request again; if all are refused, set this machine’s clock`,
    )
  }
  if (-ageSeconds > toleranceSeconds) {
    throw refuse(
      'too_new',
      `it was sent ${-ageSeconds} s in the future, and ${toleranceSeconds} s are allowed: set this machine’s clock`,
    )
  }
}

const NO_MATCH =
  'no signature fits: give the body exactly as it was received (not parsed and written again), and the secret of this very subscription'

function isSignedBy(secret: Extract<Secret, { kind: 'v1a' }>, message: Uint8Array, given: string): boolean {
  const bytes = given.startsWith('v1a,') ? fromBase64(given.slice('v1a,'.length)) : null
  return bytes?.length === 64 && crypto().verify(null, message, secret.key, bytes)
}

function messageOf(id: string, timestamp: string, body: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const message = new Uint8Array(head.length + body.length)
  message.set(head)
  message.set(body, head.length)
  return message
}

// --- GitHub's header

function verifyGithub(body: Uint8Array, headers: WebhookHeaders, secrets: readonly Secret[]): void {
  const given = need(headers, 'x-hub-signature-256')
  let isKnown = false
  for (const secret of secrets) {
    if (secret.kind === 'github') isKnown = isSame(given, githubSignature(secret, body)) || isKnown
  }
  if (!isKnown) throw refuse('no_match', NO_MATCH)
}

function githubSignature(secret: { readonly bytes: Uint8Array }, body: Uint8Array): string {
  return `sha256=${hmac(secret.bytes, body, 'hex')}`
}

// --- Secrets

type Secret =
  | { readonly kind: 'v1' | 'github'; readonly bytes: Uint8Array }
  | { readonly kind: 'v1a'; readonly key: unknown }

/** Anything that is not a list is one secret: also an unset variable. */
function listOf(secret: string | readonly string[]): readonly string[] {
  return Array.isArray(secret) ? secret : [secret as string]
}

function readSecret(secret: string, use: 'verify' | 'sign' = 'verify'): Secret {
  if (typeof secret !== 'string' || secret.trim() === '') {
    throw refuse('bad_secret', 'the secret is empty: is the variable set that it is read from?')
  }
  if (secret.trim() !== secret) {
    throw refuse('bad_secret', 'there are spaces or line breaks around the secret: take them away')
  }
  if (secret.startsWith('whsec_')) {
    const bytes = fromBase64(secret.slice('whsec_'.length))
    if (bytes === null || bytes.length === 0)
      throw refuse('bad_secret', 'what follows whsec_ is not base64: copy the whole secret')
    return { kind: 'v1', bytes }
  }
  if (secret.startsWith('whpk_') || secret.startsWith('whsk_')) return readKey(secret, use)
  return { kind: 'github', bytes: new TextEncoder().encode(secret) }
}

function readKey(secret: string, use: 'verify' | 'sign'): Secret {
  const isPrivate = secret.startsWith('whsk_')
  if (isPrivate !== (use === 'sign')) {
    const wanted = isPrivate
      ? 'this is the private key, which stays with the sender: give the public one, whpk_…'
      : 'nobody signs with a public key: give the private one, whsk_…'
    throw refuse('bad_secret', wanted)
  }
  const bytes = fromBase64(secret.slice('whpk_'.length))
  const isWhole = bytes?.length === 32 || (isPrivate && bytes?.length === 64)
  if (bytes === null || !isWhole) {
    throw refuse('bad_secret', 'what follows the _ is not the base64 of 32 bytes: copy the whole key')
  }
  const { createPrivateKey, createPublicKey } = crypto()
  const prefix = isPrivate ? PKCS8 : SPKI
  const key = new Uint8Array(prefix.length + 32)
  key.set(prefix)
  key.set(bytes.subarray(0, 32), prefix.length)
  return {
    kind: 'v1a',
    key: isPrivate
      ? createPrivateKey({ key, format: 'der', type: 'pkcs8' })
      : createPublicKey({ key, format: 'der', type: 'spki' }),
  }
}

/** The DER prefix of a key's 32 bytes (RFC 8410). */
const PKCS8 = Uint8Array.from([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32])
const SPKI = Uint8Array.from([48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0])

// --- Bytes, texts and headers

function bytesOf(body: string | Uint8Array): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof Uint8Array) return body
  throw new TypeError(
    'give the body as it was received, as text or bytes: parsed JSON does not tell what was signed (in Express, use express.raw)',
  )
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseExactJson(new TextDecoder().decode(bytes))
  } catch {
    throw refuse('not_json', 'the signature is right, but the body is not JSON: read it yourself')
  }
}

function need(headers: WebhookHeaders, name: string): string {
  const value = find(headers, name)
  if (value !== '') return value
  throw refuse(
    'missing_header',
    `the header ${name} is missing: give all headers of the request as they came, and the secret that belongs to the way it is signed`,
  )
}

function find(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? ''
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name || value === undefined) continue
    return typeof value === 'string' ? value : value.join(' ')
  }
  return ''
}

/** null: not base64, or not in its canonical form. */
function fromBase64(text: string): Uint8Array | null {
  try {
    const binary = atob(text)
    return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : null
  } catch {
    return null
  }
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => new TextEncoder().encode(text)) as [
    Uint8Array,
    Uint8Array,
  ]
  return one.length === other.length && crypto().timingSafeEqual(one, other)
}

function refuse(code: WebhookErrorCode, message: string): WebhookVerificationError {
  return new WebhookVerificationError(code, message)
}

// --- Node's crypto

interface Crypto {
  createHmac(name: 'sha256', key: Uint8Array): Hmac
  timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean
  createPublicKey(key: { key: Uint8Array; format: 'der'; type: 'spki' }): unknown
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): unknown
  verify(algorithm: null, data: Uint8Array, key: unknown, signature: Uint8Array): boolean
  sign(algorithm: null, data: Uint8Array, key: unknown): Uint8Array
}

interface Hmac {
  update(data: Uint8Array): Hmac
  digest(encoding: 'base64' | 'hex'): string
}

function hmac(key: Uint8Array, message: Uint8Array, encoding: 'base64' | 'hex'): string {
  return crypto().createHmac('sha256', key).update(message).digest(encoding)
}

function crypto(): Crypto {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } }
  const found = process?.getBuiltinModule?.('node:crypto')
  if (found === undefined)
    throw new Error('verify and sign need Node 20.16 or later, or what brings its crypto')
  // createPublicKey requires DER as a Buffer only in its types: bytes will do.
  return found as Crypto
}
