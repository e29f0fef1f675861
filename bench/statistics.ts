// The middle of several rounds, and how far they are apart.

export interface Spread {
  readonly median: number
  readonly smallest: number
  readonly largest: number
}

export function spreadOf(values: readonly number[], digits: number): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  const rounded = (value: number | undefined) => Number((value ?? Number.NaN).toFixed(digits))
  return { median: rounded(middle), smallest: rounded(sorted[0]), largest: rounded(sorted.at(-1)) }
}

/** null if some round did not have it. */
export function spreadOfKnown(values: readonly (number | null)[], digits: number): Spread | null {
  const known = values.filter((value) => value !== null)
  return known.length === values.length ? spreadOf(known, digits) : null
}

export function percentile(sorted: readonly number[], share: number): number | null {
  return sorted.length === 0 ? null : (sorted[Math.floor((sorted.length - 1) * share)] ?? null)
}
