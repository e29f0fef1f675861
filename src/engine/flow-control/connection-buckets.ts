// The rate buckets of connections: shared by all calls on one connection, limited by its provider's document or its
// own, and by the limits that the vendor's responses report. A single node has them in memory; nodes that share a store
// acquire permits from records (src/engine/flow-control/shared-connection-buckets.ts).

import type { Bucket } from '../../core/definitions/documents/index.ts'
import {
  type AdaptiveBucket,
  applyResponse,
  bucketAllows,
  bucketOpensAt,
  enterBucket,
  type Limits,
  leaveBucket,
  OPEN_BUCKET,
} from '../../core/flow-control/rate/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Account } from '../definitions/index.ts'

export interface BucketView {
  readonly name: string
  readonly perMinute: number
  readonly burst: number
  readonly left: number
  readonly closedUntil: Instant | null
}

export interface Buckets {
  /** How many calls may start, and when to ask again if none may. */
  room(
    tenant: TenantId,
    account: Account,
    names: readonly string[],
  ): {
    readonly max: number
    readonly opensAt: Instant | null
    /** Empty only because no permits were acquired yet: call `acquire`. */
    readonly mustAcquire?: boolean
  }
  /** null: there is nothing to acquire. */
  acquire(tenant: TenantId, account: Account, names: readonly string[]): Promise<void> | null
  enter(tenant: TenantId, account: Account, names: readonly string[], by: string): void
  /** No call was made. */
  leave(tenant: TenantId, account: Account, names: readonly string[], by: string): void
  reportResult(
    tenant: TenantId,
    account: Account,
    names: readonly string[],
    answer: { readonly by: string; readonly isLimited: boolean; readonly limits: Limits | null },
  ): void
  view(tenant: TenantId, account: Account): readonly BucketView[]
}

/**
 * For calls that name no bucket. Without a declaration by the provider it has no rate of its own, and closes
 * when the vendor refuses.
 */
const DEFAULT_BUCKET = 'default'

export function makeBuckets(
  deps: Pick<EngineDeps, 'log' | 'random'> & { readonly time: StoreTime; wake(delayMs?: number): void },
): Buckets {
  const { time, random, log } = deps
  const all = new Map<string, AdaptiveBucket>()
  const nameOf = (tenant: TenantId, account: Account, bucket: string) => `${tenant}/${account.name}/${bucket}`
  const find = (name: string) => all.get(name) ?? OPEN_BUCKET

  return {
    acquire: () => null,
    room(tenant, account, names) {
      const now = time.now()
      let max = Number.POSITIVE_INFINITY
      let opensAt: Instant | null = null
      for (const one of bucketsOf(names)) {
        const policy = policyOf(account, one)
        const bucket = find(nameOf(tenant, account, one))
        if (bucket === OPEN_BUCKET && policy === null) continue
        const allows = bucketAllows(bucket, policy, now)
        max = Math.min(max, allows)
        if (allows > 0) continue
        // A probe is in progress: waiting callers are woken, or look again soon.
        const at = bucketOpensAt(bucket, policy, now) ?? now + TRIED_MS
        opensAt = Math.max(opensAt ?? 0, at)
      }
      return { max, opensAt }
    },
    enter(tenant, account, names, by) {
      const now = time.now()
      for (const one of bucketsOf(names)) {
        const name = nameOf(tenant, account, one)
        const policy = policyOf(account, one)
        if (policy === null && !all.has(name)) continue
        all.set(name, enterBucket(find(name), policy, now, by))
      }
    },
    leave(tenant, account, names, by) {
      const now = time.now()
      for (const one of bucketsOf(names)) {
        const name = nameOf(tenant, account, one)
        const bucket = all.get(name)
        if (bucket !== undefined) all.set(name, leaveBucket(bucket, policyOf(account, one), now, by))
      }
      deps.wake()
    },
    reportResult(tenant, account, names, { by, isLimited, limits }) {
      const now = time.now()
      for (const one of bucketsOf(names)) {
        const name = nameOf(tenant, account, one)
        if (!isLimited && limits === null && !all.has(name)) continue
        const policy = policyOf(account, one)
        const before = find(name)
        const after = applyResponse(before, policy, { at: now, by, isLimited, limits, jitter: random.unit() })
        all.set(name, after)
        const until = after.closed?.closedUntil ?? null
        const fields = { tenant, connection: account.name, bucket: one }
        if (isLimited && before.closed === null && until !== null)
          log.info('bucket.closed', { ...fields, forMs: until - now })
        if (until !== null) deps.wake(Math.max(0, until - now))
        if (before.closed !== null && after.closed === null) {
          log.info('bucket.opened', fields)
          deps.wake()
        }
      }
    },
    view(tenant, account) {
      const now = time.now()
      return namedBuckets(account).flatMap((name) => {
        const policy = policyOf(account, name)
        if (policy === null) return []
        const bucket = find(nameOf(tenant, account, name))
        const left = bucketAllows(bucket, policy, now)
        const closedUntil = left > 0 ? null : bucketOpensAt(bucket, policy, now)
        return [{ name, perMinute: policy.perMinute, burst: policy.burst, left, closedUntil }]
      })
    },
  }
}

const DEFAULT_ONLY = [DEFAULT_BUCKET]
const TRIED_MS = 1_000

export function bucketsOf(names: readonly string[]): readonly string[] {
  return names.length === 0 ? DEFAULT_ONLY : names
}

export function policyOf({ connection, provider }: Account, name: string): Bucket | null {
  return connection.buckets[name] ?? provider.buckets[name] ?? null
}

/** The buckets of its documents, in order. */
export function namedBuckets({ connection, provider }: Account): readonly string[] {
  return [...new Set([...Object.keys(provider.buckets), ...Object.keys(connection.buckets)])].sort()
}
