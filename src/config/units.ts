// Durations and sizes as users write them: 250ms, 30s, 5m, 2h, 7d; 512B, 64KiB, 1MiB.

const DURATION_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const SIZE_BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 }

export function parseDuration(text: string): number | null {
  return parseUnits(text, /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/, DURATION_MS)
}

export function parseSize(text: string): number | null {
  return parseUnits(text, /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB)$/, SIZE_BYTES)
}

function parseUnits(text: string, pattern: RegExp, units: Readonly<Record<string, number>>): number | null {
  const match = pattern.exec(text)
  if (match === null) return null
  return Math.round(Number(match[1]) * (units[match[2] as string] as number))
}
