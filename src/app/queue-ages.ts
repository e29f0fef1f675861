// Records how long the oldest job has been due, whether or not anyone watches: after an incident operators ask how it
// was.

import type { TenantId } from '../core/foundation/ids/index.ts'
import type { Engine } from '../engine/index.ts'
import type { Store } from '../ports/store.ts'

/** As long as the smallest step that is shown. */
const EVERY_MS = 2_000
/** Reads per round; with more tenants each is read less often. */
const TENANTS_PER_ROUND = 20
/** The pause after a round, in times of its length: where reading has become slow, it takes a twentieth of the time at most. */
const REST_TIMES = 20

export interface QueueAges {
  close(): void
}

export function noteQueueAges(deps: {
  readonly store: Pick<Store, 'forTenant'>
  readonly meter: Pick<Engine['meter'], 'queueAge'>
  now(): number
  tenants(): Promise<readonly TenantId[]>
}): QueueAges {
  let from = 0
  let isBusy = false
  let restUntil = 0
  const note = async () => {
    const tenants = await deps.tenants()
    const some = [...tenants.slice(from), ...tenants.slice(0, from)].slice(0, TENANTS_PER_ROUND)
    from = tenants.length === 0 ? 0 : (from + some.length) % tenants.length
    for (const tenant of some) {
      const oldestReadyAt = await deps.store.forTenant(tenant).oldestReadyAt()
      const ageMs = oldestReadyAt === null ? 0 : Math.max(0, deps.now() - oldestReadyAt)
      deps.meter.queueAge(tenant, ageMs)
    }
  }
  const timer = setInterval(() => {
    const startedAt = performance.now()
    if (isBusy || startedAt < restUntil) return
    isBusy = true
    // Other parts report a store that does not respond; here it is only a gap in a chart.
    note()
      .catch(() => {})
      .finally(() => {
        isBusy = false
        const endedAt = performance.now()
        restUntil = endedAt + REST_TIMES * (endedAt - startedAt)
      })
  }, EVERY_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
