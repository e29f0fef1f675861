// How long something takes, in words.

export const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

export function formatDuration(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 1) return '<1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const index = UNITS.findIndex(([, size]) => ms >= size)
  const [unit, size] = UNITS[index] ?? ['s', 1_000]
  const whole = Math.floor(ms / size)
  const next = UNITS[index + 1]
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1])
  return next !== undefined && rest > 0 && whole < 10
    ? `${whole} ${unit} ${rest} ${next[0]}`
    : `${whole} ${unit}`
}

/** One number and one unit, for axes. */
export function formatDurationShort(ms: number): string {
  const [unit, size] = UNITS.find(([, unitMs]) => ms >= unitMs) ?? ['ms', 1]
  return ms === 0 ? '0' : `${Number((ms / size).toFixed(1))} ${unit}`
}
