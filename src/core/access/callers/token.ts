// Tokens that callers present: `mrk_{tenant}_{id}_{secret}` for a key, `mrs_…` for a session, `mrl_…` for a one-time link.
//
// The tenant and the id locate the record; the secret is 256 random bits, of which only the SHA-256 is stored. A slow hash
// would add nothing: it makes guessing expensive where users choose the secret, and 256 random bits cannot be guessed. It
// would cost milliseconds on each request.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { TenantId } from '../../foundation/ids/index.ts'
import { isTenantName } from './tenant.ts'

export type TokenKind = 'key' | 'session' | 'link'

export interface Token {
  readonly kind: TokenKind
  readonly tenant: TenantId
  readonly id: string
  readonly secret: string
}

export const SECRET_BYTES = 32
export const ID_BYTES = 8

const PREFIXES = { key: 'mrk', session: 'mrs', link: 'mrl' } as const
// A tenant has no underscore and an id is hexadecimal, so the first three underscores are the separators.
const TOKEN = /^(mr[ksl])_([a-z0-9-]{1,63})_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

export function formatToken({ kind, tenant, id, secret }: Token): string {
  return `${PREFIXES[kind]}_${tenant}_${id}_${secret}`
}

/** null: not a token of this kind. */
export function parseToken(kind: TokenKind, text: string): Token | null {
  const match = TOKEN.exec(text)
  if (match === null || match[1] !== PREFIXES[kind]) return null
  const [, , tenant, id, secret] = match as unknown as [string, string, string, string, string]
  return isTenantName(tenant) ? { kind, tenant: tenant as TenantId, id, secret } : null
}

/** `bound` ties the secret to a second value that the caller must know as well. */
export function hashSecret(secret: string, bound = ''): string {
  return createHash('sha256').update(bound).update(secret).digest('base64url')
}

/** In constant time. */
export function matchesHash(secret: string, hash: string, bound = ''): boolean {
  const expected = Buffer.from(hash, 'base64url')
  const actual = Buffer.from(hashSecret(secret, bound), 'base64url')
  return expected.length === actual.length && timingSafeEqual(actual, expected)
}
