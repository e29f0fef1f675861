// Decides what a schedule does now: nothing, begin, or fire. Which slots were missed, and what happens to them, follows from
// the record, the definition and the store's time.
//
// Invariants: D1 a step fires a slot after the recorded one, and not after now. D2 steps go forward. D3 slots that passed
// before the schedule began, while it was disabled, or under a different cron expression are not fired.

import { DAY, type Instant, MINUTE } from '../../foundation/time/index.ts'
import type { Slots } from './cron.ts'

export type MissedPolicy = 'once' | 'skip' | 'all'

/** The stored state of a schedule between its slots, under the name of its source. */
export interface ScheduleRecord {
  readonly cron: string
  readonly zone: string
  /** All slots up to this are over, fired or not. */
  readonly through: Instant
  /** The newest slot that became an event. */
  readonly lastSlot: Instant | null
  readonly isDisabled: boolean
}

export interface ScheduleStep {
  /** The slot that becomes an event; null: only the record changes. */
  readonly slot: Instant | null
  /** Earlier slots without an event of their own; at most `SLOTS_MAX` are counted. */
  readonly missed: number
  readonly record: ScheduleRecord
}

export interface ScheduleDecision {
  /** Each is one commit; empty: nothing to do. */
  readonly steps: readonly ScheduleStep[]
  /** Why slots are skipped, where an operator should know. */
  readonly notice: 'began' | 'clock_back' | 'skipped' | 'capped' | null
}

/** How many slots are examined after a long pause; older ones are neither fired nor counted. */
export const SLOTS_MAX = 1_000
/** A slot that is detected later than this was missed. */
export const LATE_MS = MINUTE
/** A record further ahead was written by a wrong clock. */
const AHEAD_MS_MAX = DAY

const NOTHING: ScheduleDecision = { steps: [], notice: null }

export function decideSchedule(
  record: ScheduleRecord | null,
  schedule: { readonly cron: string; readonly zone: string; readonly missed: MissedPolicy },
  status: 'active' | 'paused' | 'disabled',
  slots: Slots,
  now: Instant,
): ScheduleDecision {
  const { cron, zone, missed } = schedule
  const isDisabled = status === 'disabled'
  if (record === null || record.cron !== cron || record.zone !== zone || record.isDisabled !== isDisabled) {
    return begin({ cron, zone, through: now, lastSlot: record?.lastSlot ?? null, isDisabled }, 'began')
  }
  if (isDisabled) return NOTHING
  if (record.through > now + AHEAD_MS_MAX) return begin({ ...record, through: now }, 'clock_back')
  if (status === 'paused') return NOTHING
  const due = slots.due(record.through, now, SLOTS_MAX)
  const last = due.slots.at(-1)
  if (last === undefined) return NOTHING
  const fire = (slot: Instant, count: number): ScheduleStep => ({
    slot,
    missed: count,
    record: { ...record, through: slot, lastSlot: slot },
  })
  switch (missed) {
    case 'once':
      return { steps: [fire(last, due.slots.length - 1)], notice: null }
    case 'skip': {
      const isLate = now - last > LATE_MS
      const step = isLate ? { slot: null, missed: 0, record: { ...record, through: last } } : fire(last, 0)
      return { steps: [step], notice: isLate || due.slots.length > 1 ? 'skipped' : null }
    }
    case 'all':
      return { steps: due.slots.map((slot) => fire(slot, 0)), notice: due.isCapped ? 'capped' : null }
  }
}

function begin(record: ScheduleRecord, notice: ScheduleDecision['notice']): ScheduleDecision {
  return { steps: [{ slot: null, missed: 0, record }], notice }
}
