import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { noteFigures } from './metric-gauges.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const shown = (gauges: readonly { name: string; labels?: object; value: number }[]) =>
  gauges.map(({ name, labels, value }) => [name, labels ?? null, value])

test('[DE1] the age of the backlog is reported for each role, and omitted while it is unknown', async () => {
  let isBroken = false
  const figures = noteFigures({
    backlog: async () => {
      if (isBroken) throw new Error('gone')
      return { work: 1_500, deliver: 0 }
    },
    relay: null,
    now: () => 0,
  })
  expect(figures.gauges()).toEqual([])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(shown(figures.gauges())).toEqual([
    ['millrace_backlog_age_seconds', { role: 'work' }, 1.5],
    ['millrace_backlog_age_seconds', { role: 'deliver' }, 0],
  ])
  isBroken = true
  await vi.advanceTimersByTimeAsync(5_000)
  expect(figures.gauges()).toEqual([])
  figures.close()
})

test('[DE7] only a node that may relay reports the outbox', async () => {
  const status = { waiting: 7, eldestAt: 4_000, told: 3, refused: 2, stuck: 1, held: null }
  const figures = noteFigures({
    backlog: async () => null,
    relay: { status: async () => status },
    now: () => 10_000,
  })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(shown(figures.gauges())).toEqual([
    ['millrace_outbox_rows', null, 7],
    ['millrace_outbox_age_seconds', null, 6],
    ['millrace_outbox_refused', null, 2],
    ['millrace_outbox_stuck_subjects', null, 1],
  ])
  figures.close()
  await vi.advanceTimersByTimeAsync(60_000)
})
