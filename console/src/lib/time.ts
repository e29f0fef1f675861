// Times in words, and one clock for all of them.

const STEP_MS = 5_000
let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function step(): void {
  if (document.hidden) return
  now = Date.now()
  for (const listener of listeners) listener()
}

/** It goes while somebody looks. */
export const clock = {
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    if (timer === undefined) {
      now = Date.now()
      timer = setInterval(step, STEP_MS)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  },
  now: () => now,
}

const UNITS = [
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

export function formatRelative(at: number, from: number): string {
  const ms = from - at
  const size = Math.abs(ms)
  if (size < 3_000) return ms >= 0 ? 'just now' : 'now'
  const [unit, step] = UNITS.find(([, unitMs]) => size >= unitMs) ?? ['s', 1_000]
  const text = `${Math.floor(size / step)} ${unit}`
  return ms >= 0 ? `${text} ago` : `in ${text}`
}

const exact = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
})
const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

export function formatExact(iso: string): string {
  const date = new Date(iso)
  return `${exact.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

export function formatTimeOfDay(iso: string): string {
  const date = new Date(iso)
  return `${timeOfDay.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Causes have # where letters of one group differ; people read that as left out. */
export function formatCause(cause: string): string {
  return cause.replaceAll(/#+/g, '…')
}

export function formatNumber(value: number): string {
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(value >= 10_000_000 ? 0 : 1)} M`
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
