// SC7 and SC10: each slot of the schedule becomes one event, none before its time, and since all that is missed is fired, none is
// left out between the first that a node saw and the end.

import { MINUTE } from '../src/core/foundation/time/index.ts'
import { compileCron } from '../src/core/ingest/schedule/index.ts'
import type { Commit } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Outcome } from './data.ts'
import type { Observations } from './run-observations.ts'
import { CLOCKWORK } from './scenario.ts'

export interface ScheduleChecks {
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** A node has begun to watch the schedules: a node with that role may be the last to start. */
  isSeen(): boolean
  /** When everything has healed. */
  end(): void
}

/** A node that starts, and a store that answers late, may take this long. */
const LATE_MS_MAX = MINUTE
const SLOTS_MAX = 10_000
const COMPILED = compileCron(CLOCKWORK.schedule.cron, CLOCKWORK.schedule.zone)

export function makeScheduleChecks(deps: {
  readonly observations: Observations
  readonly time: VirtualTime
}): ScheduleChecks {
  const { observations, time } = deps
  const { name } = CLOCKWORK
  const fired = new Set<number>()
  let since: number | null = null
  return {
    applied(commits, outcomes) {
      for (const [index, { writes }] of commits.entries()) {
        if (outcomes[index]?.ok !== true) continue
        for (const write of writes) {
          if (write.w === 'record.put' && write.kind === 'schedule') {
            since ??= (JSON.parse(write.body) as { through: number }).through
          }
          if (write.w !== 'event.append' || write.event.source !== name) continue
          const slot = Date.parse(write.event.dedupKey)
          observations.counts.slots += 1
          if (fired.has(slot)) observations.violate('SC7', `the slot ${write.event.dedupKey} fires twice`)
          if (slot > time.now()) observations.violate('SC7', `the slot ${write.event.dedupKey} fires early`)
          fired.add(slot)
        }
      }
    },
    isSeen: () => since !== null,
    end() {
      if (!COMPILED.ok || since === null) {
        observations.violate('SC10', 'no node saw the schedule')
        return
      }
      for (const slot of COMPILED.slots.due(since, time.now() - LATE_MS_MAX, SLOTS_MAX).slots) {
        if (!fired.has(slot))
          observations.violate('SC10', `the slot ${new Date(slot).toISOString()} never fired`)
      }
    },
  }
}
