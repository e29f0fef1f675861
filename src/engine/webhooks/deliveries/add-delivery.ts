// A delivery that is added to an event after ingest made the others.

import type { EventSummary } from '../../../core/events/event/index.ts'
import type { NewWork } from '../../../core/queue/work/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Write } from '../../../ports/store.ts'
import { type Decided, decidedText } from '../../access/index.ts'
import { lineOf } from '../../observe/index.ts'

export interface AddedDelivery {
  readonly guards: readonly []
  readonly writes: readonly Write[]
  readonly work: NewWork
  /** Logs it, once it is committed. */
  logDecision(decided: Decided): void
}

export function addDelivery(log: Log, event: EventSummary, work: NewWork, action: string): AddedDelivery {
  const add: Write = { w: 'work.add', work, lease: null, delayMs: 0 }
  // A subscription wants the event after all: it no longer shows as unmatched.
  const match: readonly Write[] =
    event.matched === 0 ? [{ w: 'event.match', event: event.id, matched: 1 }] : []
  // The line contains nothing of the payload: there is nothing to hide.
  const about = { ...event, sensitive: [], data: '', headers: '' }
  const facts = { route: work.consumer.slice(work.consumer.indexOf(':') + 1), work: work.id }
  const line = lineOf('replay', action, about, { ...facts, definition: work.definition })
  return {
    guards: [],
    writes: [add, ...match],
    work,
    logDecision: (decided: Decided) => log.control({ ...line, message: decidedText(decided) }),
  }
}
