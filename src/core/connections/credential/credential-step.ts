// The state machine of a credential. Pure: the same state and event give the same state.
//
// Invariants: CD1 the version in use changes only when a new one was verified, or when the vault itself has a different one in
// use. CD2 one rotation at a time; starting one while another is under way changes nothing. CD4 one refresh at a time: no other
// node takes the lock before it expires.

import { unreachable } from '../../foundation/errors/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { CredentialState, CredentialVersion, Rotation } from './credential-state.ts'

/** A version as reported by the vault. */
export interface VaultVersion {
  readonly version: number
  readonly fingerprint: string
}

export type CredentialEvent =
  /** What the vault has in use; null: nothing. */
  | {
      readonly type: 'found'
      readonly at: Instant
      readonly current: VaultVersion | null
      readonly by: string
    }
  /** A value waits to be verified. `ref`: the vendor's id of it. */
  | {
      readonly type: 'supplied'
      readonly at: Instant
      readonly pending: VaultVersion
      readonly by: string
      readonly ref?: string
    }
  | { readonly type: 'begun'; readonly at: Instant; readonly rotation: Rotation }
  /** The vendor created a secret for it, which is about to be stored. */
  | {
      readonly type: 'made'
      readonly at: Instant
      readonly token: string
      readonly fingerprint: string
      readonly ref: string
    }
  /** The rotation needs a user to enter the new value. */
  | { readonly type: 'waited'; readonly at: Instant; readonly token: string }
  /** The rotation continues. */
  | { readonly type: 'resumed'; readonly at: Instant; readonly token: string }
  /** The new version was verified and is in use. */
  | {
      readonly type: 'promoted'
      readonly at: Instant
      readonly token: string
      readonly current: VaultVersion
      readonly by: string
    }
  /** The rotation failed: the version in use stays. `pending`: the version that was refused; null: there was none. */
  | {
      readonly type: 'failed'
      readonly at: Instant
      readonly token: string
      readonly error: string
      readonly pending: number | null
    }
  /** The vendor refused this version of the secret. */
  | { readonly type: 'refused'; readonly at: Instant; readonly version: number }
  /** The vendor accepted this version of the secret, in a call that began at `since`. */
  | { readonly type: 'accepted'; readonly at: Instant; readonly version: number; readonly since: Instant }
  /** The vendor refused this token before its expiry. */
  | { readonly type: 'tokenRefused'; readonly at: Instant; readonly version: number }
  | { readonly type: 'locked'; readonly at: Instant; readonly by: string; readonly until: Instant }
  | { readonly type: 'unlocked'; readonly at: Instant; readonly by: string }
  /** A new token is in the vault. */
  | {
      readonly type: 'tokened'
      readonly at: Instant
      readonly version: number
      readonly expiresAt: Instant | null
      /** The lock holder that obtained it. */
      readonly by?: string
    }

export const VERSIONS_MAX = 10
const ERROR_LENGTH_MAX = 1_000

export const NEW_CREDENTIAL: CredentialState = {
  form: 1,
  status: 'missing',
  current: null,
  versions: [],
  rotation: null,
  lastRotatedAt: null,
  lastFailure: null,
  token: null,
  refused: null,
  refresh: null,
  updatedAt: 0,
}

/** null: nothing changes. */
export function stepCredential(state: CredentialState, event: CredentialEvent): CredentialState | null {
  const at = event.at
  switch (event.type) {
    case 'found':
      return found(state, event)
    case 'supplied': {
      const { pending, by, ref } = event
      const known = state.versions.find(({ version }) => version === pending.version)
      if (known?.fingerprint === pending.fingerprint && known.state !== 'former') return null
      const entry: CredentialVersion = {
        ...pending,
        since: at,
        by,
        state: 'pending',
        ...(ref === undefined ? {} : { ref }),
      }
      return changed(state, at, { versions: withVersion(state.versions, entry) })
    }
    case 'begun':
      if (state.rotation !== null) return null
      return changed(state, at, { status: 'rotating', rotation: event.rotation })
    case 'made': {
      if (state.rotation?.token !== event.token) return null
      const { fingerprint, ref } = event
      return changed(state, at, { rotation: { ...state.rotation, made: { fingerprint, ref } } })
    }
    case 'waited':
      if (state.rotation?.token !== event.token || state.status === 'waiting') return null
      return changed(state, at, { status: 'waiting' })
    case 'resumed':
      if (state.rotation?.token !== event.token || state.status !== 'waiting') return null
      return changed(state, at, { status: 'rotating' })
    case 'promoted':
      return promoted(state, event)
    case 'failed': {
      if (state.rotation?.token !== event.token) return null
      const { token, error, pending } = event
      return changed(state, at, {
        status: restingStatus(state.current),
        rotation: null,
        lastFailure: {
          at,
          token,
          version: state.current?.version ?? null,
          error: error.slice(0, ERROR_LENGTH_MAX),
        },
        versions: state.versions.map((one) =>
          one.version === pending && one.state === 'pending' ? { ...one, state: 'refused' } : one,
        ),
      })
    }
    case 'refused':
      if (state.refused?.version === event.version) return null
      return changed(state, at, { refused: { version: event.version, at } })
    case 'accepted': {
      const { refused } = state
      // A call that began before the refusal says nothing about it.
      if (refused == null || refused.version !== event.version || event.since <= refused.at) return null
      return changed(state, at, { refused: null })
    }
    case 'tokenRefused': {
      const { token } = state
      if (token === null || token.version !== event.version || isOver(token.expiresAt, at)) return null
      return changed(state, at, { token: { ...token, expiresAt: at } })
    }
    case 'locked': {
      const { refresh } = state
      if (refresh !== null && refresh.until > at && refresh.by !== event.by) return null
      return changed(state, at, { refresh: { by: event.by, until: event.until } })
    }
    case 'unlocked':
      if (state.refresh?.by !== event.by) return null
      return changed(state, at, { refresh: null })
    case 'tokened': {
      const { version, expiresAt, by } = event
      const { refresh } = state
      // The lock holder's report is current, even if the vault restarted its version numbers; any other report may be late.
      const isHolder = by !== undefined && refresh?.by === by
      if (!isHolder && state.token !== null && state.token.version > version) return null
      const lock = by === undefined || isHolder ? null : refresh
      return changed(state, at, { token: { version, expiresAt, since: at }, refresh: lock })
    }
    default:
      return unreachable(event)
  }
}

function isOver(expiresAt: Instant | null, at: Instant): boolean {
  return expiresAt !== null && expiresAt <= at
}

function changed(state: CredentialState, at: Instant, change: Partial<CredentialState>): CredentialState {
  return { ...state, ...change, updatedAt: at }
}

function restingStatus(current: CredentialVersion | null): CredentialState['status'] {
  return current === null ? 'missing' : 'active'
}

function found(
  state: CredentialState,
  { at, current, by }: Extract<CredentialEvent, { type: 'found' }>,
): CredentialState | null {
  if (current === null) {
    if (state.current === null) return null
    return changed(state, at, {
      current: null,
      status: state.rotation === null ? 'missing' : state.status,
      versions: state.versions.map(asFormer),
    })
  }
  if (state.current?.version === current.version && state.current.fingerprint === current.fingerprint)
    return null
  const { active, versions } = activate(state.versions, current, at, by)
  return changed(state, at, {
    current: active,
    versions,
    status: state.rotation === null ? 'active' : state.status,
  })
}

function promoted(
  state: CredentialState,
  { at, token, current, by }: Extract<CredentialEvent, { type: 'promoted' }>,
): CredentialState | null {
  if (state.rotation?.token !== token) return null
  const isSame =
    state.current?.version === current.version && state.current.fingerprint === current.fingerprint
  const { active, versions } = isSame
    ? { active: state.current, versions: state.versions }
    : activate(state.versions, current, at, by)
  return changed(state, at, {
    status: 'active',
    current: active,
    versions,
    rotation: null,
    lastRotatedAt: at,
    lastFailure: null,
    refused: null,
  })
}

function asFormer(one: CredentialVersion): CredentialVersion {
  return one.state === 'active' ? { ...one, state: 'former' } : one
}

function activate(
  versions: readonly CredentialVersion[],
  { version, fingerprint }: VaultVersion,
  at: Instant,
  by: string,
): { readonly active: CredentialVersion; readonly versions: readonly CredentialVersion[] } {
  const known = versions.find((one) => one.version === version && one.fingerprint === fingerprint)
  const active: CredentialVersion = {
    ...(known ?? { by }),
    version,
    fingerprint,
    since: at,
    state: 'active',
  }
  return { active, versions: withVersion(versions.map(asFormer), active) }
}

/** Newest first. The one in use stays in the list, however many were refused since. */
function withVersion(
  versions: readonly CredentialVersion[],
  entry: CredentialVersion,
): readonly CredentialVersion[] {
  const others = versions.filter(({ version }) => version !== entry.version)
  const all = [...others, entry].sort((a, b) => b.version - a.version)
  if (all.length <= VERSIONS_MAX) return all
  const oldest = all.findLast(({ state }) => state !== 'active')
  return all.filter((one) => one !== oldest)
}
