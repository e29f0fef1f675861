// Repeated deliveries of an event to one subscription: what counts as delivered, a further one, and what it would do.
//
// There is no ledger of deliveries (docs/adr/0042-no-ledger-for-deliveries.md): the jobs of the event show what was delivered.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import type { Ids } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import type { NewWork, WorkRow, WorkState } from '../../../core/queue/work/index.ts'
import { type Route, routeScope, type Vars } from '../../../core/routing/index.ts'
import { inLane, newWork } from '../../planning/index.ts'

type Row = Pick<WorkRow, 'id' | 'kind' | 'state' | 'consumer'>

const UNDER_WAY: readonly WorkState[] = ['ready', 'waiting', 'leased', 'parked']

/** Its endpoint accepted it. */
export function isDelivered({ kind, state }: Pick<Row, 'kind' | 'state'>): boolean {
  return kind === 'delivery' && state === 'done'
}

/** It will be sent, or is being sent. */
export function isUnderWay({ kind, state }: Pick<Row, 'kind' | 'state'>): boolean {
  return kind === 'delivery' && UNDER_WAY.includes(state)
}

/**
 * One more delivery of an event. `isAgain`: a user wants it sent although it may have been delivered before; otherwise a job
 * that finds it delivered ends without a call.
 */
export function newDelivery(
  deps: { readonly ids: Ids; readonly vars: Vars },
  route: Route,
  event: StoredEvent,
  { replayOf, isAgain }: { readonly replayOf: NewWork['replayOf']; readonly isAgain: boolean },
): NewWork {
  const plain = newWork(deps.ids, route, event, replayOf)
  const work = isAgain ? { ...plain, generation: 2 } : plain
  if (route.lane === null) return work
  try {
    const scope = routeScope(event, parsePayload(event.data), parsePayload(event.headers), deps.vars)
    return inLane(route, scope, work)
  } catch (error) {
    // Its payload cannot be read: the job runs, is dead-lettered for it, and becomes visible.
    if (error instanceof JsonError) return work
    throw error
  }
}

export interface DeliveryVerdict {
  readonly verdict: 'would-skip' | 'would-call' | 'would-fail'
  readonly reason: string
  readonly call: { readonly host: string; readonly route: string; readonly perMinute: number | null } | null
}

/**
 * What a further delivery would do. `before`: the jobs of the event for its subscription; `host`: where it goes now, null:
 * nowhere.
 */
export function judgeDelivery(
  route: Pick<Route, 'document' | 'status'>,
  host: string | null,
  before: readonly Row[],
  isAgain: boolean,
): DeliveryVerdict {
  const taken = before.find(isDelivered)
  if (taken !== undefined && !isAgain)
    return { verdict: 'would-skip', reason: `its endpoint took it before, with ${taken.id}`, call: null }
  const open = before.find(isUnderWay)
  if (open !== undefined && !isAgain)
    return { verdict: 'would-skip', reason: `${open.id} is on its way`, call: null }
  if (host === null)
    return { verdict: 'would-fail', reason: 'its address cannot be made of the vars', call: null }
  const { name, rateLimit } = route.document
  const call = { host, route: name, perMinute: rateLimit?.perMinute ?? null }
  const again = taken === undefined ? '' : `, although ${taken.id} was taken`
  const then = route.status === 'active' ? '' : `, once the subscription is active again`
  return { verdict: 'would-call', reason: `calls ${host}${again}${then}`, call }
}
