// Counters in buckets of equal length over the last while: a ring of fixed size whose old buckets are wiped as time
// comes round to them.

import type { Instant } from '../core/time/index.ts'

export interface Ring {
  add(now: Instant, column: number): void
  set(now: Instant, column: number, value: number): void
  /** The value of the bucket that lies `bucket` steps after the one of `from`; 0 when it is gone or to come. */
  get(from: Instant, bucket: number, column: number): number
  /** Over the buckets that began within `spanMs`. */
  sum(now: Instant, spanMs: number, column: number): number
}

export function makeRing(
  { stepMs, count }: { readonly stepMs: number; readonly count: number },
  columns: number,
): Ring {
  const values = new Uint32Array(count * columns)
  /** Which bucket of all time lies in a slot; one more than its number, so that 0 is none. */
  const holds = new Float64Array(count)
  let newest = Number.NEGATIVE_INFINITY

  const slotFor = (now: Instant): number => {
    const bucket = Math.floor(now / stepMs)
    // A clock that steps back a little goes on counting in the newest bucket; one that jumped begins anew.
    if (bucket > newest || newest - bucket >= count) newest = bucket
    const slot = newest % count
    if (holds[slot] !== newest + 1) {
      holds[slot] = newest + 1
      values.fill(0, slot * columns, (slot + 1) * columns)
    }
    return slot * columns
  }
  const at = (bucket: number, column: number): number => {
    const slot = ((bucket % count) + count) % count
    return holds[slot] === bucket + 1 ? (values[slot * columns + column] as number) : 0
  }
  return {
    add(now, column) {
      const index = slotFor(now) + column
      values[index] = (values[index] as number) + 1
    },
    set(now, column, value) {
      values[slotFor(now) + column] = value
    },
    get: (from, bucket, column) => at(Math.floor(from / stepMs) + bucket, column),
    sum(now, spanMs, column) {
      const last = Math.floor(now / stepMs)
      const first = last - Math.min(count, Math.ceil(spanMs / stepMs)) + 1
      let total = 0
      for (let bucket = first; bucket <= last; bucket += 1) total += at(bucket, column)
      return total
    },
  }
}
