// One after the other for each tenant: for requests that keep the whole node busy while they run. Whoever has many of them
// under way waits for their own, not others for them.

import { AppError } from '../core/foundation/errors/index.ts'

export interface TenantSerializer {
  /** Throws `limited` when too many wait already. */
  take<Value>(tenant: string, work: () => Promise<Value>): Promise<Value>
}

export function makeTenantSerializer(waitingMax: number): TenantSerializer {
  const lines = new Map<string, { last: Promise<unknown>; count: number }>()
  return {
    async take(tenant, work) {
      const line = lines.get(tenant) ?? { last: Promise.resolve(), count: 0 }
      // One is at work; the others wait.
      if (line.count > waitingMax) {
        throw new AppError('limited', `${waitingMax} requests of this kind are waiting already`, {
          details: { retryAfterSeconds: 1 },
        })
      }
      lines.set(tenant, line)
      line.count += 1
      const queued = line.last.then(work)
      line.last = queued.catch(() => {})
      try {
        return await queued
      } finally {
        line.count -= 1
        if (line.count === 0) lines.delete(tenant)
      }
    },
  }
}
