import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeIds } from './index.ts'

const UUID = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-([89ab])[0-9a-f]{3}-[0-9a-f]{12}$/

/** Bytes that count up, so that every draw differs. */
function counting(): (length: number) => Uint8Array {
  let next = 0
  return (length) => Uint8Array.from({ length }, () => next++ & 0xff)
}

const idsAt = (now: () => number, bytes = counting()) => makeIds({ now, bytes })
const timeOf = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
const counterOf = (uuid: string): number => Number.parseInt(uuid.slice(15, 18), 16)

describe('an id', () => {
  test('[EV1] is a prefix and a UUIDv7', () => {
    const ids = idsAt(() => 1_700_000_000_000)
    const made = [ids.event(), ids.work(), ids.deadLetter()]
    expect(made.map((id) => id.slice(0, 4))).toEqual(['evt_', 'wrk_', 'dlq_'])
    for (const id of made) expect(id.slice(4)).toMatch(UUID)
    expect(ids.uuid()).toMatch(UUID)
  })

  test.each([0, 1, 0xffff_ffff, 0x1_0000_0000, 1_700_000_000_123, 0xffff_ffff_ffff])(
    '[EV1] contains its millisecond: %i',
    (at) => {
      const uuid = idsAt(() => at).uuid()
      expect(uuid).toMatch(UUID)
      expect(timeOf(uuid)).toBe(at)
    },
  )

  test('[EV1] contains 62 random bits, after the variant', () => {
    expect(
      idsAt(
        () => 1,
        (length) => new Uint8Array(length).fill(0xff),
      ).uuid(),
    ).toBe('00000000-0001-7000-bfff-ffffffffffff')
    expect(
      idsAt(
        () => 1,
        (length) => new Uint8Array(length),
      ).uuid(),
    ).toBe('00000000-0001-7000-8000-000000000000')
  })
})

describe('ids of one process', () => {
  test('[EV2] are in order within a millisecond, and borrow the next when it is full', () => {
    const ids = idsAt(() => 1_000)
    const made = Array.from({ length: 3 * 4_096 + 1 }, () => ids.uuid())
    expect([...made].sort()).toEqual(made)
    expect(new Set(made).size).toBe(made.length)
    expect(timeOf(made[4_095]!)).toBe(1_000)
    expect(counterOf(made[4_095]!)).toBe(4_095)
    expect(timeOf(made[4_096]!)).toBe(1_001)
    expect(timeOf(made.at(-1)!)).toBe(1_003)
  })

  test('[EV2] stay in order when the clock steps back, and when it catches up', () => {
    const times = [2_000, 2_000, 1_000, 1_500, 1_999, 2_000, 2_001]
    let index = 0
    const ids = idsAt(() => times[index++]!)
    const made = times.map(() => ids.uuid())
    expect(made.map(timeOf)).toEqual([2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 2_001])
    expect(made.map(counterOf)).toEqual([0, 1, 2, 3, 4, 5, 0])
    expect([...made].sort()).toEqual(made)
  })

  test('[EV2] are unique and in order whatever the clock does', () => {
    const clock = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 2, maxLength: 300 })
    fc.assert(
      fc.property(clock, (times) => {
        let index = 0
        const ids = idsAt(
          () => times[index++]!,
          (length) => new Uint8Array(length),
        )
        const made = times.map(() => ids.uuid())
        for (let at = 1; at < made.length; at += 1) expect(made[at]! > made[at - 1]!).toBe(true)
      }),
      { seed: 70 },
    )
  })

  test('[EV3] are the same for the same time and random bytes', () => {
    const make = () => {
      let now = 5
      const ids = idsAt(() => now++ >> 1)
      return Array.from({ length: 1_000 }, () => ids.event())
    }
    expect(make()).toEqual(make())
  })

  test('[EV3] never reuse random bytes, also after a refill', () => {
    let block = 0
    const draw = (length: number) => {
      const bytes = new DataView(new ArrayBuffer(length))
      for (let offset = 0; offset < length; offset += 8) bytes.setUint32(offset + 4, block++)
      return new Uint8Array(bytes.buffer)
    }
    const ids = idsAt(() => 1, draw)
    const ends = Array.from({ length: 1_000 }, () => ids.uuid().slice(-12))
    expect(new Set(ends).size).toBe(1_000)
  })
})

test('[EV2] two processes at one millisecond differ by random bits alone', () => {
  const a = idsAt(
    () => 1,
    (length) => new Uint8Array(length).fill(1),
  )
  const b = idsAt(
    () => 1,
    (length) => new Uint8Array(length).fill(2),
  )
  expect(a.event()).not.toBe(b.event())
})
