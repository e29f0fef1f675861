// Computes the slots of a cron schedule and decides which of them are due.

export { type CronProblem, type CronResult, compileCron, everySlots, type Slots } from './cron.ts'
export {
  decideSchedule,
  LATE_MS,
  type MissedPolicy,
  type ScheduleDecision,
  type ScheduleRecord,
  type ScheduleStep,
  SLOTS_MAX,
} from './decide-slot.ts'
