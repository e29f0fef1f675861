// The median and the tail of latencies per bucket. A bucket in the past does not change any more, so each is computed once
// however many readers there are: only the current one costs something.

import type { Instant } from '../../core/foundation/time/index.ts'
import { BIN_COUNT, quantile } from './meter-bins.ts'
import type { Ring } from './meter-ring.ts'

export interface Latency {
  readonly p50: number | null
  readonly p95: number | null
}

const NOTHING: Latency = { p50: null, p95: null }

/** `firstBin` is the column where the bins begin; `done` says how many they hold together. */
export function makeLatencies(
  ring: Pick<Ring, 'get'>,
  { stepMs, count }: { readonly stepMs: number; readonly count: number },
  firstBin: number,
) {
  const known = new Map<number, { readonly done: number; readonly latency: Latency }>()
  const compute = (from: Instant, bucket: number): Latency => {
    const bins = Array.from({ length: BIN_COUNT }, (_, bin) => ring.get(from, bucket, firstBin + bin))
    return { p50: quantile(bins, 0.5), p95: quantile(bins, 0.95) }
  }
  return (from: Instant, bucket: number, done: number): Latency => {
    if (done === 0) return NOTHING
    const number = Math.floor(from / stepMs) + bucket
    const cached = known.get(number)
    // The count shows whether the bucket is still the same, also after a clock has stepped back.
    if (cached?.done === done) return cached.latency
    const latency = compute(from, bucket)
    if (known.size >= 2 * count) known.clear()
    known.set(number, { done, latency })
    return latency
  }
}
