// Loads the circuits that other nodes opened and the hosts that they found closed: two small reads per tenant every few
// seconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Pace } from './flow-control.ts'

const FOLLOW_MS = 5_000

/** Returns a function that stops it. */
export function followPace(deps: {
  readonly pace: Pick<Pace, 'learn'>
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
        await deps.pace.learn(tenant, null)
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
