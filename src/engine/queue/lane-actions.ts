// Operator actions on blocked lanes: list which job blocks which lane, and release a lane so that the jobs behind go
// on.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import { type Decided, decidedText } from '../access/index.ts'
import type { Commits } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import { lineOf } from '../observe/index.ts'

export interface HeldLane {
  /** The job that blocks the lane. */
  readonly work: WorkRow
  /** How many jobs wait behind it. */
  readonly waiting: number
}

export interface LaneActions {
  held(tenant: TenantId, page: PageRequest): Promise<Page<HeldLane>>
  /** Lets the jobs behind a dead or parked job go on; the job itself does not change. */
  leave(tenant: TenantId, id: WorkId, decided: Decided & { readonly reason: string }): Promise<void>
}

export function makeLaneActions(
  deps: Pick<EngineDeps, 'store' | 'log'> & { readonly commits: Commits; wake(): void },
): LaneActions {
  const { store, log, commits } = deps
  return {
    async held(tenant, page) {
      const reads = store.forTenant(tenant)
      const holders = await reads.laneHolders(page)
      const items = await Promise.all(
        holders.items.map(async (work) => {
          const lane = work.lane === null ? null : await reads.lane(work.consumer, work.lane)
          return { work, waiting: lane?.waiting ?? 0 }
        }),
      )
      return { items, nextCursor: holders.nextCursor }
    },

    async leave(tenant, id, decided) {
      const reads = store.forTenant(tenant)
      const work = await reads.work(id)
      if (work === null) throw new AppError('not_found', `no work item ${id}`)
      const { state, epoch } = work
      if (!work.hasPlace || (state !== 'dead' && state !== 'parked'))
        throw new AppError('conflict', 'the item holds no lane up; GET /v1/lanes/held lists those that do')
      const event = await reads.event(work.eventId)
      const result = await commits.once(
        tenant,
        [{ g: 'work', work: id, state, epoch }],
        [{ w: 'lane.leave', work: id }],
      )
      if (!result.ok) throw new AppError('conflict', 'the item changed meanwhile')
      const route = work.consumer.slice(work.consumer.indexOf(':') + 1)
      const facts = { route, work: id, key: work.key, message: decidedText(decided) }
      if (event !== null) log.control(lineOf('effect', 'LEFT_LANE', event, facts))
      deps.wake()
    },
  }
}
