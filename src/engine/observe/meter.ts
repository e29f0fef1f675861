// Counts throughput, latency and failures per tenant, source and consumer in buckets of fixed size, in memory alone. A node
// counts what it does itself, from its start.
//
// Counting an event takes a few array writes; memory is allocated for new names and new times. When the limit is reached, known
// names are still counted, and new ones wait until another has been idle for the whole window.

import { isCanonicalSource } from '../../core/events/canonical/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Commit } from '../../ports/store.ts'
import type { About } from '../commit/index.ts'
import { BIN_COUNT, binOf } from './meter-bins.ts'
import { makeLatencies } from './meter-latency.ts'
import { makeRing, type Ring } from './meter-ring.ts'

export interface Stats {
  readonly stepMs: number
  /** Start of the first bucket. */
  readonly from: Instant
  readonly accepted: readonly number[]
  readonly done: readonly number[]
  readonly retried: readonly number[]
  readonly dead: readonly number[]
  /** From received to settled; null if nothing was done. */
  readonly latencyP50Ms: readonly (number | null)[]
  readonly latencyP95Ms: readonly (number | null)[]
  /** null if it was not sampled. */
  readonly queueAgeMs: readonly (number | null)[]
  readonly consumers: readonly {
    readonly consumer: string
    readonly perMinute: number
    readonly done: number
    readonly retried: number
    readonly dead: number
  }[]
  readonly sources: readonly {
    readonly source: string
    readonly perMinute: number
    readonly accepted: number
  }[]
}

export interface Rates {
  readonly acceptedPerMinute: number
  readonly donePerMinute: number
  /** Failed attempts, retried or not. */
  readonly failedPerMinute: number
}

export interface Meter {
  applied(commit: Commit, at: Instant, about: About | null): void
  /** How long the oldest ready job has been due; each bucket keeps its last sample. */
  queueAge(tenant: TenantId, ageMs: number): void
  rates(tenant: TenantId): Rates
  stats(tenant: TenantId, minutes: number): Stats
}

const MINUTE_MS = 60_000
const FINE = { stepMs: 2_000, count: 450 }
const COARSE = { stepMs: MINUTE_MS, count: 1_440 }
/** Per name: a quarter of an hour by the minute, a day by the quarter. */
const NAME_FINE = { stepMs: MINUTE_MS, count: 16 }
const NAME_COARSE = { stepMs: 15 * MINUTE_MS, count: 97 }
const TENANTS_MAX = 100
const NAMES_MAX = 500
/** How often the counted names are searched for an idle one. */
const LOOK_EVERY_MS = MINUTE_MS

// Columns of a tenant's rings; the bins of the latency follow.
const ACCEPTED = 0
const DONE = 1
const RETRIED = 2
const DEAD = 3
/** One more than the age, so that 0 means "not sampled". */
const QUEUE_AGE = 4
const BINS = 5

interface Rings {
  readonly fine: Ring
  readonly coarse: Ring
}

interface Counted extends Rings {
  readonly fineLatency: ReturnType<typeof makeLatencies>
  readonly coarseLatency: ReturnType<typeof makeLatencies>
  readonly sources: Bounded<Rings>
  readonly consumers: Bounded<Rings>
}

/** Counters by name, up to a limit. */
interface Bounded<Value> {
  readonly all: ReadonlyMap<string, Value>
  /** null: there is no room for it. */
  at(name: string, now: Instant): Value | null
}

function makeBounded<Value extends Rings>(max: number, make: () => Value): Bounded<Value> {
  const all = new Map<string, Value>()
  let lookedAt = Number.NEGATIVE_INFINITY

  const makeRoom = (now: Instant): boolean => {
    if (all.size < max) return true
    // A name without room comes with every one of its events.
    if (Math.abs(now - lookedAt) < LOOK_EVERY_MS) return false
    lookedAt = now
    for (const [name, { coarse }] of all) if (coarse.isIdle(now)) all.delete(name)
    return all.size < max
  }
  return {
    all,
    at(name, now) {
      const known = all.get(name)
      if (known !== undefined) return known
      if (!makeRoom(now)) return null
      const made = make()
      all.set(name, made)
      return made
    },
  }
}

/** A replay of an old event starts with the replay: the event's own age would say nothing about our latency. */
function beganAt({ work, event }: About): Instant {
  return work.replayOf === null ? event.receivedAt : work.createdAt
}

export function makeMeter({ clock }: { readonly clock: Pick<Clock, 'now'> }): Meter {
  const names = () => makeBounded(NAMES_MAX, () => makeRings(NAME_FINE, NAME_COARSE, BINS))
  const tenants = makeBounded<Counted>(TENANTS_MAX, () => {
    const rings = makeRings(FINE, COARSE, BINS + BIN_COUNT)
    return {
      ...rings,
      fineLatency: makeLatencies(rings.fine, FINE, BINS),
      coarseLatency: makeLatencies(rings.coarse, COARSE, BINS),
      sources: names(),
      consumers: names(),
    }
  })

  const settled = (tenant: TenantId, about: About, column: number, latencyMs: number, now: Instant) => {
    const all = tenants.at(tenant, now)
    if (all === null) return
    add(all, now, column)
    if (column === DONE) add(all, now, BINS + binOf(latencyMs))
    add(all.consumers.at(about.work.consumer, now), now, column)
  }

  return {
    applied({ tenant, writes }, at, about) {
      for (const write of writes) {
        if (write.w === 'event.append') {
          // Events about this system itself were not sent by any source.
          if (isCanonicalSource(write.event.source)) continue
          const now = clock.now()
          const all = tenants.at(tenant, now)
          if (all === null) continue
          add(all, now, ACCEPTED)
          add(all.sources.at(write.event.source, now), now, ACCEPTED)
        } else if (about !== null && write.w === 'work.settle' && write.work === about.work.id) {
          if (write.to === 'parked' || write.to === 'cancelled') continue
          const column = write.to === 'dead' ? DEAD : DONE
          settled(tenant, about, column, at - beganAt(about), clock.now())
        } else if (about !== null && write.w === 'attempt.append' && write.attempt.outcome === 'again') {
          settled(tenant, about, RETRIED, 0, clock.now())
        }
      }
    },
    queueAge(tenant, ageMs) {
      const now = clock.now()
      const all = tenants.at(tenant, now)
      const value = Math.min(0xffff_fffe, Math.max(0, Math.round(ageMs))) + 1
      all?.fine.set(now, QUEUE_AGE, value)
      all?.coarse.set(now, QUEUE_AGE, value)
    },
    rates(tenant) {
      const fine = tenants.all.get(tenant)?.fine
      const now = clock.now()
      const sum = (column: number) => fine?.sum(now, MINUTE_MS, column) ?? 0
      return {
        acceptedPerMinute: sum(ACCEPTED),
        donePerMinute: sum(DONE),
        failedPerMinute: sum(RETRIED) + sum(DEAD),
      }
    },
    stats(tenant, minutes) {
      const known = tenants.all.get(tenant)
      const spanMs = minutes * MINUTE_MS
      const isFine = spanMs <= FINE.stepMs * FINE.count
      const { stepMs } = isFine ? FINE : COARSE
      const now = clock.now()
      const count = Math.ceil(spanMs / stepMs)
      const from = (Math.floor(now / stepMs) - count + 1) * stepMs
      const ring = (isFine ? known?.fine : known?.coarse) ?? null
      const column = (index: number) => read(ring, from, count, index)
      const done = column(DONE)
      const latencyAt = isFine ? known?.fineLatency : known?.coarseLatency
      const latencies = done.map((total, bucket) => latencyAt?.(from, bucket, total) ?? null)
      const sums = (rings: Rings, index: number) =>
        (minutes <= 15 ? rings.fine : rings.coarse).sum(now, spanMs, index)
      return {
        stepMs,
        from,
        accepted: column(ACCEPTED),
        done,
        retried: column(RETRIED),
        dead: column(DEAD),
        latencyP50Ms: latencies.map((latency) => latency?.p50 ?? null),
        latencyP95Ms: latencies.map((latency) => latency?.p95 ?? null),
        queueAgeMs: column(QUEUE_AGE).map((value) => (value === 0 ? null : value - 1)),
        consumers: [...(known?.consumers.all ?? [])]
          .map(([consumer, rings]) => {
            const [ended, retried, dead] = [sums(rings, DONE), sums(rings, RETRIED), sums(rings, DEAD)]
            return { consumer, perMinute: perMinute(ended + dead, minutes), done: ended, retried, dead }
          })
          .filter((row) => row.done + row.retried + row.dead > 0)
          .sort((a, b) => b.perMinute - a.perMinute || (a.consumer < b.consumer ? -1 : 1)),
        sources: [...(known?.sources.all ?? [])]
          .map(([source, rings]) => {
            const accepted = sums(rings, ACCEPTED)
            return { source, perMinute: perMinute(accepted, minutes), accepted }
          })
          .filter(({ accepted }) => accepted > 0)
          .sort((a, b) => b.perMinute - a.perMinute || (a.source < b.source ? -1 : 1)),
      }
    },
  }
}

type Span = { readonly stepMs: number; readonly count: number }

function makeRings(fine: Span, coarse: Span, columns: number): Rings {
  return { fine: makeRing(fine, columns), coarse: makeRing(coarse, columns) }
}

function add(rings: Rings | null, now: Instant, column: number): void {
  rings?.fine.add(now, column)
  rings?.coarse.add(now, column)
}

function read(ring: Ring | null, from: Instant, count: number, column: number): number[] {
  return Array.from({ length: count }, (_, bucket) => ring?.get(from, bucket, column) ?? 0)
}

const perMinute = (total: number, minutes: number) => Math.round((total / minutes) * 100) / 100
