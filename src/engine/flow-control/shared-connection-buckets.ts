// The rate buckets of connections for nodes that share a store: each bucket is a record from which all of them acquire
// permits, and a limit that one of them learns from the vendor holds for all (RB5).

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Account } from '../definitions/index.ts'
import { type Buckets, bucketsOf, namedBuckets, policyOf } from './connection-buckets.ts'
import type { Token } from './node-permits.ts'
import type { BucketName, SharedPermits } from './shared-permits.ts'

/** The prefix of their records' names. */
export const CONNECTION_BUCKETS = 'connection/'

/** The permits that one claim took. */
interface Held {
  readonly name: BucketName
  readonly token: Token
}

/** Beyond this, claims that never report their end (probes, lookups) are forgotten. */
const HELD_MAX = 10_000

export function makeSharedBuckets(
  deps: Pick<EngineDeps, 'log' | 'random'> & {
    readonly time: StoreTime
    readonly sharedPermits: SharedPermits
    wake(delayMs?: number): void
  },
): Buckets {
  const { time, random, log, sharedPermits } = deps
  const held = new Map<string, readonly Held[]>()

  const nameOf = (tenant: TenantId, account: Account, bucket: string): BucketName => ({
    tenant,
    key: `${CONNECTION_BUCKETS}${account.name}/${bucket}`,
  })

  const emptyOnes = (tenant: TenantId, account: Account, names: readonly string[]) =>
    bucketsOf(names).flatMap((bucket) => {
      const name = nameOf(tenant, account, bucket)
      const policy = policyOf(account, bucket)
      return sharedPermits.room(name, policy) > 0 ? [] : [{ name, policy }]
    })

  return {
    room(tenant, account, names) {
      let max = Number.POSITIVE_INFINITY
      let opensAt: Instant | null = null
      let mustAcquire = false
      for (const bucket of bucketsOf(names)) {
        const name = nameOf(tenant, account, bucket)
        const policy = policyOf(account, bucket)
        const room = sharedPermits.room(name, policy)
        max = Math.min(max, room)
        if (room > 0) continue
        const waitsUntil = sharedPermits.waitsUntil(name, policy)
        if (waitsUntil === null) mustAcquire = true
        else opensAt = Math.max(opensAt ?? 0, waitsUntil)
      }
      // While one bucket is known to be empty, no permits are acquired from the others.
      return { max, opensAt, mustAcquire: mustAcquire && opensAt === null }
    },
    acquire(tenant, account, names) {
      const empty = emptyOnes(tenant, account, names)
      if (
        empty.length === 0 ||
        empty.some(({ name, policy }) => sharedPermits.waitsUntil(name, policy) !== null)
      )
        return null
      return (async () => {
        for (const { name, policy } of empty) await sharedPermits.acquire(name, policy, { isAhead: true })
      })()
    },
    enter(tenant, account, names, by) {
      const taken: Held[] = []
      for (const bucket of bucketsOf(names)) {
        const name = nameOf(tenant, account, bucket)
        const policy = policyOf(account, bucket)
        const token = sharedPermits.use(name, policy)
        if (token === null) sharedPermits.owe(name, policy)
        else taken.push({ name, token })
      }
      if (taken.length === 0) return
      held.set(by, taken)
      if (held.size > HELD_MAX) for (const oldest of held.keys()) return void held.delete(oldest)
    },
    leave(_tenant, _account, _names, by) {
      for (const { name, token } of held.get(by) ?? []) sharedPermits.giveBack(name, token)
      held.delete(by)
      deps.wake()
    },
    reportResult(tenant, account, names, { by, isLimited, limits }) {
      const now = time.now()
      const taken = held.get(by) ?? []
      held.delete(by)
      for (const bucket of bucketsOf(names)) {
        const name = nameOf(tenant, account, bucket)
        const policy = policyOf(account, bucket)
        const tries = taken.find((one) => one.name.key === name.key)?.token.tries ?? ''
        const before = sharedPermits.closedUntil(name)
        sharedPermits.reportResult(name, policy, {
          at: now,
          by: tries,
          isLimited,
          limits,
          jitter: random.unit(),
        })
        const until = sharedPermits.closedUntil(name)
        const fields = { tenant, connection: account.name, bucket }
        if (isLimited && before === null && until !== null) {
          log.info('bucket.closed', { ...fields, forMs: until - now })
          deps.wake(Math.max(0, until - now))
        }
        if (!isLimited && tries !== '') log.info('bucket.opened', fields)
      }
    },
    view(tenant, account) {
      return namedBuckets(account).flatMap((bucket) => {
        const policy = policyOf(account, bucket)
        if (policy === null) return []
        const name = nameOf(tenant, account, bucket)
        const closedUntil = sharedPermits.closedUntil(name)
        const left = closedUntil === null ? sharedPermits.left(name, policy) : 0
        const opensAt = closedUntil ?? (left > 0 ? null : sharedPermits.waitsUntil(name, policy))
        return [
          { name: bucket, perMinute: policy.perMinute, burst: policy.burst, left, closedUntil: opensAt },
        ]
      })
    },
  }
}
