// Instants as the browser's own field gives and takes them: the user's local time, without a zone.

export const HOUR_MS = 3_600_000

export function toInstant(local: string): string | undefined {
  const at = local === '' ? Number.NaN : Date.parse(local)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** Down to the minute, so that nothing of that minute is missed. */
export function toLocal(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function localAgo(agoMs: number): string {
  return toLocal(Date.now() - agoMs)
}
