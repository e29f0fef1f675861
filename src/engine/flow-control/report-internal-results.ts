// Reports to flow control how an action ended that ran inside the process. For calls and deliveries the caller reports it.

import type { Route } from '../../core/routing/index.ts'
import type { Item } from '../leases/index.ts'
import type { Decision } from '../settlement/index.ts'
import type { FlowControl } from './flow-control.ts'

export function reportInternalEnds(flowControl: Pick<FlowControl, 'reportResult'>) {
  return (item: Item, route: Route | null, decision: Decision): void => {
    const type = route?.action.type
    const isElsewhere = route?.of?.kind === 'trigger' || route?.of?.kind === 'delivery'
    if (route === null || isElsewhere || (type !== 'function' && type !== 'emit')) return
    const isRun = decision.to === 'done' || decision.attempt !== null
    if (isRun)
      flowControl.reportResult({
        item,
        route,
        host: null,
        class: decision.note.class ?? 'done',
        retryAfterMs: null,
      })
  }
}
