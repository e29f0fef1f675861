// core/connections/credential/credential-refusal.ts — what becomes of work whose call was refused with a credential, and when a credential is due for another
// secret by its policy.
//
// Invariants: CD3 one rotation per refused version, and none within the cool-down after the last one: a vendor that refuses everything
// must not be answered by rotations without end.

import type { CredentialDocument } from '../../definitions/documents/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { canonicalJson } from '../../foundation/json/index.ts'
import { DAY, type Instant, MINUTE } from '../../foundation/time/index.ts'
import type { CredentialState } from './credential-state.ts'

export interface RefusalQuestion {
  readonly state: CredentialState
  readonly policy: Pick<CredentialDocument['rotation'], 'coolDownMs'>
  /** What was refused: the version of the token where one is derived from the secret, and otherwise of the secret. null: the secret itself. */
  readonly version: number | null
  /** The call was made with a token that is derived from the secret. */
  readonly isDerived: boolean
  /** Its secret can be replaced: it is kept in the vault. */
  readonly canRotate: boolean
  /** The account is known to lack a permission, which no other secret gives it. */
  readonly lacksScope: boolean
  readonly now: Instant
}

export type RefusalStep =
  /** Another version or token is in use by now. */
  | { readonly do: 'again' }
  /** The token ended before its time: the next call gets another one. */
  | { readonly do: 'refresh' }
  | { readonly do: 'rotate' }
  /** A rotation is under way. */
  | { readonly do: 'wait' }
  | { readonly do: 'dead'; readonly code: RefusalCode }

export type RefusalCode = 'credential_scope_missing' | 'credential_refused' | 'rotation_cool_down'

/** A token that is refused so soon after it was given out says something about the account. */
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

/** Vendors' words for an account that is who it says, and may not do this. */
const SCOPE_WORDS =
  /insufficient[ _-]?(scope|permission)|missing[ _-]?scope|not[ _-]allowed[ _-]token[ _-]type|resource not accessible|access_?token_?scope/i

export function saysScopeMissing(error: string): boolean {
  return SCOPE_WORDS.test(error)
}

/** The same for the same cause: what is asked twice is done once. */
export function rotationToken(credential: string, from: number | null, cause: string): string {
  return hashText(canonicalJson(['rotation', credential, from, cause])).slice(
    'sha256:'.length,
    'sha256:'.length + 32,
  )
}

/** Why a refusal begins one: another one after a rotation that failed, once the cool-down is over. */
export function causeOfRefusal({ lastFailure, lastRotatedAt }: CredentialState): string {
  return `auth-failure:${lastFailure?.at ?? 0}:${lastRotatedAt ?? 0}`
}

/** When its policy asks for another secret; null: never, or it has none yet. */
export function nextRotationAt(
  { current, lastRotatedAt, lastFailure }: Pick<CredentialState, 'current' | 'lastRotatedAt' | 'lastFailure'>,
  { everyMs, coolDownMs }: Pick<CredentialDocument['rotation'], 'everyMs' | 'coolDownMs'>,
): Instant | null {
  if (everyMs === null || current === null) return null
  const due = Math.max(lastRotatedAt ?? 0, current.since) + everyMs
  // After one that failed it is tried again, but not all the time.
  const pauseMs = Math.min(everyMs, Math.max(coolDownMs, AFTER_FAILURE_MS))
  return lastFailure === null ? due : Math.max(due, lastFailure.at + pauseMs)
}
