// Counters in buckets of equal length over a recent window: a ring of fixed size whose old buckets are cleared when they are
// reused. Memory is allocated page by page, when it is first used: a ring that counts little stays small.

import type { Instant } from '../../core/foundation/time/index.ts'

export interface Ring {
  add(now: Instant, column: number): void
  set(now: Instant, column: number, value: number): void
  /** The value of the bucket that is `bucket` steps after the one of `from`; 0 if it is in the past or the future. */
  get(from: Instant, bucket: number, column: number): number
  /** Over the buckets that began within `spanMs`. */
  sum(now: Instant, spanMs: number, column: number): number
  /** Everything that it counted is outside its window. */
  isIdle(now: Instant): boolean
}

interface Page {
  readonly values: Uint32Array
  /** Which bucket of all time is in a slot; one more than its number, so that 0 is none. */
  readonly holds: Float64Array
}

const PAGE_SLOTS = 32

export function makeRing(
  { stepMs, count }: { readonly stepMs: number; readonly count: number },
  columns: number,
): Ring {
  const pages: (Page | undefined)[] = new Array(Math.ceil(count / PAGE_SLOTS)).fill(undefined)
  let newest = Number.NEGATIVE_INFINITY

  const makePage = (index: number): Page => {
    const page = { values: new Uint32Array(PAGE_SLOTS * columns), holds: new Float64Array(PAGE_SLOTS) }
    pages[index] = page
    return page
  }
  const put = (now: Instant, column: number, value: number, isMore: boolean): void => {
    const bucket = Math.floor(now / stepMs)
    // A clock that steps back a little continues counting in the newest bucket; after a jump it starts again.
    if (bucket > newest || newest - bucket >= count) newest = bucket
    const slot = newest % count
    const index = Math.floor(slot / PAGE_SLOTS)
    const { values, holds } = pages[index] ?? makePage(index)
    const row = slot % PAGE_SLOTS
    if (holds[row] !== newest + 1) {
      holds[row] = newest + 1
      values.fill(0, row * columns, (row + 1) * columns)
    }
    const at = row * columns + column
    values[at] = isMore ? (values[at] as number) + value : value
  }
  const at = (bucket: number, column: number): number => {
    const slot = ((bucket % count) + count) % count
    const page = pages[Math.floor(slot / PAGE_SLOTS)]
    const row = slot % PAGE_SLOTS
    return page?.holds[row] === bucket + 1 ? (page.values[row * columns + column] as number) : 0
  }
  return {
    add: (now, column) => put(now, column, 1, true),
    set: (now, column, value) => put(now, column, value, false),
    get: (from, bucket, column) => at(Math.floor(from / stepMs) + bucket, column),
    sum(now, spanMs, column) {
      const last = Math.floor(now / stepMs)
      const first = last - Math.min(count, Math.ceil(spanMs / stepMs)) + 1
      let total = 0
      for (let bucket = first; bucket <= last; bucket += 1) total += at(bucket, column)
      return total
    },
    isIdle: (now) => Math.abs(Math.floor(now / stepMs) - newest) >= count,
  }
}
