// Loads the circuits that other nodes opened and the hosts that they found closed: two small reads per tenant every few
// seconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { FlowControl } from './flow-control.ts'

const FOLLOW_MS = 5_000

/** Returns a function that stops it. */
export function followCircuits(deps: {
  readonly flowControl: Pick<FlowControl, 'learn'>
  readonly log: Log
  readonly clock: Pick<Clock, 'after'>
  tenants(): readonly TenantId[]
}): () => void {
  let isStopped = false
  let cancel = () => {}
  const look = async () => {
    try {
      for (const tenant of deps.tenants()) {
        if (isStopped) return
        await deps.flowControl.learn(tenant, null)
      }
    } catch (error) {
      deps.log.warn('pace.not-followed', { error: messageOf(error) })
    }
    next()
  }
  const next = () => {
    if (!isStopped) cancel = deps.clock.after(FOLLOW_MS, () => void look())
  }
  next()
  return () => {
    isStopped = true
    cancel()
  }
}
