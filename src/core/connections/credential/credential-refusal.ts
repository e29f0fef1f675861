// Decides what happens to a job whose call was refused with a credential, and when a credential's policy requires a new secret.
//
// Invariants: CD3 one rotation per refused version, and none within the cool-down after the last one: a vendor that refuses
// everything must not cause endless rotations.

import type { CredentialDocument } from '../../definitions/documents/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { canonicalJson } from '../../foundation/json/index.ts'
import { DAY, type Instant, MINUTE } from '../../foundation/time/index.ts'
import type { CredentialState } from './credential-state.ts'

export interface RefusalQuestion {
  readonly state: CredentialState
  readonly policy: Pick<CredentialDocument['rotation'], 'coolDownMs'>
  /**
   * The refused version: of the token where one is derived from the secret, otherwise of the secret. null: the secret itself.
   */
  readonly version: number | null
  /** The call used a token derived from the secret. */
  readonly isDerived: boolean
  /** The secret can be replaced: it is stored in the vault. */
  readonly canRotate: boolean
  /** The account is known to lack a permission, which a new secret would not grant. */
  readonly lacksScope: boolean
  readonly now: Instant
}

export type RefusalStep =
  /** A different version or token is in use by now. */
  | { readonly do: 'again' }
  /** The token ended early: the next call gets a new one. */
  | { readonly do: 'refresh' }
  | { readonly do: 'rotate' }
  /** A rotation is under way. */
  | { readonly do: 'wait' }
  | { readonly do: 'dead'; readonly code: RefusalCode }

export type RefusalCode = 'credential_scope_missing' | 'credential_refused' | 'rotation_cool_down'

/** A token that is refused so soon after it was issued indicates a problem with the account. */
const TOKEN_PROVED_MS = MINUTE
const AFTER_FAILURE_MS = DAY

export function decideRefusal(question: RefusalQuestion): RefusalStep {
  const { state, policy, version, isDerived, canRotate, lacksScope, now } = question
  if (lacksScope) return { do: 'dead', code: 'credential_scope_missing' }
  if (isDerived && version !== null) {
    const { token } = state
    if (token !== null && version < token.version) return { do: 'again' }
    const isOld = token !== null && now - (token.since ?? 0) >= TOKEN_PROVED_MS
    if (isOld && state.rotation === null) return { do: 'refresh' }
  } else if (version !== null && state.current !== null && version < state.current.version) {
    return { do: 'again' }
  }
  if (state.rotation !== null) return { do: 'wait' }
  if (!canRotate) return { do: 'dead', code: 'credential_refused' }
  const last = Math.max(state.lastRotatedAt ?? 0, state.lastFailure?.at ?? 0)
  if (last > 0 && now - last < policy.coolDownMs) return { do: 'dead', code: 'rotation_cool_down' }
  return { do: 'rotate' }
}

/** Vendors' terms for an account that is authenticated but not authorized. */
const SCOPE_WORDS =
  /insufficient[ _-]?(scope|permission)|missing[ _-]?scope|not[ _-]allowed[ _-]token[ _-]type|resource not accessible|access_?token_?scope/i

export function saysScopeMissing(error: string): boolean {
  return SCOPE_WORDS.test(error)
}

/** The same for the same cause, so that a repeated request is done once. */
export function rotationToken(credential: string, from: number | null, cause: string): string {
  return hashText(canonicalJson(['rotation', credential, from, cause])).slice(
    'sha256:'.length,
    'sha256:'.length + 32,
  )
}

/** Why a refusal starts a rotation: also again after a failed rotation, once the cool-down is over. */
export function causeOfRefusal({ lastFailure, lastRotatedAt }: CredentialState): string {
  return `auth-failure:${lastFailure?.at ?? 0}:${lastRotatedAt ?? 0}`
}

/** When the policy requires a new secret; null: never, or there is no secret yet. */
export function nextRotationAt(
  { current, lastRotatedAt, lastFailure }: Pick<CredentialState, 'current' | 'lastRotatedAt' | 'lastFailure'>,
  { everyMs, coolDownMs }: Pick<CredentialDocument['rotation'], 'everyMs' | 'coolDownMs'>,
): Instant | null {
  if (everyMs === null || current === null) return null
  const due = Math.max(lastRotatedAt ?? 0, current.since) + everyMs
  // A failed rotation is retried, but not continuously.
  const pauseMs = Math.min(everyMs, Math.max(coolDownMs, AFTER_FAILURE_MS))
  return lastFailure === null ? due : Math.max(due, lastFailure.at + pauseMs)
}
