// The slots of a schedule: a cron expression of five fields in a time zone, as instants. croner does the calendar; every call
// passes an instant, so that it never reads the machine's clock.
//
// Invariants: the slots of a schedule are one growing sequence, whatever the starting instant. At daylight-saving changes, a
// schedule of one minute and one hour fires once a day: at the end of the gap in spring, at the first of the two hours in
// autumn. Any other follows the elapsed hours.

import { Cron } from 'croner'
import type { Instant } from '../../foundation/time/index.ts'

export interface Slots {
  /** The first one after `at`. */
  next(at: Instant): Instant | null
  /** Those after `after` up to `now`, the newest `max` of them, oldest first; `isCapped`: there were more. */
  due(
    after: Instant,
    now: Instant,
    max: number,
  ): { readonly slots: readonly Instant[]; readonly isCapped: boolean }
}

export interface CronProblem {
  readonly field: 'cron' | 'zone'
  /** What to do about it. */
  readonly message: string
}

export type CronResult =
  | { readonly ok: true; readonly slots: Slots }
  | { readonly ok: false; readonly problem: CronProblem }

const FIELDS = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const
const TEXT_LENGTH_MAX = 256
/** `?` would mean the time of parsing. */
const FIELD = /^[0-9A-Za-z*,/#-]+$/
const ZONE = /^[A-Za-z][A-Za-z0-9_+/-]*$/
/** Every date that exists occurs within forty years. */
const LOOKED_FROM = Date.UTC(2024, 0, 1)
const SECOND_MS = 1_000

/** Instants `everyMs` apart, at multiples of it since the epoch. */
export function everySlots(everyMs: number): Slots {
  const next = (at: Instant) => (Math.floor(at / everyMs) + 1) * everyMs
  return {
    next,
    due(after, now, max) {
      const last = Math.floor(now / everyMs)
      const count = Math.max(0, last - Math.floor(after / everyMs))
      const taken = Math.min(count, max)
      const slots = Array.from({ length: taken }, (_, at) => (last - taken + 1 + at) * everyMs)
      return { slots, isCapped: count > max }
    },
  }
}

export function compileCron(cron: string, zone: string): CronResult {
  if (!isZone(zone)) {
    return refuse('zone', 'it is not a time zone; write a name of the IANA list, such as `Europe/Berlin`')
  }
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== FIELDS.length || cron.length > TEXT_LENGTH_MAX) {
    return refuse('cron', 'write five fields: minute, hour, day of the month, month, day of the week')
  }
  for (const [index, field] of fields.entries()) {
    const alone = FIELDS.map((_, at) => (at === index ? field : '*')).join(' ')
    if (!FIELD.test(field) || open(alone, zone) === null) {
      return refuse('cron', `\`${field}\` is not possible as the ${FIELDS[index]}`)
    }
  }
  const opened = open(fields.join(' '), zone)
  if (opened === null) return refuse('cron', 'it cannot be read as a cron expression')
  const slots = slotsOf(opened)
  if (slots.next(LOOKED_FROM) === null) {
    return refuse('cron', 'no date fits it; look at the day and the month')
  }
  return { ok: true, slots }
}

function refuse(field: CronProblem['field'], message: string): CronResult {
  return { ok: false, problem: { field, message } }
}

function isZone(zone: string): boolean {
  if (!ZONE.test(zone)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

function open(pattern: string, zone: string): Cron | null {
  try {
    return new Cron(pattern, { timezone: zone, mode: '5-part', paused: true })
  } catch {
    return null
  }
}

function slotsOf(cron: Cron): Slots {
  const next = (at: Instant) => cron.nextRun(new Date(at))?.getTime() ?? null
  return {
    next,
    due(after, now, max) {
      const slots: Instant[] = []
      for (let slot = next(after); slot !== null && slot <= now; slot = next(slot)) {
        if (slots.length === max) return { slots: newest(cron, now, max), isCapped: true }
        slots.push(slot)
      }
      return { slots, isCapped: false }
    },
  }
}

/** croner excludes the second that it starts from. */
function newest(cron: Cron, now: Instant, max: number): readonly Instant[] {
  const slots = cron.previousRuns(max, new Date(now + SECOND_MS)).map((slot) => slot.getTime())
  return slots.reverse()
}
