// GET /v1/lanes/held; POST /v1/work/{id}/leave-lane: who holds others up, and letting those go on.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { WorkId } from '../core/foundation/ids/index.ts'
import type { HttpApi } from './api.ts'
import { fields, idParams, neededReasonBody, type PageQuery, page, splitQuery } from './schemas.ts'
import { answer, integer, pageOf, ref, shape, string } from './schemas-answers.ts'
import { showWork } from './shapes.ts'

const heldLane = shape({
  route: string,
  lane: { ...string, description: 'What `by` gave.' },
  waiting: { ...integer, description: 'How many wait behind it.' },
  work: ref('Work'),
})

export function addLaneRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'lanes'>): void {
  const held = {
    operationId: 'listHeldLanes',
    tags: ['work'],
    summary: 'Dead and parked items that hold their lanes up, newest first',
    querystring: fields(page),
    response: { 200: answer('A page', pageOf(heldLane)) },
  }
  app.get<{ Querystring: PageQuery }>('/lanes/held', { schema: held }, async (request) => {
    const { items, nextCursor } = await api.lanes.held(request.caller.tenant, splitQuery(request.query))
    return {
      items: items.map(({ work, waiting }) => {
        const shown = showWork(work)
        return { route: shown.consumer, lane: work.lane ?? '', waiting, work: shown }
      }),
      nextCursor,
    }
  })

  app.post<{ Params: { id: WorkId }; Body: { reason: string } }>(
    '/work/:id/leave-lane',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'leaveLane',
        tags: ['work'],
        summary: 'Let those behind a dead or parked item go on; the item itself stays as it is',
        params: idParams,
        body: neededReasonBody,
        response: { 200: answer('The work item', ref('Work')) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { id } = request.params
      await api.lanes.leave(tenant, id, { actor, reason: request.body.reason })
      const work = await api.reads(tenant).work(id)
      if (work === null) throw new AppError('not_found', 'there is no work item with this id')
      return showWork(work)
    },
  )
}
