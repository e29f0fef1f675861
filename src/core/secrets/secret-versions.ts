// The versions of one secret: the one in use, a pending one, and former ones that stay valid for a while. How a vault holds a
// value (encrypted, or in another system) is its own concern.
//
// Invariants: VA5 a pending value is not used before it is promoted; setting a value directly drops it. OV1 a former value ends
// at its time. OV2 without an overlap only the new value is valid. OV3 five former ones at most. VA12 a change that expects a
// different version changes nothing.

import { AppError } from '../foundation/errors/index.ts'
import type { Instant } from '../foundation/time/index.ts'

const FORMER_MAX = 5

export interface HeldVersion {
  readonly version: number
}

export type Former<Held extends HeldVersion> = Held & { readonly until: Instant }

export interface SecretVersions<Held extends HeldVersion> {
  /** null: only a pending one was ever set. */
  readonly current: Held | null
  readonly pending: Held | null
  /** Newest first. Left out: there is none. */
  readonly former?: readonly Former<Held>[]
}

interface Change {
  readonly now: Instant
  /** How long the value that was in use stays valid. */
  readonly overlapMs: number
}

/** The number of the next value, in use or pending. */
export function nextVersion(before: SecretVersions<HeldVersion> | null): number {
  return Math.max(before?.current?.version ?? 0, before?.pending?.version ?? 0) + 1
}

export function setVersion<Held extends HeldVersion>(
  before: SecretVersions<Held> | null,
  next: Held,
  { isPending, ...change }: Change & { readonly isPending: boolean },
): SecretVersions<Held> {
  return isPending
    ? { current: before?.current ?? null, pending: next, ...kept(inOverlap(before, change.now)) }
    : { current: next, pending: null, ...kept(follow(before, change)) }
}

/** null: there is no pending value. */
export function promoteVersion<Held extends HeldVersion>(
  before: SecretVersions<Held> | null,
  change: Change,
): SecretVersions<Held> | null {
  if (before === null || before.pending === null) return null
  return { current: before.pending, pending: null, ...kept(follow(before, change)) }
}

/** Those that have not expired. */
export function inOverlap<Held extends HeldVersion>(
  secret: SecretVersions<Held> | null,
  now: Instant,
): readonly Former<Held>[] {
  return (secret?.former ?? []).filter(({ until }) => now < until)
}

/** Throws `conflict` when the version in use is not the one that the change was based on. */
export function expectVersion(
  name: string,
  before: SecretVersions<HeldVersion> | null,
  expected: number | null | undefined,
): void {
  const found = before?.current?.version ?? null
  if (expected === undefined || expected === found) return
  const seen = found === null ? 'has no value in use' : `is at version ${found}`
  throw new AppError('conflict', `the secret ‘${name}’ ${seen}, not at ${expected ?? 'none'}: look again`)
}

/** Throws `conflict` when the pending value differs, or is gone: it was promoted, replaced or dropped meanwhile. */
export function expectPending(name: string, found: string | null, expected: string | undefined): void {
  if (expected === undefined || expected === found) return
  const seen = found === null ? 'has no pending value any more' : 'has another pending value by now'
  throw new AppError('conflict', `the secret ‘${name}’ ${seen}: look again`)
}

/** What stays valid beside a new value. Without an overlap nothing does: revoking a secret must revoke all of it. */
function follow<Held extends HeldVersion>(
  before: SecretVersions<Held> | null,
  { now, overlapMs }: Change,
): readonly Former<Held>[] {
  if (overlapMs <= 0) return []
  const last = before?.current == null ? [] : [{ ...before.current, until: now + overlapMs }]
  return [...last, ...inOverlap(before, now)].slice(0, FORMER_MAX)
}

function kept<Held extends HeldVersion>(
  former: readonly Former<Held>[],
): Pick<SecretVersions<Held>, 'former'> {
  return former.length === 0 ? {} : { former }
}
