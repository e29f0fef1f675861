// GET /v1/work and /v1/work/{id}; POST /v1/work/{id}/resolve, probe, retry and cancel: operator actions on jobs.

import type { FastifyInstance } from 'fastify'
import type { FailureClass } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../core/foundation/ids/index.ts'
import type { WorkRow, WorkState } from '../core/queue/work/index.ts'
import type { HttpApi } from './api.ts'
import { readStory } from './job-timeline.ts'
import {
  idParams,
  neededReasonBody,
  type PageQuery,
  reasonBody,
  resolveBody,
  splitQuery,
  toConsumer,
  workQuery,
} from './schemas.ts'
import { answer, pageOf, ref } from './schemas-answers.ts'
import { present, showWork } from './shapes.ts'

export function addWorkRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'work' | 'definitions'>,
): void {
  const versionOf = ({ tenant, consumer, definition }: WorkRow): Promise<number | null> => {
    const [kind, name = ''] = consumer.split(/:(.*)/s)
    return api.definitions.versionOf(tenant, kind === 'source' ? 'Source' : 'Route', name, definition)
  }
  type WorkQuery = PageQuery & { state?: WorkState; consumer?: string; class?: FailureClass }
  const list = {
    operationId: 'listWork',
    tags: ['work'],
    summary: 'Work items, newest first',
    querystring: workQuery,
    response: { 200: answer('A page', pageOf(ref('Work'))) },
  }
  app.get<{ Querystring: WorkQuery }>('/work', { schema: list }, async (request) => {
    const { consumer, ...query } = splitQuery(request.query)
    const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
    const { items, nextCursor } = await api.reads(request.caller.tenant).workList(filter)
    return { items: items.map(showWork), nextCursor }
  })

  const one = {
    operationId: 'getWork',
    tags: ['work'],
    summary: 'A work item with its tries, its effect and its dead letter',
    params: idParams,
    response: { 200: answer('The work item', ref('WorkStory')) },
  }
  app.get<{ Params: { id: WorkId } }>('/work/:id', { schema: one }, async (request) => {
    const reads = api.reads(request.caller.tenant)
    const work = await reads.work(request.params.id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    const [story, definitionVersion] = await Promise.all([readStory(reads, work), versionOf(work)])
    return { ...story, ...present({ definitionVersion }) }
  })

  app.post<{ Params: { id: WorkId }; Body: { as: 'done' | 'released'; reason: string; key?: string } }>(
    '/work/:id/resolve',
    {
      schema: {
        operationId: 'resolveWork',
        tags: ['work'],
        summary: 'Say what became of a parked item’s effect',
        params: idParams,
        body: resolveBody,
        response: { 200: answer('The work item', ref('Work')) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { as, reason, key } = request.body
      const about = key === undefined ? {} : { key }
      await api.work.resolve(tenant, request.params.id, { as, reason, actor, ...about })
      return showAgain(tenant, request.params.id)
    },
  )

  const showAgain = async (tenant: TenantId, id: WorkId) => {
    const work = await api.reads(tenant).work(id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    return showWork(work)
  }
  const acted = { 200: answer('The work item', ref('Work')) }
  const body = { params: idParams, body: reasonBody, tags: ['work'], response: acted }
  type Act = { Params: { id: WorkId }; Body: { reason?: string } }
  app.post<Act>(
    '/work/:id/probe',
    {
      config: { role: 'operator' },
      schema: {
        ...body,
        operationId: 'probeWork',
        summary: 'Ask the vendor what became of a parked item’s effect',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      await api.work.probe(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
      return showAgain(tenant, request.params.id)
    },
  )
  app.post<Act>(
    '/work/:id/retry',
    {
      config: { role: 'operator' },
      schema: {
        ...body,
        operationId: 'retryWork',
        summary: 'Make a ready item due at once, or let a parked one look again',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      await api.work.retry(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
      return showAgain(tenant, request.params.id)
    },
  )
  app.post<{ Params: { id: WorkId }; Body: { reason: string } }>(
    '/work/:id/cancel',
    {
      config: { role: 'operator' },
      schema: {
        ...body,
        body: neededReasonBody,
        operationId: 'cancelWork',
        summary: 'End an item that is ready or parked; what is unknown of its effect stays unknown',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      await api.work.cancel(tenant, request.params.id, { actor, reason: request.body.reason })
      return showAgain(tenant, request.params.id)
    },
  )
}
