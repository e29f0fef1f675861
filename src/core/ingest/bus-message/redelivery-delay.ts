// When a message that could not be stored is redelivered: soon at first, and once a minute in the end.

const FIRST_MS = 500
const MAX_MS = 60_000

/** `deliveries`: how often it was delivered, including this time. `jitter` in [0, 1): nodes do not retry all at once. */
export function againAfterMs(deliveries: number, jitter: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(Math.max(deliveries, 1) - 1, 10)
  return Math.round(Math.min(doubled, MAX_MS) * (0.75 + jitter / 2))
}
