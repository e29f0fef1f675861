// Durations and sizes as definitions write them: `30s`, `1MiB`. Integers, one unit.

const DURATIONS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const
const SIZES: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
])
const AMOUNT = /^(\d{1,16})([A-Za-z]+)$/

function parseAmount(text: string, units: ReadonlyMap<string, number>): number | null {
  const match = AMOUNT.exec(text)
  const unit = units.get(match?.[2] ?? '')
  if (unit === undefined) return null
  const amount = Number(match?.[1]) * unit
  return Number.isSafeInteger(amount) ? amount : null
}

const DURATION_UNITS: ReadonlyMap<string, number> = new Map(DURATIONS)

/** Milliseconds, or null when it is not a duration. */
export function parseDuration(text: string): number | null {
  return parseAmount(text, DURATION_UNITS)
}

/** In the largest unit without loss, so that it parses back to the same number. */
export function formatDuration(durationMs: number): string {
  for (const [unit, size] of DURATIONS) {
    if (durationMs !== 0 && durationMs % size === 0) return `${durationMs / size}${unit}`
  }
  return `${durationMs}ms`
}

/** Bytes, or null when it is not a size. Only binary units: `1MB` is ambiguous. */
export function parseSize(text: string): number | null {
  return parseAmount(text, SIZES)
}
