// Durations in bins that grow by half an octave each: from a millisecond to hours in few numbers, and a quantile that is off by
// a fifth at most.

/** The last one holds all that is longer: from about fifty minutes. */
export const BIN_COUNT = 44
const PER_OCTAVE = 2

export function binOf(durationMs: number): number {
  if (durationMs < 1) return 0
  return Math.min(BIN_COUNT - 1, 1 + Math.floor(Math.log2(durationMs) * PER_OCTAVE))
}

/** The middle of a bin, by ratio. */
function durationOf(bin: number): number {
  if (bin === 0) return 0
  return Math.round(2 ** ((bin - 0.5) / PER_OCTAVE) * 10) / 10
}

/** null when nothing was counted. */
export function quantile(counts: readonly number[], part: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = Math.max(1, Math.ceil(total * part))
  for (let bin = 0; bin < counts.length; bin += 1) {
    left -= counts[bin] as number
    if (left <= 0) return durationOf(bin)
  }
  return durationOf(counts.length - 1)
}
