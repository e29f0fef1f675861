// Strays: items that are ours by the store and that nobody here runs, because the answer that gave them to us got lost
// (a claim, or a commit that bore them). They would stay leased for as long as this node lives.
//
// Looking is dear, so that it is done only after an answer got lost. A server whose connection broke may apply what it was asked for
// after the first look: a few more follow.

import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { EngineDeps } from '../config.ts'
import { type Item, makeItem, type Pool } from '../leases/index.ts'

export interface Strays {
  /** An answer got lost that may have put work into our hands. */
  suspect(): void
  /** Finds what it put there, if there was reason to look. */
  collect(owner: Incarnation): Promise<readonly Item[]>
}

const PAGE = 200
/** After the first look; the last one is later than any statement that a server still works on. */
const AGAIN_MS = [2_000, 10_000, 60_000]

export function makeStrays(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & {
    readonly pool: Pool
    tenants(): Promise<readonly TenantId[]>
  },
): Strays {
  const { store, clock, log, pool } = deps
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
      // What begins and ends while we look is seen leased, and is no stray.
      const watch = pool.watch()
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
