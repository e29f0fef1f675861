// GET /v1/work and /v1/work/{id}; POST /v1/work/{id}/resolve, probe, retry and cancel: operator actions on jobs.

import type { FastifyInstance } from 'fastify'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../core/foundation/ids/index.ts'
import type { WorkRow } from '../core/queue/work/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'
import { workShape, workStoryShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { readStory } from './job-timeline.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import { present, showWork } from './shapes.ts'

export const workOperations = operations('work', (s) => ({
  listWork: {
    at: 'GET /v1/work',
    summary: 'Work items, newest first',
    query: s.page({ state: s.enum(WORK_STATES), consumer: s.text, class: s.enum(FAILURE_CLASSES) }),
    answer: s.pageOf(s.ref(workShape)),
  },
  getWork: {
    at: 'GET /v1/work/:id',
    summary: 'A work item with its tries, its effect and its dead letter',
    params: s.byId<WorkId>(),
    answer: s.answer('The work item', s.ref(workStoryShape)),
  },
  resolveWork: {
    at: 'POST /v1/work/:id/resolve',
    summary: 'Say what became of a parked item’s effect',
    params: s.byId<WorkId>(),
    body: s.fields({
      as: s.enum(['done', 'released']),
      reason: s.reason,
      key: s.string
        .min(1)
        .describe('The effect that you looked at; a conflict if the item is about another one by now.')
        .optional(),
    }),
    answer: s.answer('The work item', s.ref(workShape)),
  },
  probeWork: {
    at: 'POST /v1/work/:id/probe',
    config: { role: 'operator' },
    summary: 'Ask the vendor what became of a parked item’s effect',
    params: s.byId<WorkId>(),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The work item', s.ref(workShape)),
  },
  retryWork: {
    at: 'POST /v1/work/:id/retry',
    config: { role: 'operator' },
    summary: 'Make a ready item due at once, or let a parked one look again',
    params: s.byId<WorkId>(),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The work item', s.ref(workShape)),
  },
  cancelWork: {
    at: 'POST /v1/work/:id/cancel',
    config: { role: 'operator' },
    summary: 'End an item that is ready or parked; what is unknown of its effect stays unknown',
    params: s.byId<WorkId>(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('The work item', s.ref(workShape)),
  },
}))

export function addWorkRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'work' | 'definitions'>,
): void {
  const on = serveOn(app, workOperations)
  const versionOf = ({ tenant, consumer, definition }: WorkRow): Promise<number | null> => {
    const [kind, name = ''] = consumer.split(/:(.*)/s)
    return api.definitions.versionOf(tenant, kind === 'source' ? 'Source' : 'Route', name, definition)
  }
  on('listWork', async (request) => {
    const filter = readFilter(request.query)
    return showPage(await api.reads(request.caller.tenant).workList(filter), showWork)
  })
  on('getWork', async (request) => {
    const reads = api.reads(request.caller.tenant)
    const work = await reads.work(request.params.id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    const [story, definitionVersion] = await Promise.all([readStory(reads, work), versionOf(work)])
    return { ...story, ...present({ definitionVersion }) }
  })

  on('resolveWork', async (request) => {
    const { tenant, actor } = request.caller
    const { as, reason, key } = request.body
    const about = key === undefined ? {} : { key }
    await api.work.resolve(tenant, request.params.id, { as, reason, actor, ...about })
    return showAgain(tenant, request.params.id)
  })

  const showAgain = async (tenant: TenantId, id: WorkId) => {
    const work = await api.reads(tenant).work(id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    return showWork(work)
  }
  on('probeWork', async (request) => {
    const { tenant, actor } = request.caller
    await api.work.probe(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
    return showAgain(tenant, request.params.id)
  })
  on('retryWork', async (request) => {
    const { tenant, actor } = request.caller
    await api.work.retry(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
    return showAgain(tenant, request.params.id)
  })
  on('cancelWork', async (request) => {
    const { tenant, actor } = request.caller
    await api.work.cancel(tenant, request.params.id, { actor, reason: request.body.reason })
    return showAgain(tenant, request.params.id)
  })
}
