// Times in words, and one clock for all of them.

import { UNITS } from './durations.ts'

const STEP_MS = 5_000
let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function step(): void {
  if (document.hidden) return
  now = Date.now()
  for (const listener of listeners) listener()
}

/** It runs while the page is visible. */
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

/** Causes have # where dead letters of one group differ; it is shown as left out. */
export function formatCause(cause: string): string {
  return cause.replaceAll(/#+/g, '…')
}

export function formatNumber(value: number): string {
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(value >= 10_000_000 ? 0 : 1)} M`
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
