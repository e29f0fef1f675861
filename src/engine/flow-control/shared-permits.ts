// Rate permits of buckets that all nodes share: acquired from the bucket's record by guarded commits, a few at a time,
// and held by this node until they are used or expire. The core has the rules
// (src/core/flow-control/rate/shared-bucket.ts).
//
// Invariants: PA19 a permit is used once, no sooner than it is valid, and not after it expired. PA21 while a bucket is
// known to be empty the store is not asked for it.

import type { Bucket } from '../../core/definitions/documents/index.ts'
import {
  acquirePermits,
  applySharedResponse,
  type BucketAnswer,
  chargeTokens,
  isLimiting,
  NEW_SHARED,
  permitsMax,
  type SharedBucket,
  sharedLeft,
  shyness,
} from '../../core/flow-control/rate/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type StoredRecord, StoreError } from '../../ports/store.ts'
import { type EngineBase, retrying } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import { makeNodePermits, type NodePermits, type Token } from './node-permits.ts'
import { makeThrottled } from './throttle.ts'

export interface BucketName {
  readonly tenant: TenantId
  readonly key: string
}

export interface SharedPermits {
  /** How many may be used now; unlimited without a limit. */
  room(name: BucketName, policy: Bucket | null): number
  /** If none is available: until when asking is pointless; null: ask now. */
  waitsUntil(name: BucketName, policy: Bucket | null): Instant | null
  /** Asks the store, which updates `room` and `waitsUntil`. Never throws. */
  acquire(name: BucketName, policy: Bucket | null, options?: AcquireOptions): Promise<void>
  /** The last request to the store failed: unknown permits may be available. */
  isAway(name: BucketName): boolean
  now(): Instant
  /** null: none is available, or none is needed. */
  use(name: BucketName, policy: Bucket | null): Token | null
  giveBack(name: BucketName, token: Token): void
  /** A call was made that could not ask: it is counted afterwards. */
  owe(name: BucketName, policy: Bucket | null): void
  /** `by`: the probe named by the permit of the call; otherwise empty. */
  reportResult(name: BucketName, policy: Bucket | null, answer: BucketAnswer): void
  /** Reserves a future permit, however far ahead; returns the delay until it is valid. */
  book(name: BucketName, policy: Bucket): Promise<number>
  /** The same, if it is valid within this time; null: it is not, and none is reserved. */
  bookWithin(name: BucketName, policy: Bucket, withinMs: number): Promise<number | null>
  /** What is available, held by this node or not, as far as it knows. */
  left(name: BucketName, policy: Bucket): number
  /** Until when the vendor asked not to be called; null: it did not. */
  closedUntil(name: BucketName): Instant | null
  /** Records that other nodes wrote. */
  learn(tenant: TenantId, records: readonly StoredRecord[]): void
}

export interface AcquireOptions {
  /** A bucket without a record starts full, and not with a single token. */
  readonly isFull?: boolean
  /** Permits that become valid soon are useful too. */
  readonly isAhead?: boolean
  /** How much longer than usual a permit may be held. */
  readonly longerMs?: number
}

interface Known extends BucketName {
  bucket: SharedBucket
  /** Of its record; null: it has to be read. */
  version: number | null
  readonly permits: NodePermits
  /** How many the next request acquires. */
  size: number
  waitUntil: Instant
  owed: number
  pendingResponses: readonly PendingResponse[]
  /** Writes the vendor's remaining quota. */
  readonly flushLeft: () => void
  acquiredAt: Instant
  /** Callers that wait for the time of their future permit. */
  bookings: readonly ((delayMs: number) => void)[]
  /** How many callers wait to acquire. */
  asking: number
  isAway: boolean
  /** The exchange with the store in progress. */
  active: Promise<void> | null
}

/** A vendor response that is not in the record yet. */
interface PendingResponse {
  readonly policy: Bucket | null
  readonly answer: BucketAnswer
}

interface Exchange {
  readonly policy: Bucket | null
  readonly wanted: number
  readonly aheadMs: number
  readonly longerMs: number
  readonly isFull: boolean
  /** No permit is valid soon enough. */
  readonly onEmpty?: () => void
}

const PLAIN = { aheadMs: 0, longerMs: 0, isFull: false }

/** Permits not used by then expire. */
const HOLD_MS = 5_000
/** Permits are acquired this long before they become valid: races then cost no time. */
const AHEAD_MS = 500
/**
 * A node that acquired recently leaves the next permits to others for this long, and all ask at different
 * times. Both together are less than `AHEAD_MS`.
 */
const YIELD_MS = 250
const JITTER_MS = 100
/** Permits that become valid within this time are used together. */
const GATHER_MS = 50
/** How often the result of another node's probe is checked. */
const TRIED_MS = 1_000
const FAILED_MS = 1_000
const SOON_MS = 1_000
/** After this many lost races the node waits a random time, so that nodes that share a bucket stop colliding. */
const RACES_MAX = 8
/** A remaining quota beyond this is not relevant yet, and not written. */
const FAR = 1_000
/** The remaining quota is written no more often than this; a refusal is written at once. */
const LEFT_EVERY_MS = 250

export function makeSharedPermits(
  deps: Pick<EngineBase, 'store' | 'clock' | 'log' | 'random' | 'time' | 'commits' | 'wake'> & {
    /** The vendor refused, or no longer does: for other nodes. */
    changed(tenant: TenantId): void
  },
  config: Pick<EngineConfig, 'node'>,
): SharedPermits {
  const { store, clock, log, random, time, commits } = deps
  const all = new Map<string, Known>()
  let tries = 0

  const find = ({ tenant, key }: BucketName): Known => {
    const id = `${tenant}/${key}`
    const known = all.get(id)
    if (known !== undefined) return known
    const made: Known = {
      tenant,
      key,
      bucket: NEW_SHARED,
      version: null,
      permits: makeNodePermits(),
      size: 1,
      waitUntil: 0,
      owed: 0,
      pendingResponses: [],
      flushLeft: makeThrottled(clock, LEFT_EVERY_MS, () =>
        flush(made, made.pendingResponses.at(-1)?.policy ?? null),
      ),
      acquiredAt: 0,
      bookings: [],
      asking: 0,
      isAway: false,
      active: null,
    }
    all.set(id, made)
    return made
  }

  /** Of a closed bucket only its probe is usable. */
  const heedClosed = ({ permits, bucket }: Known) => {
    if (bucket.closed !== null) permits.keepTry(bucket.closed.triedBy)
  }

  /** The usable permits; one may have been returned, or acquired, while the vendor refused. */
  const permitsOf = (known: Known): NodePermits => {
    const { permits } = known
    heedClosed(known)
    // Expired permits make the next request smaller.
    if (permits.dropLost(time.now()) > 0) known.size = Math.max(1, Math.floor(known.size / 2))
    return permits
  }

  /**
   * The vendor's response applies here at once, whatever the store says: it may not know yet. Only a probe
   * ends by its commit.
   */
  const take = (known: Known, version: number, bucket: SharedBucket) => {
    known.version = version
    known.bucket = known.pendingResponses.reduce(
      (bucket, { policy, answer }) =>
        isLasting(answer) ? applySharedResponse(bucket, policy, answer) : bucket,
      bucket,
    )
    heedClosed(known)
  }

  const adopt = (known: Known, version: number, body: string) =>
    take(known, version, { ...NEW_SHARED, ...(JSON.parse(body) as Partial<SharedBucket>) })

  const read = async (known: Known) => {
    const found = await store.forTenant(known.tenant).record('rate', known.key)
    if (found === null) take(known, 0, NEW_SHARED)
    else adopt(known, found.version, found.body)
  }

  /** Writes what is pending, and acquires permits: none if there are none, or if other nodes were faster repeatedly. */
  const exchange = (
    known: Known,
    { policy, wanted, aheadMs, longerMs, isFull, onEmpty }: Exchange,
  ): Promise<readonly Token[]> => {
    let isRead = false
    const exchangeOnce = async (retry: () => Promise<readonly Token[]>): Promise<readonly Token[]> => {
      if (known.version === null) {
        await read(known)
        isRead = true
      }
      const now = time.now()
      const { pendingResponses, owed } = known
      const isNew = known.version === 0 && isFull && policy !== null
      const before = isNew ? { ...known.bucket, tokens: { count: policy.burst, at: now } } : known.bucket
      let bucket = chargeTokens(before, policy, now, owed)
      for (const { answer } of pendingResponses) bucket = applySharedResponse(bucket, policy, answer)
      tries += 1
      const tryBy = `${config.node} ${tries}`
      // The node next in rotation may ask first; permits that are already valid are for any node.
      const ownMs = Math.max(0, aheadMs - shyMs(bucket))
      const acquired =
        wanted === 0
          ? null
          : acquirePermits(bucket, policy, { now, wanted, aheadMs: ownMs, by: config.node, tryBy })
      if (acquired?.is === 'tried' && !isRead) {
        known.version = null
        return retry()
      }
      if (acquired?.is === 'empty') {
        known.waitUntil = acquired.nextAt
        onEmpty?.()
      }
      if (acquired?.is === 'tried') known.waitUntil = Math.min(acquired.until, now + TRIED_MS)
      if (acquired?.is !== 'drawn' && owed === 0 && pendingResponses.length === 0) return []
      const next = acquired?.is === 'drawn' ? acquired.bucket : bucket
      const version: number = known.version ?? 0
      // Until the response arrives it is unknown what is written.
      known.version = null
      const result = await commits.once(
        known.tenant,
        [{ g: 'version', of: 'rate', key: known.key, version }],
        [
          {
            w: 'record.put',
            kind: 'rate',
            key: known.key,
            version: version + 1,
            body: JSON.stringify(next),
          },
        ],
      )
      time.heard(result.at)
      if (!result.ok) return retry()
      known.owed -= owed
      known.pendingResponses = known.pendingResponses.slice(pendingResponses.length)
      take(known, version + 1, next)
      if (acquired?.is !== 'drawn') return []
      known.waitUntil = 0
      const named = acquired.isTry ? tryBy : null
      return acquired.from.map((from) => ({ from, until: from + HOLD_MS + longerMs, tries: named }))
    }
    return retrying(RACES_MAX, exchangeOnce, () => {
      known.waitUntil = time.now() + Math.round(JITTER_MS * random.unit())
      return []
    })
  }

  const shyMs = (bucket: SharedBucket): number =>
    Math.round(YIELD_MS * shyness(bucket, config.node) + JITTER_MS * random.unit())

  /** One at a time per bucket. */
  const serialize = async (known: Known, work: () => Promise<void>): Promise<void> => {
    while (known.active !== null) await known.active
    const mine = work()
      .then(() => {
        known.isAway = false
      })
      .catch((error: unknown) => {
        known.version = null
        known.isAway = true
        known.waitUntil = time.now() + FAILED_MS
        log.warn('rate.not-drawn', { tenant: known.tenant, bucket: known.key, error: messageOf(error) })
      })
      .finally(() => {
        known.active = null
      })
    known.active = mine
    return mine
  }

  /** Eventually: what cannot be written now is written with the next request. */
  const flush = (known: Known, policy: Bucket | null) => {
    void serialize(known, async () => {
      if (known.owed === 0 && known.pendingResponses.length === 0) return
      const isNews = known.pendingResponses.some(({ answer }) => answer.isLimited || answer.by !== '')
      await exchange(known, { ...PLAIN, policy, wanted: 0 })
      if (isNews) deps.changed(known.tenant)
      const until = known.bucket.closed?.closedUntil ?? null
      deps.wake(until === null ? 0 : Math.max(0, until - time.now()))
    })
  }

  /**
   * All waiting reservations, in one commit if no other node is faster; an event must not be dropped because
   * the store was down.
   */
  const keepBookings = async (known: Known, policy: Bucket) => {
    while (known.bookings.length > 0) {
      const wanted = known.bookings.length
      const tokens = await commits.retryUntilAvailable(() =>
        exchange(known, { ...PLAIN, policy, wanted, aheadMs: Number.POSITIVE_INFINITY }),
      )
      const ready = known.bookings.slice(0, tokens.length)
      known.bookings = known.bookings.slice(tokens.length)
      ready.forEach((resolve, index) => {
        resolve(Math.max(0, (tokens[index]?.from ?? 0) - time.now()))
      })
    }
  }

  return {
    room(name, policy) {
      const known = find(name)
      if (!isLimiting(known.bucket, policy, time.now())) return Number.POSITIVE_INFINITY
      return permitsOf(known).usable(time.now())
    },
    waitsUntil(name, policy) {
      const known = find(name)
      const now = time.now()
      const comesAt = permitsOf(known).nextAt(now, GATHER_MS)
      if (comesAt !== null) return comesAt
      const { closed } = known.bucket
      if (closed !== null && now < closed.closedUntil) return closed.closedUntil
      if (!isLimiting(known.bucket, policy, now)) return null
      return now < known.waitUntil ? known.waitUntil : null
    },
    async acquire(name, policy, { isFull = false, isAhead = false, longerMs = 0 } = {}) {
      const known = find(name)
      known.asking += 1
      await serialize(known, async () => {
        if (permitsOf(known).count() > 0) return
        const most = permitsMax(policy)
        const now = time.now()
        // A caller that comes back this soon can use more at once.
        if (now - known.acquiredAt < SOON_MS) known.size = Math.min(most, known.size * 2)
        known.acquiredAt = now
        const wanted = Math.min(most, Math.max(known.asking, known.size))
        const aheadMs = isAhead ? AHEAD_MS : 0
        known.permits.add(await exchange(known, { policy, wanted, aheadMs, longerMs, isFull }))
      })
      known.asking -= 1
    },
    isAway: (name) => find(name).isAway,
    now: () => time.now(),
    use(name, policy) {
      const known = find(name)
      if (!isLimiting(known.bucket, policy, time.now())) return null
      return permitsOf(known).use(time.now())
    },
    giveBack(name, token) {
      find(name).permits.giveBack(token)
    },
    owe(name, policy) {
      const known = find(name)
      if (!isLimiting(known.bucket, policy, time.now())) return
      known.owed += 1
      flush(known, policy)
    },
    reportResult(name, policy, answer) {
      const known = find(name)
      const { isLimited, limits, by } = answer
      const isNews = isLimited || by !== ''
      const isNear = limits !== null && limits.remaining !== null && limits.remaining <= FAR
      if (!isNews && !isNear) return
      const next = applySharedResponse(known.bucket, policy, answer)
      if (!isNews && isSaid(known.bucket, next, time.now())) return
      known.pendingResponses = [...known.pendingResponses, { policy, answer }]
      if (isLasting(answer)) known.bucket = next
      heedClosed(known)
      if (isNews) flush(known, policy)
      else known.flushLeft()
    },
    book(name, policy) {
      const known = find(name)
      return new Promise((resolve) => {
        known.bookings = [...known.bookings, resolve]
        void serialize(known, () => keepBookings(known, policy))
      })
    },
    async bookWithin(name, policy, withinMs) {
      const known = find(name)
      const booked: { delayMs?: number | null } = {}
      const onEmpty = () => {
        booked.delayMs = null
      }
      const asked = { ...PLAIN, policy, wanted: 1, aheadMs: withinMs, onEmpty }
      await serialize(known, async () => {
        // Without a permit it lost its races: whether there is one is not known yet.
        while (booked.delayMs === undefined) {
          const [token] = await commits.retryUntilAvailable(() => exchange(known, asked))
          if (token !== undefined) booked.delayMs = Math.max(0, token.from - time.now())
        }
      })
      if (booked.delayMs === undefined) throw new StoreError('unavailable', 'the permits are not known')
      return booked.delayMs
    },
    left(name, policy) {
      const known = find(name)
      return sharedLeft(known.bucket, policy, time.now()) + permitsOf(known).count()
    },
    closedUntil(name) {
      const { closed } = find(name).bucket
      return closed !== null && time.now() < closed.closedUntil ? closed.closedUntil : null
    },
    learn(tenant, records) {
      for (const { key, version, body } of records) {
        const known = find({ tenant, key })
        if (known.active === null && version > (known.version ?? -1)) adopt(known, version, body)
      }
    },
  }
}

/** Not the end of a probe: other nodes learn of that from the record. */
function isLasting({ isLimited, by }: BucketAnswer): boolean {
  return isLimited || by === ''
}

/** Nothing in it is less than known. */
function isSaid(before: SharedBucket, after: SharedBucket, now: Instant): boolean {
  const known = before.windows.filter(({ resetAt }) => now < resetAt)
  return JSON.stringify(known) === JSON.stringify(after.windows)
}
