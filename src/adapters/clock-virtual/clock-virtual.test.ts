import { expect, test } from 'vitest'
import { clockConformance } from '../../ports/clock.conformance.ts'
import { makeVirtualClock } from './index.ts'

clockConformance('virtual', () => {
  const clock = makeVirtualClock({ startAt: 1_000 })
  return { clock, advance: (ms) => clock.advance(ms) }
})

test('timers fire by time, then in the order in which they were set, and what they cause runs first', async () => {
  const clock = makeVirtualClock({ startAt: 0 })
  const seen: string[] = []
  const note = (what: string) => () => void seen.push(`${what} at ${clock.now()}`)
  clock.after(20, note('later'))
  clock.after(10, () => {
    note('first')()
    void Promise.resolve().then(note('promise'))
    clock.defer(note('deferred'))
    clock.after(0, note('at once'))
  })
  clock.after(10, note('second'))
  await clock.advance(15)
  expect(seen).toEqual(['first at 10', 'promise at 10', 'deferred at 10', 'second at 10', 'at once at 10'])
  expect(clock.now()).toBe(15)
  await clock.advance(5)
  expect(seen.at(-1)).toBe('later at 20')
})

test('it stops as soon as what is waited for is there', async () => {
  const clock = makeVirtualClock({ startAt: 0 })
  let isThere = false
  clock.after(30, () => {
    isThere = true
  })
  clock.after(40, () => expect.unreachable())
  await clock.advance(1_000, () => isThere)
  expect(clock.now()).toBe(30)
})
