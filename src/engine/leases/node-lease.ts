// The node's lease in the store: join, send one heartbeat for all jobs, give back the jobs of dead nodes.
//
// Not its job: which jobs run. Invariants: E1 the owner stops by its own monotonic clock, counted from before the
// request. E2 once fenced, an incarnation is never used again: the node joins again. ND15 it does not do so at once if
// another process has its name.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'

export interface Lease {
  /** Joins, fences the node's previous incarnation and gives its jobs back. */
  start(): Promise<void>
  /** null while the lease has expired by our own clock. */
  owner(): Incarnation | null
  /** Whether the lease is still ours: it may have been left or lost while a caller waited for a response. */
  holds(owner: Incarnation): boolean
  /** True if the lease lasts `ms` more, after a heartbeat if one was needed; synchronous if none is. */
  covers(owner: Incarnation, ms: number): boolean | Promise<boolean>
  stop(): void
  /** Ends the lease in the store and gives its jobs to other nodes at once. From now on there is no owner. */
  leave(): Promise<void>
}

const RECLAIM_BATCH = 256
/** Fenced twice within this time before the lease expired: only another process that joins under the same name does that. */
const TAKEN_WITHIN_MS = 60_000
/** How long after the last time the name counts as taken. */
const TAKEN_FOR_MS = 600_000
const WAIT_FIRST_MS = 5_000
const WAIT_LAST_MS = 60_000
const RECLAIM_EVERY_BEATS = 2

export function makeLease(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & { readonly time: StoreTime },
  config: Pick<EngineConfig, 'node' | 'leaseMs'>,
  onReclaimed: () => void,
): Lease {
  const { store, clock, log, time } = deps
  const beatMs = Math.floor(config.leaseMs / 3)
  let incarnation: Incarnation | null = null
  let deadline = 0
  let beats = 0
  let stopped = false
  let cancel: () => void = () => {}
  let beating: Promise<void> | null = null
  let lastFencedAt = Number.NEGATIVE_INFINITY
  let waitMs = 0
  let joinAt = Number.NEGATIVE_INFINITY

  /** Joining at once would fence the other process, which would fence this one: neither would get anything done. */
  const leaveName = (now: number) => {
    const isTaken = now - lastFencedAt < (waitMs === 0 ? TAKEN_WITHIN_MS : TAKEN_FOR_MS)
    lastFencedAt = now
    waitMs = isTaken ? Math.min(WAIT_LAST_MS, waitMs === 0 ? WAIT_FIRST_MS : 2 * waitMs) : 0
    if (!isTaken) return
    joinAt = now + waitMs
    const todo = 'give each process that shares the store its own name: MILLRACE_NODE'
    log.error('node.name-taken', { node: config.node, waitMs, todo })
  }

  const join = async () => {
    const asked = clock.monotonic()
    const joined = await store.join(config.node, config.leaseMs)
    time.heard(joined.now)
    incarnation = joined.owner
    deadline = asked + config.leaseMs
    log.info('node.joined', { node: config.node, incarnation: joined.owner })
  }

  const reclaim = async () => {
    for (;;) {
      const given = await store.reclaim(RECLAIM_BATCH)
      if (given.length > 0) {
        log.warn('work.reclaimed', { items: given.length })
        onReclaimed()
      }
      if (given.length < RECLAIM_BATCH || stopped) return
    }
  }

  const joinOrWait = async () => {
    if (clock.monotonic() < joinAt) return
    await join()
    await reclaim()
  }

  /** One renewal at a time: if two overtook each other, the shorter lease could win. */
  let pending: Promise<void> = Promise.resolve()
  const serialize = (ask: () => Promise<void>): Promise<void> => {
    const answered = pending.then(ask)
    pending = answered.catch(() => {})
    return answered
  }

  const renew = async (owner: Incarnation, atLeastMs: number) => {
    if (incarnation !== owner) return
    const asked = clock.monotonic()
    // The store replaces the expiry: a heartbeat must not shorten a lease that covers a long call.
    const ttlMs = Math.max(atLeastMs, Math.ceil(deadline - asked))
    const renewed = await store.renew(owner, ttlMs)
    if (renewed !== 'fenced') time.heard(renewed.now)
    if (incarnation !== owner) return
    if (renewed === 'fenced') {
      if (stopped) return
      log.warn('node.fenced', { node: config.node, incarnation: owner })
      incarnation = null
      // A process that was suspended during the request lost its lease by that, not to another process.
      const now = clock.monotonic()
      if (now < deadline) leaveName(now)
      await joinOrWait()
    } else {
      deadline = asked + ttlMs
    }
  }

  /** A call that outlasts the ordinary lease gets a longer one, for as long as the call may run. */
  const prolong = async (owner: Incarnation, ms: number): Promise<boolean> => {
    try {
      await serialize(async () => {
        // An earlier request in the queue may have asked for enough.
        if (deadline - clock.monotonic() <= ms) await renew(owner, ms + config.leaseMs)
      })
    } catch {
      return false
    }
    return incarnation === owner && deadline - clock.monotonic() > ms
  }

  const joinOrRenew = async () => {
    if (stopped) return
    if (incarnation === null) await joinOrWait()
    else await renew(incarnation, config.leaseMs)
  }

  const beat = async () => {
    try {
      await serialize(joinOrRenew)
      beats += 1
      if (beats % RECLAIM_EVERY_BEATS === 0) await reclaim()
    } catch (error) {
      log.warn('node.heartbeat-failed', { error: messageOf(error) })
    }
  }

  const loop = () => {
    if (stopped) return
    cancel = clock.after(beatMs, () => {
      beating = beat().finally(() => {
        beating = null
        loop()
      })
    })
  }

  return {
    async start() {
      await join()
      await reclaim()
      loop()
    },
    owner: () => (incarnation !== null && clock.monotonic() < deadline ? incarnation : null),
    holds: (owner) => incarnation === owner && clock.monotonic() < deadline,
    covers(owner, ms) {
      if (incarnation !== owner) return false
      return deadline - clock.monotonic() > ms || prolong(owner, ms)
    },
    stop() {
      stopped = true
      cancel()
      void beating
    },
    async leave() {
      stopped = true
      cancel()
      const owner = incarnation
      incarnation = null
      // A heartbeat in progress may be joining again, and that lease would remain.
      await pending
      const last = incarnation ?? owner
      incarnation = null
      if (last === null) return
      try {
        const given = await store.leave(last)
        log.info('node.left', { node: config.node, incarnation: last, items: given.length })
        if (given.length > 0) onReclaimed()
      } catch (error) {
        // Other nodes take its jobs when the lease expires.
        log.warn('node.not-left', { node: config.node, incarnation: last, error: messageOf(error) })
      }
    },
  }
}
