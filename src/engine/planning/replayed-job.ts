// Plans the job that replays a dead letter's job: on the deployed definition, for the same element, and in its lane.
//
// Invariant: LN7 the replay of a blocking job takes over its lane position in the commit that adds it; if it belongs to
// another lane, that commit releases the old one.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import type { NewWork, WorkRow } from '../../core/queue/work/index.ts'
import { type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'
import { inLane, newWork } from './plan.ts'

/** `died`: the job that the dead letter is about; null if its row is gone. */
export function replayedWork(
  deps: { readonly ids: Ids; readonly vars: Vars },
  route: Route,
  deadLetter: Pick<DeadLetter, 'id'>,
  event: StoredEvent,
  died: WorkRow | null,
): NewWork {
  const element = route.each === null ? null : (died?.element ?? null)
  const plain = newWork(deps.ids, route, event, deadLetter.id)
  const work = element === null ? plain : { ...plain, element }
  if (route.lane === null) return work
  try {
    const scope = routeScope(event, parsePayload(event.data), parsePayload(event.headers), deps.vars)
    return inLane(route, scope, work)
  } catch (error) {
    // Its payload cannot be read: the job runs, fails with that error, and the failure is visible.
    if (error instanceof JsonError) return work
    throw error
  }
}

export function addReplay(work: NewWork, died: WorkRow | null): readonly Write[] {
  const add = { w: 'work.add', work, lease: null, delayMs: 0 } as const
  if (died === null || !died.hasPlace) return [add]
  if (died.lane === work.lane?.key) return [{ ...add, inPlaceOf: died.id }]
  return [add, { w: 'lane.leave', work: died.id }]
}
