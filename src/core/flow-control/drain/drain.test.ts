import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DRAIN_PROFILES } from '../../definitions/documents/index.ts'
import { MINUTE } from '../../foundation/time/index.ts'
import { type DrainCycle, type DrainRecord, decideDrain, slotOf } from './index.ts'

const POLICY = DRAIN_PROFILES.FEED_SAFE_5MIN
const AT = 1_700_000_100_000
const SLOT = slotOf(POLICY.everyMs, AT)
const RECORD: DrainRecord = { everyMs: POLICY.everyMs, slotAt: SLOT, cycle: 1, by: 'a' }
const CYCLE: DrainCycle = { record: RECORD, left: 25, running: 0, isDry: false }
const WAIT = { do: 'wait', untilAt: SLOT + POLICY.everyMs, forCycle: false }

test('[PA11] slots begin at multiples of their length, by the given clock', () => {
  expect(SLOT % (5 * MINUTE)).toBe(0)
  expect(slotOf(POLICY.everyMs, SLOT)).toBe(SLOT)
  expect(slotOf(POLICY.everyMs, SLOT + POLICY.everyMs - 1)).toBe(SLOT)
})

describe('[PA11] [PA12] [PA13] a drain', () => {
  test.each<[string, DrainRecord | null, DrainCycle | null, unknown]>([
    ['begins where nothing is written', null, null, { do: 'begin', record: RECORD }],
    ['begins in a new slot', { ...RECORD, slotAt: SLOT - 1 }, null, { do: 'begin', record: RECORD }],
    [
      'begins anew when its slots got another length',
      { ...RECORD, everyMs: 1 },
      null,
      { do: 'begin', record: RECORD },
    ],
    [
      'is not stopped by a clock that was ahead',
      { ...RECORD, slotAt: SLOT + 3 * POLICY.everyMs },
      null,
      { do: 'begin', record: RECORD },
    ],
    ['waits while another has the slot', { ...RECORD, by: 'b' }, null, WAIT],
    ['waits after a restart within its slot', RECORD, null, WAIT],
    ['takes what its cycle has left', RECORD, CYCLE, { do: 'take', max: 25 }],
    [
      'waits for its cycle to be empty',
      RECORD,
      { ...CYCLE, left: 0, running: 1 },
      { ...WAIT, forCycle: true },
    ],
    [
      'begins the next cycle then',
      RECORD,
      { ...CYCLE, left: 0 },
      { do: 'begin', record: { ...RECORD, cycle: 2 } },
    ],
    [
      'has no cycle beyond the last',
      { ...RECORD, cycle: 2 },
      { ...CYCLE, record: { ...RECORD, cycle: 2 }, left: 0 },
      WAIT,
    ],
    ['is over for the slot when there was nothing more', RECORD, { ...CYCLE, left: 5, isDry: true }, WAIT],
    [
      'does not go on with a cycle of the slot before',
      { ...RECORD, slotAt: SLOT - POLICY.everyMs },
      { ...CYCLE, record: { ...RECORD, slotAt: SLOT - POLICY.everyMs }, running: 3 },
      { ...WAIT, forCycle: true },
    ],
  ])('%s', (_name, record, cycle, expected) => {
    expect(decideDrain(POLICY, record, cycle, 'a', AT)).toEqual(expected)
  })
})

test('[PA11] [PA12] nodes that drain concurrently never take more than events × cycles in a slot', () => {
  const policy = { profile: null, everyMs: 1_000, events: 3, cycles: 2 }
  const move = fc.record({
    node: fc.constantFrom('a', 'b', 'c'),
    gap: fc.nat(400),
    wanted: fc.nat(5),
    ends: fc.nat(3),
    /** It decides by a record that it read a while ago. */
    isLate: fc.boolean(),
    forgets: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120 }), (moves) => {
      let now = 0
      let written: { version: number; record: DrainRecord | null } = { version: 0, record: null }
      const known = new Map<string, typeof written>()
      const cycles = new Map<string, DrainCycle>()
      const taken = new Map<number, number>()
      for (const { node, gap, wanted, ends, isLate, forgets } of moves) {
        now += gap
        if (forgets) cycles.delete(node)
        const read = isLate ? (known.get(node) ?? written) : written
        known.set(node, written)
        const cycle = cycles.get(node) ?? null
        const step = decideDrain(policy, read.record, cycle, node, now)
        if (step.do === 'begin' && read.version === written.version) {
          written = { version: written.version + 1, record: step.record }
          known.set(node, written)
          cycles.set(node, { record: step.record, left: policy.events, running: 0, isDry: false })
        } else if (step.do === 'take' && cycle !== null) {
          const got = Math.min(step.max, wanted)
          // A claim counts for the slot in which it began, even when it is late.
          taken.set(cycle.record.slotAt, (taken.get(cycle.record.slotAt) ?? 0) + got)
          cycles.set(node, {
            ...cycle,
            left: cycle.left - got,
            running: cycle.running + got,
            isDry: got < wanted,
          })
        } else if (cycle !== null) {
          cycles.set(node, { ...cycle, running: Math.max(0, cycle.running - ends) })
        }
      }
      for (const count of taken.values()) expect(count).toBeLessThanOrEqual(policy.events * policy.cycles)
    }),
  )
})
