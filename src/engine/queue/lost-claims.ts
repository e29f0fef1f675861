// Finds lost claims: jobs that the store leased to this node but that the node does not run, because the response to a
// claim or to a commit with jobs leased on insert was lost. They would stay leased for as long as the node lives.
//
// Looking is expensive, so it happens only after a lost response. A server whose connection broke may apply the request
// after the first look, so a few more follow.

import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { EngineDeps } from '../config.ts'
import { type Item, type JobSlots, makeItem } from '../leases/index.ts'

export interface LostClaims {
  /** A response was lost that may have leased jobs to this node. */
  suspect(): void
  /** Returns the lost claims, if there was reason to look. */
  collect(owner: Incarnation): Promise<readonly Item[]>
}

const PAGE = 200
/** After the first look; the last one comes later than any statement that a server may still execute. */
const AGAIN_MS = [2_000, 10_000, 60_000]

export function makeLostClaims(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & {
    readonly jobSlots: JobSlots
    tenants(): Promise<readonly TenantId[]>
  },
): LostClaims {
  const { store, clock, log, jobSlots } = deps
  /** When to look, by the monotonic clock. */
  let looks: readonly number[] = []

  const leasedRows = async (tenant: TenantId): Promise<readonly WorkRow[]> => {
    const rows: WorkRow[] = []
    let cursor: string | null = null
    do {
      const page = await store.forTenant(tenant).workList({ state: 'leased', cursor, limit: PAGE })
      rows.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return rows
  }

  return {
    suspect() {
      const now = clock.monotonic()
      looks = [now, ...AGAIN_MS.map((ms) => now + ms)]
    },
    async collect(owner) {
      const now = clock.monotonic()
      if (!looks.some((at) => at <= now)) return []
      looks = looks.filter((at) => at > now)
      // Jobs that start and end during the look are listed as leased, and are not lost claims.
      const watch = jobSlots.watch()
      try {
        const found: Item[] = []
        for (const tenant of await deps.tenants()) {
          for (const row of await leasedRows(tenant)) {
            if (row.owner !== owner || watch.holds(row)) continue
            const event = await store.forTenant(tenant).event(row.eventId)
            if (event !== null && !watch.holds(row)) found.push(makeItem(owner, row, event))
          }
        }
        if (found.length > 0) log.warn('work.strayed', { items: found.length })
        return found
      } catch (error) {
        looks = [now, ...looks]
        throw error
      } finally {
        watch.stop()
      }
    },
  }
}
