import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseWork, EMPTY_LANE, enterLane, leaveLane, promoteWork, stopWaiting } from './lane-positions.ts'

test('[ST102] a position is assigned while one is free and no job waits', () => {
  const one = enterLane(EMPTY_LANE, 2, false)
  expect(one).toEqual({ counts: { width: 2, places: 1, waiting: 0 }, hasPlace: true, promotes: false })
  const two = enterLane(one.counts, 2, false)
  expect(two).toMatchObject({ counts: { places: 2, waiting: 0 }, hasPlace: true })
  const three = enterLane(two.counts, 2, false)
  expect(three).toMatchObject({ counts: { places: 2, waiting: 1 }, hasPlace: false, promotes: false })
})

test('[ST108] a job that takes over a position needs no free one, and frees none', () => {
  const full = { width: 1, places: 1, waiting: 3 }
  expect(enterLane(full, 1, true)).toEqual({ counts: full, hasPlace: true, promotes: false })
})

test('[ST109] a widened lane promotes the oldest and the newcomer waits; a narrowed one promotes none', () => {
  expect(enterLane({ width: 1, places: 1, waiting: 2 }, 3, false)).toEqual({
    counts: { width: 3, places: 2, waiting: 2 },
    hasPlace: false,
    promotes: true,
  })
  expect(leaveLane({ width: 1, places: 3, waiting: 2 })).toEqual({
    counts: { width: 1, places: 2, waiting: 2 },
    promotes: false,
  })
})

test('[ST103] a promoted job is due at the later of now and its own time; [ST105] a chosen job is due now', () => {
  expect(promoteWork(100, { dueAt: 50 })).toEqual({ state: 'ready', hasPlace: true, dueAt: 100 })
  expect(promoteWork(100, { dueAt: 150 })).toMatchObject({ dueAt: 150 })
  expect(chooseWork(100, {})).toEqual({ state: 'ready', hasPlace: true, isFrozen: true, dueAt: 100 })
})

const step = fc.oneof(
  fc.record({ do: fc.constant('enter' as const), width: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant('leave' as const) }),
  fc.record({ do: fc.constant('stop' as const) }),
)

test('[LA1] [LA2] [LA3] after any arrivals and departures, the counts are those of a queue', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let counts = EMPTY_LANE
      const queue: number[] = []
      const inside = new Set<number>()
      let next = 0
      const promote = () => inside.add(queue.shift() as number)
      for (const one of steps) {
        if (one.do === 'enter') {
          const item = next++
          const isFree = queue.length === 0
          const result = enterLane(counts, one.width, false)
          if (result.hasPlace) inside.add(item)
          else queue.push(item)
          if (result.hasPlace) expect(isFree).toBe(true)
          if (result.promotes) promote()
          if (result.hasPlace || result.promotes) expect(inside.size).toBeLessThanOrEqual(one.width)
          counts = result.counts
        } else if (one.do === 'leave' && inside.size > 0) {
          inside.delete([...inside][0] as number)
          const result = leaveLane(counts)
          if (result.promotes) promote()
          if (result.promotes) expect(inside.size).toBeLessThanOrEqual(counts.width)
          else expect(queue.length === 0 || inside.size >= counts.width).toBe(true)
          counts = result.counts
        } else if (one.do === 'stop' && queue.length > 0) {
          queue.pop()
          counts = stopWaiting(counts)
        }
        expect(counts).toMatchObject({ places: inside.size, waiting: queue.length })
      }
    }),
    { seed: 20_260_115, numRuns: 300 },
  )
})
