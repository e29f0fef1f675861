// The headers that authenticate a delivery to its receiver: Standard Webhooks (`v1` by HMAC, `v1a` by Ed25519), or GitHub's.
//
// Parsed keys are cached: a signature costs one HMAC over one text. Not its job: which secrets are valid now (the vault
// decides), or reading a clock.

import { createHmac, sign } from 'node:crypto'
import type { Signing } from '../../definitions/documents/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import { parseSecret, readSecret, type SigningKey } from './signing-secret.ts'

export interface DeliveryToSign {
  readonly signing: Signing
  /** The current one first, then those that are still valid. */
  readonly secrets: readonly string[]
  /** The same for every attempt, replay and resend. Contains no dots. */
  readonly id: string
  /** Of this attempt, in seconds since 1970. */
  readonly timestamp: number
  /** Exactly as sent. */
  readonly body: string
}

/** The current secret cannot sign this way. The text says which kind could, and contains nothing of it. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
}

/** Receivers examine this many; a vault holds no more. */
const SIGNATURES_MAX = 6
/** Seconds, not milliseconds. */
const TIMESTAMP_MAX = 100_000_000_000

export function signDelivery({
  signing,
  secrets,
  id,
  timestamp,
  body,
}: DeliveryToSign): Readonly<Record<string, string>> {
  assert(!id.includes('.'), 'an id without dots, so that a signed text can be read in one way only')
  assert(Number.isInteger(timestamp) && timestamp < TIMESTAMP_MAX, 'a timestamp in whole seconds')
  const [current] = secrets
  if (current === undefined) throw new SecretError('there is no secret to sign with')
  const first = keyOf(current)
  if (first?.signing !== signing) throw new SecretError(messageOf(signing, current))
  if (signing === 'github') {
    const digest = createHmac('sha256', first.key).update(body).digest('hex')
    return {
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'x-hub-signature-256': `sha256=${digest}`,
    }
  }
  const head = `${id}.${timestamp}.`
  let signatures = signature(first, head, body)
  // The expiring secrets: each signs by its own kind, so that a change of the signing method has its overlap too.
  for (let at = 1; at < secrets.length && at < SIGNATURES_MAX; at++) {
    const key = keyOf(secrets[at] as string)
    if (key !== null && key.signing !== 'github') signatures += ` ${signature(key, head, body)}`
  }
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures }
}

/** Updates with both parts in turn: concatenating them would copy the body. */
function signature(key: SigningKey, head: string, body: string): string {
  return key.signing === 'ed25519'
    ? `v1a,${sign(null, Buffer.from(head + body), key.key).toString('base64')}`
    : `v1,${createHmac('sha256', key.key).update(head).update(body).digest('base64')}`
}

function messageOf(signing: Signing, secret: string): string {
  const parsed = parseSecret(signing, secret)
  return parsed.ok ? '' : parsed.message
}

// --- Key cache: two generations, so that keys in use survive a flood of others.

const GENERATION_MAX = 8_192
let young = new Map<string, SigningKey | null>()
let old = new Map<string, SigningKey | null>()

function keyOf(secret: string): SigningKey | null {
  const known = young.get(secret)
  if (known !== undefined) return known
  let key = old.get(secret)
  if (key === undefined) {
    const read = readSecret(secret)
    key = typeof read === 'string' ? null : read
  }
  if (young.size >= GENERATION_MAX) {
    old = young
    young = new Map()
  }
  young.set(secret, key)
  return key
}
