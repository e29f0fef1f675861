import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../core/events/event/index.ts'
import type { DeadLetterId, EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { EMPTY_NOTE, type SettledState } from '../../core/queue/work/index.ts'
import type { Write } from '../../ports/store.ts'
import { makeMeter } from './meter.ts'
import { BIN_COUNT, binOf, quantile } from './meter-bins.ts'
import { makeLatencies } from './meter-latency.ts'
import { makeRing } from './meter-ring.ts'

const TENANT = 'default' as TenantId
const START = 1_700_000_000_000

function makeCounted() {
  let now = START
  const meter = makeMeter({ clock: { now: () => now } })
  const about = (consumer: string, receivedAt: number) => ({
    work: {
      id: 'wrk_1' as WorkId,
      eventId: 'evt_1' as EventId,
      consumer,
      createdAt: 0,
      replayOf: null,
    },
    event: { receivedAt },
  })
  const apply = (writes: readonly Write[], of: ReturnType<typeof about> | null = null, tenant = TENANT) =>
    meter.applied({ tenant, guards: [], writes }, now, of)
  return {
    meter,
    move: (ms: number) => {
      now += ms
    },
    accept: (source = 'shop', tenant = TENANT) =>
      apply([{ w: 'event.append', dedupForMs: 1, event: { source } as NewEvent }], null, tenant),
    settle: (to: SettledState, latencyMs = 10, consumer = 'route:book') =>
      apply(
        [
          {
            w: 'work.settle',
            work: 'wrk_1' as WorkId,
            to,
            counters: { attempts: 1, waits: 0, losses: 0 },
            note: EMPTY_NOTE,
          },
        ],
        about(consumer, now - latencyMs),
      ),
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

test('[FD12] the latency of a replay counts from the replay', () => {
  const { meter, move } = makeCounted()
  const work = {
    id: 'wrk_2' as WorkId,
    eventId: 'evt_1' as EventId,
    consumer: 'route:book',
    createdAt: START - 100,
    replayOf: 'dlq_1' as DeadLetterId,
  }
  const settle: Write = {
    w: 'work.settle',
    work: work.id,
    to: 'done',
    counters: { attempts: 1, waits: 0, losses: 0 },
    note: EMPTY_NOTE,
  }
  const about = { work, event: { receivedAt: START - 86_400_000 } }
  meter.applied({ tenant: TENANT, guards: [], writes: [settle] }, START, about)
  move(1)
  const latencies = meter.stats(TENANT, 1).latencyP95Ms.filter((value) => value !== null)
  expect(latencies).toHaveLength(1)
  expect(latencies[0]).toBeLessThan(200)
})

describe('[FD4] the meter', () => {
  test('counts into the bucket of its time, and forgets what is older than the window', () => {
    const { meter, accept, settle, move } = makeCounted()
    accept()
    accept('mail')
    settle('done')
    move(2_000)
    accept()
    const stats = meter.stats(TENANT, 15)
    expect(stats.stepMs).toBe(2_000)
    expect(stats.accepted).toHaveLength(450)
    expect(stats.accepted.slice(-2)).toEqual([2, 1])
    expect(stats.done.slice(-2)).toEqual([1, 0])
    expect(stats.from).toBe(START + 2_000 - 449 * 2_000)
    expect(stats.sources).toMatchObject([
      { source: 'shop', accepted: 2 },
      { source: 'mail', accepted: 1 },
    ])
    move(16 * 60_000)
    const later = meter.stats(TENANT, 15)
    expect(sum(later.accepted)).toBe(0)
    expect(later.consumers).toEqual([])
    const day = meter.stats(TENANT, 24 * 60)
    expect(day.stepMs).toBe(60_000)
    expect([sum(day.accepted), sum(day.done)]).toEqual([3, 1])
    expect(day.consumers).toMatchObject([{ consumer: 'route:book', done: 1 }])
    move(25 * 3_600_000)
    expect(sum(meter.stats(TENANT, 24 * 60).accepted)).toBe(0)
  })

  test('separates tenants, and has nothing for one that did nothing', () => {
    const { meter, accept } = makeCounted()
    accept('shop', 'other' as TenantId)
    expect(sum(meter.stats(TENANT, 15).accepted)).toBe(0)
    expect(meter.stats(TENANT, 15).sources).toEqual([])
    expect(meter.rates('other' as TenantId).acceptedPerMinute).toBe(1)
    expect(meter.rates(TENANT)).toEqual({ acceptedPerMinute: 0, donePerMinute: 0, failedPerMinute: 0 })
  })

  test('counts neither parked nor cancelled jobs as done', () => {
    const { meter, settle } = makeCounted()
    for (const to of ['parked', 'cancelled', 'skipped', 'merged', 'dead'] as const) settle(to)
    expect(meter.rates(TENANT)).toEqual({ acceptedPerMinute: 0, donePerMinute: 2, failedPerMinute: 1 })
  })

  test('shows the median and the tail of latencies', () => {
    const { meter, settle } = makeCounted()
    for (let count = 0; count < 94; count += 1) settle('done', 20)
    for (let count = 0; count < 6; count += 1) settle('done', 4_000)
    const { latencyP50Ms, latencyP95Ms } = meter.stats(TENANT, 15)
    expect(latencyP50Ms.at(-1)).toBeGreaterThan(16)
    expect(latencyP50Ms.at(-1)).toBeLessThan(24)
    expect(latencyP95Ms.at(-1)).toBeGreaterThan(3_200)
    expect(latencyP95Ms.at(-1)).toBeLessThan(4_800)
    expect(latencyP50Ms.at(0)).toBeNull()
  })

  test('keeps the age of the queue where it was sampled', () => {
    const { meter, move } = makeCounted()
    meter.queueAge(TENANT, 0)
    move(4_000)
    meter.queueAge(TENANT, 1_234.4)
    expect(meter.stats(TENANT, 15).queueAgeMs.slice(-3)).toEqual([0, null, 1_234])
  })

  test('[FD9] has a limit for names, and continues with those that it counts', () => {
    const { meter, accept, settle, move } = makeCounted()
    const both = (count: number) => {
      accept(`source-${count}`)
      settle('done', 1, `route:${count}`)
    }
    for (let count = 0; count < 600; count += 1) both(count)
    both(0)
    const { sources, consumers } = meter.stats(TENANT, 15)
    expect([sources.length, consumers.length]).toEqual([500, 500])
    expect([sources[0], consumers[0]]).toMatchObject([
      { source: 'source-0', accepted: 2 },
      { consumer: 'route:0', done: 2 },
    ])
    // A day later none of them is in the window any more, and there is room.
    move(25 * 3_600_000)
    both(599)
    expect(meter.stats(TENANT, 15).sources).toMatchObject([{ source: 'source-599', accepted: 1 }])
  })

  test('[FD9] has a limit for tenants: one that is counted is dropped only after it was idle for a day', () => {
    const { meter, accept, move } = makeCounted()
    const tenant = (count: number) => `tenant-${count}` as TenantId
    const rate = (count: number) => meter.rates(tenant(count)).acceptedPerMinute
    const round = (tenants: number) => {
      for (let count = 0; count < tenants; count += 1) accept('shop', tenant(count))
    }
    round(120)
    round(120)
    expect([rate(0), rate(99), rate(100), rate(119)]).toEqual([2, 2, 0, 0])
    meter.queueAge(tenant(119), 5)
    expect(meter.stats(tenant(119), 15).queueAgeMs.at(-1)).toBeNull()
    move(23 * 3_600_000)
    round(99)
    accept('shop', tenant(119))
    expect(rate(119)).toBe(0)
    move(2 * 3_600_000)
    accept('shop', tenant(119))
    // The only one that was idle for longer than the window.
    expect([rate(119), meter.stats(tenant(98), 1_440).accepted.at(-121)]).toEqual([1, 1])
    expect(meter.stats(tenant(99), 1_440).sources).toEqual([])
  })

  test('[FD9] a tenant that does little takes little memory', () => {
    const { accept } = makeCounted()
    const before = process.memoryUsage().arrayBuffers
    for (let count = 0; count < 50; count += 1) accept('shop', `tenant-${count}` as TenantId)
    expect((process.memoryUsage().arrayBuffers - before) / 50).toBeLessThan(40_000)
  })
})

test('[FD4] a ring returns what was counted within its window, however time moves on', () => {
  const steps = fc.array(fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), count: fc.nat({ max: 3 }) }))
  fc.assert(
    fc.property(steps, (moves) => {
      const ring = makeRing({ stepMs: 100, count: 20 }, 2)
      let now = START
      const all: number[] = []
      for (const { ms, count } of moves) {
        now += ms
        for (let one = 0; one < count; one += 1) {
          ring.add(now, 1)
          all.push(now)
        }
        const first = (Math.floor(now / 100) - 19) * 100
        expect(ring.sum(now, 2_000, 1)).toBe(all.filter((at) => at >= first).length)
        expect(ring.sum(now, 2_000, 0)).toBe(0)
      }
    }),
  )
})

test('[FD4] a clock that steps back does not clear what was counted', () => {
  const ring = makeRing({ stepMs: 100, count: 10 }, 1)
  ring.add(START, 0)
  ring.add(START - 250, 0)
  expect(ring.sum(START, 1_000, 0)).toBe(2)
})

test('[FD4] a quantile is off by a fifth at most', () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 2_000_000 })), (ms) => {
      const counts = new Array(BIN_COUNT).fill(0)
      counts[binOf(ms)] = 1
      const shown = quantile(counts, 0.5) as number
      expect(Math.abs(shown - ms) / ms).toBeLessThan(0.2001)
    }),
  )
  expect(quantile([0, 0], 0.5)).toBeNull()
})

test('[FD11] the latency of a bucket is computed once, and again when it has changed', () => {
  let gets = 0
  const span = { stepMs: 1_000, count: 10 }
  const ring = makeRing(span, BIN_COUNT)
  const get: typeof ring.get = (...args) => {
    gets += 1
    return ring.get(...args)
  }
  const latencyAt = makeLatencies({ get }, span, 0)
  for (let bucket = 0; bucket < 10; bucket += 1) ring.add(START + bucket * 1_000, binOf(100))
  const look = () => Array.from({ length: 10 }, (_, bucket) => latencyAt(START, bucket, 1).p50)
  expect(new Set(look())).toEqual(new Set([quantile(binsOf(100), 0.5)]))
  const once = gets
  expect(look()).toHaveLength(10)
  expect(gets).toBe(once)
  ring.add(START + 9_000, binOf(1_000))
  expect(latencyAt(START, 9, 2).p95).toBe(quantile(binsOf(1_000), 0.5))
  expect(latencyAt(START, 3, 0)).toEqual({ p50: null, p95: null })
})

function binsOf(durationMs: number): number[] {
  return Array.from({ length: BIN_COUNT }, (_, bin) => (bin === binOf(durationMs) ? 1 : 0))
}
