// "Since when", as users write it: an event’s id, a moment, or how long ago.

import { isCalendarDate, parseInstant } from '../core/foundation/time/index.ts'
import { usageError } from './failure.ts'

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

export function parseSince(text: string, now: number): { readonly id: string } | { readonly at: number } {
  if (/^evt_[\w-]+$/.test(text)) return { id: text }
  return { at: parseMoment(text, now) }
}

/** `10m`, `2h`, `7d`; or a date, with or without a time. A time without a zone is in the zone of this machine. */
export function parseMoment(text: string, now: number): number {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) return now - Number(ago[1]) * (UNITS[ago[2] as string] as number)
  // `Date.parse` reads 30 February as 2 March, and the hour 24 as the next day.
  const isReal = isCalendarDate(text.slice(0, 10)) && !/^.{10}T24/i.test(text)
  const at = isReal ? (parseInstant(text) ?? Date.parse(text)) : Number.NaN
  if (Number.isNaN(at)) {
    throw usageError(
      `‘${text}’ is not a time`,
      'Write how long ago, such as 10m or 2h, or 2026-03-02T08:00Z.',
    )
  }
  return at
}

/** As the API takes it; undefined stays undefined. */
export function momentText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : new Date(parseMoment(text, Date.now())).toISOString()
}

/** `30m`, `2h`: this much after now. */
export function parseAhead(text: string, now: number): number {
  const ahead = /^(\d{1,6})([smhd])$/.exec(text)
  if (ahead === null) throw usageError(`‘${text}’ is not a duration`, 'Write it as 30m, 2h or 1d.')
  return now + Number(ahead[1]) * (UNITS[ahead[2] as string] as number)
}
