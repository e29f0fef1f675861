import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../foundation/time/index.ts'
import { compileCron, decideSchedule, LATE_MS, type ScheduleRecord, SLOTS_MAX, type Slots } from './index.ts'

const at = (text: string) => Date.parse(text)
const iso = (slot: number) => new Date(slot).toISOString().slice(0, 16)

function slotsOf(cron: string, zone = 'UTC'): Slots {
  const compiled = compileCron(cron, zone)
  if (!compiled.ok) throw new Error(compiled.problem.message)
  return compiled.slots
}

function between(cron: string, zone: string, from: string, to: string): readonly string[] {
  return slotsOf(cron, zone).due(at(from), at(to), SLOTS_MAX).slots.map(iso)
}

describe('cron', () => {
  test.each([
    ['0 2 * * *', 'Europe/Berlin', '2026-01-01T00:00Z', '2026-01-01T01:00'],
    ['*/15 * * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', '2026-01-01T00:15'],
    ['0 9 * * MON-FRI', 'UTC', '2026-01-02T10:00Z', '2026-01-05T09:00'],
    ['0 0 L * *', 'UTC', '2026-02-03T00:00Z', '2026-02-28T00:00'],
    ['30 6 29 2 *', 'UTC', '2026-01-01T00:00Z', '2028-02-29T06:30'],
    ['0 0 13 * 5', 'UTC', '2026-01-03T00:00Z', '2026-01-09T00:00'],
  ])('[SC1] %s in %s: the next slot after %s is %s', (cron, zone, from, next) => {
    const found = slotsOf(cron, zone).next(at(from))
    expect(found === null ? null : iso(found)).toBe(next)
  })

  test.each([
    ['', 'UTC', 'cron', 'five fields'],
    ['* * * *', 'UTC', 'cron', 'five fields'],
    ['0 0 0 * * *', 'UTC', 'cron', 'five fields'],
    ['@daily', 'UTC', 'cron', 'five fields'],
    ['2026-01-01T00:00:00', 'UTC', 'cron', 'five fields'],
    [`${'0,'.repeat(200)}0 * * * *`, 'UTC', 'cron', 'five fields'],
    ['60 * * * *', 'UTC', 'cron', '`60` is not possible as the minute'],
    ['0 24 * * *', 'UTC', 'cron', '`24` is not possible as the hour'],
    ['0 0 0 * *', 'UTC', 'cron', '`0` is not possible as the day of the month'],
    ['0 0 1 13 *', 'UTC', 'cron', '`13` is not possible as the month'],
    ['0 0 * * 8', 'UTC', 'cron', '`8` is not possible as the day of the week'],
    ['? 0 * * *', 'UTC', 'cron', '`?` is not possible as the minute'],
    ['*/0 * * * *', 'UTC', 'cron', '`*/0` is not possible as the minute'],
    ['0 0 31 2 *', 'UTC', 'cron', 'no date fits it'],
    ['0 0 30 2 *', 'Europe/Berlin', 'cron', 'no date fits it'],
    ['0 0 * * *', 'Mars/Olympus', 'zone', 'IANA'],
    ['0 0 * * *', '', 'zone', 'IANA'],
    ['0 0 * * *', '+02:00', 'zone', 'IANA'],
    ['0 0 * * *', 'Europe/Berlin ', 'zone', 'IANA'],
  ])('[SC2] %j in %j is refused at its %s: %s', (cron, zone, field, message) => {
    const compiled = compileCron(cron, zone)
    expect(compiled).toMatchObject({ ok: false, problem: { field } })
    expect(compiled.ok ? '' : compiled.problem.message).toContain(message)
  })

  test('[SC2] no text makes the parser throw', () => {
    const piece = fc.constantFrom(
      '*',
      '0',
      '5',
      '61',
      '-',
      ',',
      '/',
      'L',
      'W',
      '#',
      'MON',
      '?',
      ' ',
      '@',
      'é',
      '*/2',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom('UTC', 'x', ''), (pieces, zone) => {
        const compiled = compileCron(pieces.join(''), zone)
        expect(compiled.ok ? compiled.slots.next(0) : compiled.problem.message).toBeTruthy()
      }),
    )
  })

  test('[SC3] a daily time in the spring gap fires at its end; several times follow the clock', () => {
    const week = ['2026-03-28T00:00Z', '2026-03-31T00:00Z'] as const
    expect(between('30 2 * * *', 'Europe/Berlin', ...week)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ])
    expect(between('0 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T02:00Z')).toEqual([
      '2026-03-29T01:00',
      '2026-03-29T02:00',
    ])
    expect(between('0,30 2 * * *', 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-30T00:00Z')).toEqual([
      '2026-03-30T00:00',
    ])
  })

  test('[SC4] a daily time in the doubled autumn hour fires once, in the first of them', () => {
    expect(between('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
    expect(between('30 1 * * *', 'America/New_York', '2026-11-01T00:00Z', '2026-11-02T12:00Z')).toEqual([
      '2026-11-01T05:30',
      '2026-11-02T06:30',
    ])
    expect(between('0 * * * *', 'Europe/Berlin', '2026-10-24T23:00Z', '2026-10-25T02:00Z')).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T01:00',
      '2026-10-25T02:00',
    ])
  })

  test('[SC5] the slots are the same sequence, from any starting point and in both directions', () => {
    const zone = fc.constantFrom(
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'UTC',
    )
    const cron = fc.constantFrom(
      '30 2 * * *',
      '0,30 2 * * *',
      '*/20 1,2 * * *',
      '0 * * * *',
      '45 23 * * 0',
      '0 0 1 * *',
    )
    const from = fc.integer({ min: at('2011-12-01T00:00Z'), max: at('2027-01-01T00:00Z') })
    fc.assert(
      fc.property(
        cron,
        zone,
        from,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (text, place, start, share) => {
          const slots = slotsOf(text, place)
          const end = start + 12 * DAY
          const all = slots.due(start, end, 100_000).slots
          for (const [index, slot] of all.entries()) expect(slot > (all[index - 1] ?? start)).toBe(true)
          const middle = Math.floor(start + share * (end - start))
          expect(slots.next(middle)).toBe(all.find((slot) => slot > middle) ?? slots.next(end))
          const few = slots.due(start, end, 3)
          expect(few.slots).toEqual(all.slice(-3))
          expect(few.isCapped).toBe(all.length > 3)
        },
      ),
      { numRuns: 40 },
    )
  })
})

const HOURLY = { cron: '0 * * * *', zone: 'UTC' }
const NOON = at('2026-06-01T12:00Z')
const record = (through: number, more: Partial<ScheduleRecord> = {}): ScheduleRecord => ({
  ...HOURLY,
  through,
  lastSlot: null,
  isDisabled: false,
  ...more,
})

describe('the decision of a schedule', () => {
  const hourly = slotsOf('0 * * * *')
  const decide = (
    before: ScheduleRecord | null,
    missed: 'once' | 'skip' | 'all',
    now: number,
    status: 'active' | 'paused' | 'disabled' = 'active',
  ) => {
    const { steps, notice } = decideSchedule(before, { ...HOURLY, missed }, status, hourly, now)
    return {
      notice,
      steps: steps.map(({ slot, missed: count, record: after }) => [
        slot === null ? null : iso(slot).slice(11),
        count,
        iso(after.through).slice(11),
      ]),
    }
  }

  test.each([
    ['[SC6]', 'a new one begins now', null, 'all', 0, 'active', 'began', [[null, 0, '12:00']]],
    [
      '[SC6]',
      'another cron begins now',
      record(0, { cron: '1 * * * *' }),
      'all',
      0,
      'active',
      'began',
      [[null, 0, '12:00']],
    ],
    [
      '[SC6]',
      'another zone begins now',
      record(0, { zone: 'Asia/Tokyo' }),
      'all',
      0,
      'active',
      'began',
      [[null, 0, '12:00']],
    ],
    [
      '[SC7]',
      'a slot that is due fires',
      record(NOON - HOUR),
      'once',
      5,
      'active',
      null,
      [['12:00', 0, '12:00']],
    ],
    ['[SC7]', 'nothing is due twice', record(NOON), 'all', 59 * MINUTE, 'active', null, []],
    [
      '[SC8]',
      'once: the newest, with the count',
      record(NOON - 5 * HOUR),
      'once',
      10 * MINUTE,
      'active',
      null,
      [['12:00', 4, '12:00']],
    ],
    [
      '[SC9]',
      'skip: not what is late',
      record(NOON - 5 * HOUR),
      'skip',
      10 * MINUTE,
      'active',
      'skipped',
      [[null, 0, '12:00']],
    ],
    [
      '[SC9]',
      'skip: what is not late fires',
      record(NOON - 5 * HOUR),
      'skip',
      LATE_MS,
      'active',
      'skipped',
      [['12:00', 0, '12:00']],
    ],
    [
      '[SC9]',
      'skip: nothing was missed',
      record(NOON - HOUR),
      'skip',
      LATE_MS,
      'active',
      null,
      [['12:00', 0, '12:00']],
    ],
    [
      '[SC10]',
      'all: every one, oldest first',
      record(NOON - 2 * HOUR),
      'all',
      10 * MINUTE,
      'active',
      null,
      [
        ['11:00', 0, '11:00'],
        ['12:00', 0, '12:00'],
      ],
    ],
    ['[SC11]', 'paused: nothing', record(NOON - 5 * HOUR), 'all', 0, 'paused', null, []],
    [
      '[SC12]',
      'disabled: it is noted',
      record(NOON - 5 * HOUR),
      'all',
      0,
      'disabled',
      'began',
      [[null, 0, '12:00']],
    ],
    ['[SC12]', 'disabled: and then nothing', record(0, { isDisabled: true }), 'all', 0, 'disabled', null, []],
    [
      '[SC12]',
      'active again: begins now',
      record(0, { isDisabled: true }),
      'all',
      0,
      'active',
      'began',
      [[null, 0, '12:00']],
    ],
    [
      '[SC13]',
      'a record far ahead begins now',
      record(NOON + 2 * DAY),
      'all',
      0,
      'active',
      'clock_back',
      [[null, 0, '12:00']],
    ],
    ['[SC13]', 'a record a little ahead waits', record(NOON + HOUR), 'all', 0, 'active', null, []],
  ] as const)('%s %s', (_rule, _name, before, missed, laterMs, status, notice, steps) => {
    expect(decide(before, missed, NOON + laterMs, status)).toEqual({ notice, steps })
  })

  test('[SC10] all: no more than a thousand, the newest, and the cap is reported', () => {
    const minutely = slotsOf('* * * * *')
    const schedule = { cron: '* * * * *', zone: 'UTC', missed: 'all' } as const
    const before = record(NOON - 30 * DAY, { cron: '* * * * *' })
    const { steps, notice } = decideSchedule(before, schedule, 'active', minutely, NOON)
    expect([steps.length, notice]).toEqual([SLOTS_MAX, 'capped'])
    expect(steps.at(-1)?.slot).toBe(NOON)
    expect(steps[0]?.slot).toBe(NOON - (SLOTS_MAX - 1) * MINUTE)
  })

  test('[SC7] [SC10] for any moments of evaluation, no slot fires twice, and with `all` each fires', () => {
    const policy = fc.constantFrom('once', 'skip', 'all' as const)
    const looks = fc.array(fc.tuple(fc.integer({ min: 1, max: 5 * HOUR }), fc.boolean()), { maxLength: 30 })
    fc.assert(
      fc.property(policy, looks, (missed, moments) => {
        let now = NOON + 1
        let kept = record(now)
        const fired: number[] = []
        for (const [laterMs, isPaused] of [...moments, [1, false] as const]) {
          now += laterMs
          const status = isPaused ? 'paused' : 'active'
          for (const step of decideSchedule(kept, { ...HOURLY, missed: missed as 'all' }, status, hourly, now)
            .steps) {
            if (step.slot !== null) fired.push(step.slot)
            expect(step.record.through).toBeGreaterThan(kept.through)
            expect(step.record.through).toBeLessThanOrEqual(now)
            kept = step.record
          }
        }
        expect([...new Set(fired)].sort((a, b) => a - b)).toEqual(fired)
        if (missed === 'all') expect(fired).toEqual(hourly.due(NOON + 1, now, SLOTS_MAX).slots)
      }),
    )
  })
})
