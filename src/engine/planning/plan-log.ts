// Logs a plan once it is committed: the jobs of disabled routes and the events that could not be matched.

import type { Log } from '../../ports/log.ts'
import type { EventPlan } from '../commit/index.ts'
import { lineOf } from '../observe/index.ts'

export function logPlan(log: Pick<Log, 'control'>, { event, disabled, deadLetter }: EventPlan): void {
  for (const { work, route } of disabled) {
    const message = 'the route is disabled; replay the event once it is active'
    log.control(
      lineOf('ingest', 'DISABLED', event, {
        route: route?.document.name ?? null,
        work: work.id,
        definition: work.definition,
        message,
      }),
    )
  }
  if (deadLetter === null) return
  const { workId: work, class: failureClass, reason: errorCode, lastError: message } = deadLetter
  log.control(
    lineOf('dead-letter', 'DEAD_LETTERED', event, { work, class: failureClass, errorCode, message }),
  )
}
