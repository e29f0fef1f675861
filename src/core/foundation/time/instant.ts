// Parses external instants in RFC 3339 format, strictly: a day that its month does not have or the hour 24 is refused, where
// `Date.parse` would return a different instant.

import type { Instant } from './time-units.ts'

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
/** Seconds are optional, as users often omit them. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2})(?::(\d{2})(\.\d+)?)?(Z|([+-])(\d{2}):(\d{2}))$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
const LAST_MINUTE_OF_DAY = 23 * 60 + 59
const MINUTES_PER_DAY = 24 * 60

/** Whether the calendar has the day: `2026-02-28`, not `2026-02-30`. */
export function isCalendarDate(text: string): boolean {
  const match = DATE.exec(text)
  if (match === null) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0)
  return day >= 1 && day <= days
}

/**
 * null: invalid. A leap second (`23:59:60Z`, or the same with another offset) is the last millisecond of its day: instants
 * count no leap seconds, so it stays on its day and before everything of the next one.
 */
export function parseInstant(text: string): Instant | null {
  const match = INSTANT.exec(text.toUpperCase())
  if (match === null) return null
  const [
    ,
    date = '',
    hour = '',
    minute = '',
    second = '00',
    fraction = '',
    zone = '',
    sign,
    offsetHour,
    offsetMinute,
  ] = match
  if (!isCalendarDate(date) || Number(hour) > 23 || Number(minute) > 59) return null
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return null
  if (Number(second) < 60)
    return Date.parse(`${date}T${hour}:${minute}:${second}${fraction.slice(0, 4)}${zone}`)
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * (sign === '-' ? -1 : 1)
  const minuteInUtc = Number(hour) * 60 + Number(minute) - offset
  const isLastOfDay = (minuteInUtc + MINUTES_PER_DAY) % MINUTES_PER_DAY === LAST_MINUTE_OF_DAY
  return Number(second) === 60 && isLastOfDay ? Date.parse(`${date}T${hour}:${minute}:59.999${zone}`) : null
}
