import { expect, test } from 'vitest'
import type { Stats } from '../types.ts'
import { makeCharts } from './stats.ts'

const LENGTH = 180
const from = '2026-03-02T08:00:00.000Z'

/** A quarter of an hour in steps of five seconds, empty except for what is given. */
function statsOf(part: Partial<Record<keyof Stats, Readonly<Record<number, number>>>>): Stats {
  const values = (name: keyof Stats, otherwise: number | null) =>
    Array.from({ length: LENGTH }, (_, index) => part[name]?.[index] ?? otherwise)
  return {
    stepMs: 5_000,
    from,
    accepted: values('accepted', 0),
    done: values('done', 0),
    retried: values('retried', 0),
    dead: values('dead', 0),
    latencyP50Ms: values('latencyP50Ms', null),
    latencyP95Ms: values('latencyP95Ms', null),
    queueAgeMs: values('queueAgeMs', 0),
    consumers: [],
    sources: [],
  } as unknown as Stats
}

test('a node that has just started shows its first minutes, a little before them, and at least two', () => {
  const early = makeCharts(statsOf({ accepted: { 40: 5 } }))
  expect(early.times[0]).toBe(Date.parse(from) / 1_000 + (40 - 4) * 5)
  const late = makeCharts(statsOf({ accepted: { 178: 5 } }))
  expect(late.times[0]).toBe(Date.parse(from) / 1_000 + (LENGTH - 1 - 24) * 5)
})

test('the running step is left out: it is not a drop', () => {
  const charts = makeCharts(statsOf({ accepted: { 177: 10, 178: 10, 179: 1 } }))
  expect(charts.throughput[0]?.values.slice(-2)).toEqual([120, 120])
})

test('without anything to show the whole span is shown', () => {
  expect(makeCharts(statsOf({})).times[0]).toBe(Date.parse(from) / 1_000)
})

test('counts become rates per minute, also if steps are combined', () => {
  const few = makeCharts(statsOf({ accepted: { 150: 10 } }))
  expect(Math.max(...few.throughput[0]!.values.map(Number))).toBe(120)
  const many = makeCharts(statsOf({ accepted: { 0: 10, 1: 10 } }))
  expect(many.times).toHaveLength(90)
  expect(many.throughput[0]?.values[0]).toBe(120)
})

test('of several steps the median latency, and the worst of bad values, are kept; missing measurements stay a gap', () => {
  const charts = makeCharts(
    statsOf({
      accepted: { 0: 1 },
      latencyP50Ms: { 0: 10, 1: 30 },
      latencyP95Ms: { 0: 50, 1: 90 },
      queueAgeMs: { 0: 7, 1: 3 },
    }),
  )
  expect(charts.latency.map(({ values }) => values[0])).toEqual([30, 90])
  expect(charts.latency.map(({ values }) => values[1])).toEqual([null, null])
  expect(charts.queueAge[0]?.values[0]).toBe(7)
})
