// Parses an authorization server's response: a token with its expiry, or the reason for the refusal. No text contains any part
// of a token.

import type { FailureClass } from '../../failures/failure/index.ts'
import { type Instant, MINUTE, SECOND } from '../../foundation/time/index.ts'

export interface Token {
  readonly accessToken: string
  /** null: the server did not say; the token is used until it is refused. */
  readonly expiresAt: Instant | null
  /** null: the server sent none; the previous one stays valid. */
  readonly refreshToken: string | null
  /** null: as requested. */
  readonly scopes: readonly string[] | null
}

export type TokenAnswer =
  | { readonly ok: true; readonly token: Token }
  | { readonly ok: false; readonly class: FailureClass; readonly code: TokenRefusal; readonly error: string }

export type TokenRefusal =
  | 'oauth_refused'
  | 'refresh_token_expired'
  | 'credential_scope_missing'
  | 'oauth_unavailable'

/** No token lives longer than this; a larger number is a mistake. */
const LIFE_S_MAX = 10 * 365 * 24 * 60 * 60
const SKEW_MS = MINUTE
const SKEW_SHARE = 10
/** A token with less time left is not used for new calls. */
const LEFT_MS_MIN = 5 * SECOND
const DESCRIPTION_LENGTH_MAX = 200

/** The error codes of RFC 6749, 5.2, and their meanings. */
const REFUSALS: Readonly<Record<string, { readonly class: FailureClass; readonly code: TokenRefusal }>> = {
  invalid_client: { class: 'auth', code: 'oauth_refused' },
  unauthorized_client: { class: 'auth', code: 'oauth_refused' },
  invalid_scope: { class: 'config', code: 'credential_scope_missing' },
  insufficient_scope: { class: 'config', code: 'credential_scope_missing' },
  invalid_request: { class: 'config', code: 'oauth_refused' },
  unsupported_grant_type: { class: 'config', code: 'oauth_refused' },
  temporarily_unavailable: { class: 'transient', code: 'oauth_unavailable' },
  server_error: { class: 'transient', code: 'oauth_unavailable' },
}

/** `isRefresh`: a refresh token was sent, so `invalid_grant` concerns it. */
export function readTokenAnswer(
  answer: { readonly status: number; readonly body: string },
  now: Instant,
  isRefresh: boolean,
): TokenAnswer {
  const fields = readFields(answer.body)
  const { status } = answer
  const error = textOf(fields.error)
  // Some servers send 200 with an error in the body.
  if (error !== null) return refused(error, textOf(fields.error_description), isRefresh)
  if (status === 429) return failed('rate_limited', 'oauth_unavailable', 'the token address answered 429')
  if (status >= 500) return failed('transient', 'oauth_unavailable', `the token address answered ${status}`)
  if (status < 200 || status >= 300)
    return failed(
      status === 401 || status === 403 ? 'auth' : 'config',
      'oauth_refused',
      `the token address answered ${status}`,
    )
  // `token` and `expires_at` are GitHub's names.
  const accessToken = textOf(fields.access_token) ?? textOf(fields.token)
  if (accessToken === null)
    return failed('config', 'oauth_refused', 'the token address answered without an access_token')
  const scope = textOf(fields.scope)
  return {
    ok: true,
    token: {
      accessToken,
      expiresAt: endOf(fields, now),
      refreshToken: textOf(fields.refresh_token),
      scopes: scope === null ? null : scope.split(/[ ,]+/).filter((one) => one !== ''),
    },
  }
}

function refused(error: string, description: string | null, isRefresh: boolean): TokenAnswer {
  const words = `${error.slice(0, DESCRIPTION_LENGTH_MAX)}${
    description === null ? '' : ` (${description.slice(0, DESCRIPTION_LENGTH_MAX)})`
  }`
  // GitHub uses a different name.
  if (error === 'invalid_grant' || error === 'bad_refresh_token') {
    return isRefresh
      ? failed('auth', 'refresh_token_expired', `the refresh token is not good any more: ${words}`)
      : failed('auth', 'oauth_refused', `the token address refused the grant: ${words}`)
  }
  const known = REFUSALS[error] ?? { class: 'auth' as const, code: 'oauth_refused' as const }
  return failed(known.class, known.code, `the token address refused: ${words}`)
}

function failed(failureClass: FailureClass, code: TokenRefusal, error: string): TokenAnswer {
  return { ok: false, class: failureClass, code, error }
}

function readFields(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    // A few servers still send a form.
    return Object.fromEntries(new URLSearchParams(body))
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function endOf(fields: Readonly<Record<string, unknown>>, now: Instant): Instant | null {
  const seconds = Number(fields.expires_in ?? Number.NaN)
  if (Number.isFinite(seconds) && seconds > 0) return now + Math.min(seconds, LIFE_S_MAX) * SECOND
  const at = Date.parse(textOf(fields.expires_at) ?? '')
  return Number.isNaN(at) ? null : at
}

/** `fresh`: in use. `aging`: in use, and the next one is being requested. `over`: no longer used. */
export function ageOf(
  { expiresAt, since }: { readonly expiresAt: Instant | null; readonly since: Instant },
  now: Instant,
): 'fresh' | 'aging' | 'over' {
  if (expiresAt === null) return 'fresh'
  const leftMs = expiresAt - now
  const lifeMs = expiresAt - since
  if (leftMs <= Math.min(LEFT_MS_MIN, lifeMs / SKEW_SHARE)) return 'over'
  return leftMs <= Math.min(SKEW_MS, lifeMs / SKEW_SHARE) ? 'aging' : 'fresh'
}
