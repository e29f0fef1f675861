// A job leased to this node, with what it needs to run.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'

export interface JobSlot {
  isHeld: boolean
  /** The call of a delivery: `waits` until its endpoint can take it. */
  call: 'waits' | 'runs' | 'over'
}

export interface Item {
  readonly owner: Incarnation
  readonly work: WorkRow
  readonly event: StoredEvent
  /** The definition it began with, if this node has loaded it. */
  readonly route: Route | null
  /** Parsed on first use; the accepting node has it already. */
  payload(): JsonValue
  header(): JsonValue
  /** Its slot on this node; copies of the item share it. */
  readonly slot: JobSlot
  /** The dead letter that this job replays, as it was when the job began: the commit that ends the job guards its version. */
  readonly deadLetter?: DeadLetter
}

export function makeItem(
  owner: Incarnation,
  work: WorkRow,
  event: StoredEvent,
  known?: { readonly payload: JsonValue; readonly header: JsonValue; readonly route: Route | null },
): Item {
  let payload = known?.payload
  let header = known?.header
  return {
    owner,
    work,
    event,
    route: known?.route ?? null,
    slot: { isHeld: false, call: 'waits' },
    payload: () => {
      if (payload === undefined) payload = parsePayload(event.data)
      return payload
    },
    header: () => {
      if (header === undefined) header = parsePayload(event.headers)
      return header
    },
  }
}
