// Whether a tenant has reached its limit of open jobs: new events are refused until it has fewer. Accepted events
// continue.
//
// The store counts at most every two seconds, and only tenants that sent something since; between two counts an event
// costs one lookup. A tenant may thus exceed its limit by what arrives in between.

import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import type { EngineDeps } from '../config.ts'

export interface TenantBacklog {
  /** Notes that the tenant sends; returns whether an event of it may be accepted now. */
  hasRoom(tenant: TenantId): boolean
  /** Throws AppError if there is no room. */
  check(tenant: TenantId): void
  stop(): void
}

const LOOK_MS = 2 * SECOND
/** A slow count runs less often: counting takes at most a twentieth of the time. */
const SHARE = 20
const RETRY_SECONDS = 10

/** Without a limit nothing is counted. */
const NO_LIMIT: TenantBacklog = { hasRoom: () => true, check: () => {}, stop: () => {} }

export function makeTenantBacklog(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'>,
  openJobsMax: number,
): TenantBacklog {
  if (openJobsMax === 0) return NO_LIMIT
  const { store, clock, log } = deps
  const full = new Set<TenantId>()
  let sending = new Set<TenantId>()
  let isLooking = false
  let isStopped = false
  let cancel = () => {}

  const look = async (): Promise<number> => {
    const tenants = new Set([...sending, ...full])
    sending = new Set()
    const startedAt = clock.monotonic()
    for (const tenant of tenants) {
      if (isStopped) break
      const open = await store.forTenant(tenant).openTotal(openJobsMax)
      const isFull = open >= openJobsMax
      if (isFull === full.has(tenant)) continue
      if (isFull) {
        full.add(tenant)
        log.warn('tenant.backlog-full', { tenant, limit: openJobsMax })
      } else {
        full.delete(tenant)
        log.info('tenant.backlog-has-room', { tenant })
      }
    }
    return clock.monotonic() - startedAt
  }

  const schedule = (delayMs: number) => {
    if (isLooking || isStopped) return
    isLooking = true
    cancel = clock.after(delayMs, () => {
      void look()
        .catch((error) => {
          // A store that fails to count accepts no events either.
          log.warn('tenant.backlog-not-counted', { error: messageOf(error) })
          return 0
        })
        .then((tookMs) => {
          isLooking = false
          if (sending.size > 0 || full.size > 0) schedule(Math.max(LOOK_MS, tookMs * SHARE))
        })
    })
  }

  const hasRoom = (tenant: TenantId): boolean => {
    if (sending.has(tenant)) return !full.has(tenant)
    sending.add(tenant)
    schedule(LOOK_MS)
    return !full.has(tenant)
  }

  return {
    hasRoom,
    check(tenant) {
      if (hasRoom(tenant)) return
      const detail = `the tenant has ${openJobsMax} open jobs and dead letters, and may have no more (MILLRACE_TENANT_OPEN_JOBS)`
      throw new AppError('backlog_full', detail, {
        details: {
          retryAfterSeconds: RETRY_SECONDS,
          limit: openJobsMax,
          setting: 'MILLRACE_TENANT_OPEN_JOBS',
        },
      })
    },
    stop() {
      isStopped = true
      cancel()
    },
  }
}
