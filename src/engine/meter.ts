// How much, how fast, how often in vain: counted per tenant, source and consumer in buckets of fixed size, in memory alone.
// A node counts what it does itself, from its start.
//
// Counting an event takes a few array writes; nothing is allocated but for a name that is new.

import type { TenantId } from '../core/ids/index.ts'
import type { Instant } from '../core/time/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Commit } from '../ports/store.ts'
import type { About } from './commits.ts'
import { BIN_COUNT, binOf, quantile } from './meter-bins.ts'
import { makeRing, type Ring } from './meter-ring.ts'

export interface Stats {
  readonly stepMs: number
  /** Begin of the first bucket. */
  readonly from: Instant
  readonly accepted: readonly number[]
  readonly done: readonly number[]
  readonly retried: readonly number[]
  readonly dead: readonly number[]
  /** From received to settled; null where nothing was done. */
  readonly latencyP50Ms: readonly (number | null)[]
  readonly latencyP95Ms: readonly (number | null)[]
  /** null where nobody looked. */
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
  /** Tries in vain, those that are repeated and those that are not. */
  readonly failedPerMinute: number
}

export interface Meter {
  applied(commit: Commit, at: Instant, about: About | null): void
  /** How long the oldest ready item has been due; kept where the last sample of its bucket stands. */
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
const TENANTS_MAX = 50
const NAMES_MAX = 500

// Columns of a tenant's rings; the bins of the latency follow.
const ACCEPTED = 0
const DONE = 1
const RETRIED = 2
const DEAD = 3
/** One more than the age, so that 0 is «nobody looked». */
const QUEUE_AGE = 4
const BINS = 5

interface Rings {
  readonly fine: Ring
  readonly coarse: Ring
}

interface Counted extends Rings {
  readonly sources: Map<string, Rings>
  readonly consumers: Map<string, Rings>
}

export function makeMeter({ clock }: { readonly clock: Pick<Clock, 'now'> }): Meter {
  const tenants = new Map<TenantId, Counted>()

  const counted = (tenant: TenantId): Counted => {
    const known = tenants.get(tenant)
    if (known !== undefined) return known
    // The one that was there first goes: which is the quietest is not worth knowing at every event.
    if (tenants.size >= TENANTS_MAX) tenants.delete(tenants.keys().next().value as TenantId)
    const made = { ...makeRings(FINE, COARSE, BINS + BIN_COUNT), sources: new Map(), consumers: new Map() }
    tenants.set(tenant, made)
    return made
  }
  const named = (names: Map<string, Rings>, name: string): Rings => {
    const known = names.get(name)
    if (known !== undefined) return known
    if (names.size >= NAMES_MAX) names.delete(names.keys().next().value as string)
    const made = makeRings(NAME_FINE, NAME_COARSE, BINS)
    names.set(name, made)
    return made
  }
  const settled = (tenant: TenantId, about: About, column: number, latencyMs: number, now: Instant) => {
    const all = counted(tenant)
    add(all, now, column)
    if (column === DONE) add(all, now, BINS + binOf(latencyMs))
    add(named(all.consumers, about.work.consumer), now, column)
  }

  return {
    applied({ tenant, writes }, at, about) {
      for (const write of writes) {
        if (write.w === 'event.append') {
          const now = clock.now()
          const all = counted(tenant)
          add(all, now, ACCEPTED)
          add(named(all.sources, write.event.source), now, ACCEPTED)
        } else if (about !== null && write.w === 'work.settle' && write.work === about.work.id) {
          if (write.to === 'parked' || write.to === 'cancelled') continue
          const column = write.to === 'dead' ? DEAD : DONE
          settled(tenant, about, column, at - about.event.receivedAt, clock.now())
        } else if (about !== null && write.w === 'attempt.append' && write.attempt.outcome === 'again') {
          settled(tenant, about, RETRIED, 0, clock.now())
        }
      }
    },
    queueAge(tenant, ageMs) {
      const all = counted(tenant)
      const value = Math.min(0xffff_fffe, Math.max(0, Math.round(ageMs))) + 1
      for (const ring of [all.fine, all.coarse]) ring.set(clock.now(), QUEUE_AGE, value)
    },
    rates(tenant) {
      const fine = tenants.get(tenant)?.fine
      const now = clock.now()
      const sum = (column: number) => fine?.sum(now, MINUTE_MS, column) ?? 0
      return {
        acceptedPerMinute: sum(ACCEPTED),
        donePerMinute: sum(DONE),
        failedPerMinute: sum(RETRIED) + sum(DEAD),
      }
    },
    stats(tenant, minutes) {
      const known = tenants.get(tenant)
      const spanMs = minutes * MINUTE_MS
      const isFine = spanMs <= FINE.stepMs * FINE.count
      const { stepMs } = isFine ? FINE : COARSE
      const now = clock.now()
      const count = Math.ceil(spanMs / stepMs)
      const from = (Math.floor(now / stepMs) - count + 1) * stepMs
      const ring = (isFine ? known?.fine : known?.coarse) ?? null
      const column = (index: number) => read(ring, from, count, index)
      const bins = Array.from({ length: BIN_COUNT }, (_, bin) => column(BINS + bin))
      const at = (part: number) => (_: unknown, bucket: number) =>
        quantile(
          bins.map((values) => values[bucket] as number),
          part,
        )
      const buckets = Array.from({ length: count })
      const sums = (rings: Rings, index: number) =>
        (minutes <= 15 ? rings.fine : rings.coarse).sum(now, spanMs, index)
      return {
        stepMs,
        from,
        accepted: column(ACCEPTED),
        done: column(DONE),
        retried: column(RETRIED),
        dead: column(DEAD),
        latencyP50Ms: buckets.map(at(0.5)),
        latencyP95Ms: buckets.map(at(0.95)),
        queueAgeMs: column(QUEUE_AGE).map((value) => (value === 0 ? null : value - 1)),
        consumers: [...(known?.consumers ?? [])]
          .map(([consumer, rings]) => {
            const [done, retried, dead] = [sums(rings, DONE), sums(rings, RETRIED), sums(rings, DEAD)]
            return { consumer, perMinute: perMinute(done + dead, minutes), done, retried, dead }
          })
          .filter(({ done, retried, dead }) => done + retried + dead > 0)
          .sort((a, b) => b.perMinute - a.perMinute || (a.consumer < b.consumer ? -1 : 1)),
        sources: [...(known?.sources ?? [])]
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

function add({ fine, coarse }: Rings, now: Instant, column: number): void {
  fine.add(now, column)
  coarse.add(now, column)
}

function read(ring: Ring | null, from: Instant, count: number, column: number): number[] {
  return Array.from({ length: count }, (_, bucket) => ring?.get(from, bucket, column) ?? 0)
}

const perMinute = (total: number, minutes: number) => Math.round((total / minutes) * 100) / 100
