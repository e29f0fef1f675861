// GET /v1/lanes/held; POST /v1/work/{id}/leave-lane: who holds others up, and letting those go on.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { WorkId } from '../core/foundation/ids/index.ts'
import { workShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter } from './queries.ts'
import { showWork } from './shapes.ts'

export const lanesOperations = operations('work', (s) => ({
  listHeldLanes: {
    at: 'GET /v1/lanes/held',
    summary: 'Dead and parked items that hold their lanes up, newest first',
    query: s.page({}),
    answer: s.pageOf(
      s.object({
        route: s.string,
        lane: s.string.describe('What `by` gave.'),
        waiting: s.integer.describe('How many wait behind it.'),
        work: s.ref(workShape),
      }),
    ),
    table: {
      columns: [
        ['ROUTE', 'route', 10],
        ['LANE', 'lane', 8],
        ['WAITING', 'waiting'],
        ['HELD BY', 'work.id'],
        ['STATE', 'work.state'],
        ['ERROR', 'work.lastError', 10],
      ],
      empty: 'No lane is held up.',
      page: {
        command: 'lanes',
        title: 'Held lanes',
        about: 'jobs that block their lanes, newest first',
        key: 'h',
        href: '/work/{work.id}',
      },
    },
  },
  leaveLane: {
    at: 'POST /v1/work/:id/leave-lane',
    config: { role: 'operator' },
    summary: 'Let those behind a dead or parked item go on; the item itself stays as it is',
    params: s.byId<WorkId>(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('The work item', s.ref(workShape)),
  },
}))

export function addLaneRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'lanes'>): void {
  const on = serveOn(app, lanesOperations)
  on('listHeldLanes', async (request) => {
    const { items, nextCursor } = await api.lanes.held(request.caller.tenant, readFilter(request.query))
    return {
      items: items.map(({ work, waiting }) => {
        const shown = showWork(work)
        return { route: shown.consumer, lane: work.lane ?? '', waiting, work: shown }
      }),
      nextCursor,
    }
  })

  on('leaveLane', async (request) => {
    const { tenant, actor } = request.caller
    const { id } = request.params
    await api.lanes.leave(tenant, id, { actor, reason: request.body.reason })
    const work = await api.reads(tenant).work(id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    return showWork(work)
  })
}
