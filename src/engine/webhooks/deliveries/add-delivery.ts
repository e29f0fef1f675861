// A delivery that is added to an event beside those that the door has made.

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
  /** For the log, once it is committed. */
  told(decided: Decided): void
}

export function addDelivery(log: Log, event: EventSummary, work: NewWork, action: string): AddedDelivery {
  const add: Write = { w: 'work.add', work, lease: null, delayMs: 0 }
  // Somebody wants it after all: it is no longer shown as one that nobody did.
  const match: readonly Write[] =
    event.matched === 0 ? [{ w: 'event.match', event: event.id, matched: 1 }] : []
  // Nothing of its payload is in the line: there is nothing to hide.
  const about = { ...event, sensitive: [], data: '', headers: '' }
  const facts = { route: work.consumer.slice(work.consumer.indexOf(':') + 1), work: work.id }
  const line = lineOf('replay', action, about, { ...facts, definition: work.definition })
  return {
    guards: [],
    writes: [add, ...match],
    work,
    told: (decided: Decided) => log.control({ ...line, message: decidedText(decided) }),
  }
}
