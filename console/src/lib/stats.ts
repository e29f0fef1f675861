// What the charts draw, from the node's measurements: few enough points to see a shape, per minute if it is a rate.

import type { Stats } from '../types.ts'
import type { Series } from '../ui/chart.tsx'

const POINTS_MAX = 90
/** A node that has just started shows its first minutes, not the empty ones before. */
const SPAN_MS_MIN = 120_000

type Values = readonly (number | null)[]

const isNumber = (value: number | null): value is number => value !== null
const total = (values: Values): number => values.filter(isNumber).reduce((sum, value) => sum + value, 0)
const largest = (values: Values): number | null => {
  const numbers = values.filter(isNumber)
  return numbers.length === 0 ? null : Math.max(...numbers)
}
const middle = (values: Values): number | null => {
  const numbers = values.filter(isNumber).sort((a, b) => a - b)
  return numbers[Math.floor(numbers.length / 2)] ?? null
}

export function makeCharts(stats: Stats): {
  readonly times: readonly number[]
  readonly throughput: readonly Series[]
  readonly latency: readonly Series[]
  readonly queueAge: readonly Series[]
} {
  // The last step still runs: half of it would look like a drop.
  const length = Math.max(1, stats.accepted.length - 1)
  const firstUsed = [...stats.accepted.keys()].find(
    (index) =>
      (stats.accepted[index] ?? 0) + (stats.done[index] ?? 0) > 0 || (stats.queueAgeMs[index] ?? 0) > 0,
  )
  const lead = Math.ceil(20_000 / stats.stepMs)
  const latestBegin = Math.max(0, length - Math.ceil(SPAN_MS_MIN / stats.stepMs))
  const begin = firstUsed === undefined ? 0 : Math.min(latestBegin, Math.max(0, firstUsed - lead))
  const size = Math.max(1, Math.ceil((length - begin) / POINTS_MAX))
  const begins: number[] = []
  for (let index = begin; index < length; index += size) begins.push(index)
  const gather = (values: Values, by: (part: Values) => number | null) =>
    begins.map((index) => by(values.slice(index, Math.min(length, index + size))))
  const perMinute = (values: Values) =>
    begins.map((index) => {
      const part = values.slice(index, Math.min(length, index + size))
      return (total(part) * 60_000) / (stats.stepMs * Math.max(1, part.length))
    })
  const from = Date.parse(stats.from)
  return {
    times: begins.map((index) => (from + index * stats.stepMs) / 1_000),
    throughput: [
      { label: 'accepted', values: perMinute(stats.accepted), colour: 'accent' },
      { label: 'done', values: perMinute(stats.done), colour: 'green-dot' },
      { label: 'retried', values: perMinute(stats.retried), colour: 'violet-dot' },
      { label: 'dead', values: perMinute(stats.dead), colour: 'red-dot' },
    ],
    latency: [
      { label: 'p50', values: gather(stats.latencyP50Ms, middle), colour: 'accent' },
      { label: 'p95', values: gather(stats.latencyP95Ms, largest), colour: 'violet-dot' },
    ],
    queueAge: [{ label: 'oldest', values: gather(stats.queueAgeMs, largest), colour: 'amber-dot' }],
  }
}
