// Follows what other nodes change: a few small reads per tenant, every few seconds.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

/** `onFailed`: the log message if a read fails; it is repeated later. Returns a function that stops it. */
export function followTenants(
  deps: {
    readonly clock: Pick<Clock, 'after'>
    readonly log: Pick<Log, 'warn'>
    readonly followMs: number
  },
  onFailed: string,
  tenants: () => readonly TenantId[] | Promise<readonly TenantId[]>,
  learn: (tenant: TenantId) => Promise<unknown>,
): () => void {
  let isStopped = false
  let cancel = () => {}
  const look = async () => {
    try {
      const listed = tenants()
      for (const tenant of listed instanceof Promise ? await listed : listed) {
        if (isStopped) return
        await learn(tenant)
      }
    } catch (error) {
      deps.log.warn(onFailed, { error: messageOf(error) })
    }
    next()
  }
  const next = () => {
    if (!isStopped) cancel = deps.clock.after(deps.followMs, () => void look())
  }
  next()
  return () => {
    isStopped = true
    cancel()
  }
}
