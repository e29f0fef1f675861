// Jobs of which this node knows that they are in no lane, because it created or claimed them. A job's lane never
// changes, so settling one of these locks no lanes and looks for no waiting jobs.

import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'

type Named = Pick<WorkRow, 'tenant' | 'id'>

export interface Laneless {
  readonly items: ReadonlySet<string>
  learn(rows: Iterable<Named & Pick<WorkRow, 'lane'>>): void
  add(tenant: TenantId, id: WorkId): void
  remove(tenant: TenantId, id: WorkId): void
  /** Settled jobs do not come again. */
  forget(rows: Iterable<Named & Pick<WorkRow, 'processedAt'>>): void
}

/** More than a node has leased; beyond it all are forgotten, and looked up in their lanes like others. */
const ITEMS_MAX = 20_000

export function makeLaneless(): Laneless {
  const items = new Set<string>()
  const add: Laneless['add'] = (tenant, id) => {
    if (items.size >= ITEMS_MAX) items.clear()
    items.add(joinKey(tenant, id))
  }
  const remove: Laneless['remove'] = (tenant, id) => void items.delete(joinKey(tenant, id))
  return {
    items,
    add,
    remove,
    learn(rows) {
      for (const { tenant, id, lane } of rows) if (lane === null) add(tenant, id)
    },
    forget(rows) {
      for (const { tenant, id, processedAt } of rows) if (processedAt !== null) remove(tenant, id)
    },
  }
}
