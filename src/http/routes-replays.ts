// POST /v1/dead-letters/replay: many at once, or a look at what would happen; GET /v1/replays and /v1/replays/{id};
// POST /v1/replays/{id}/cancel.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { ReplayFilter } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { mustSayWhy } from './required-reason.ts'
import {
  bulkReplayBody,
  fields,
  idParams,
  type PageQuery,
  page,
  readTimes,
  reasonBody,
  splitQuery,
  toConsumer,
} from './schemas.ts'
import { answer, integer, pageOf, ref, shape, string } from './schemas-answers.ts'
import { showReplay } from './shapes.ts'

type AskedFilter = Omit<ReplayFilter, 'from' | 'to'> & { readonly from?: string; readonly to?: string }

interface BulkBody {
  readonly filter: AskedFilter
  readonly dryRun: boolean
  readonly force: boolean
  readonly again: boolean
  readonly perSecond?: number
  readonly reason?: string
}

export function addReplayRoutes(app: FastifyInstance, api: Pick<HttpApi, 'replays' | 'about'>): void {
  app.post<{ Body: BulkBody }>(
    '/dead-letters/replay',
    {
      bodyLimit: BODY_BYTES_MAX.ids,
      config: { role: 'operator' },
      schema: {
        operationId: 'replayDeadLetters',
        tags: ['dead letters'],
        summary: 'Replay all dead letters that a filter finds, or say what that would do',
        body: bulkReplayBody,
        response: {
          200: answer('What would happen (`dryRun`)', ref('ReplayPreview')),
          202: answer('The replay is kept and begins', shape({ replayId: string, accepted: integer })),
        },
      },
    },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { dryRun, force, again, perSecond, reason = null } = request.body
      const filter = readFilter(request.body.filter)
      if (dryRun) return api.replays.preview(tenant, filter, { force, again })
      mustSayWhy(api.about, reason)
      const paced = perSecond === undefined ? {} : { perSecond }
      const { id, total } = await api.replays.begin(tenant, filter, {
        force,
        again,
        reason,
        actor,
        ...paced,
      })
      reply.code(202)
      return { replayId: id, accepted: total }
    },
  )

  app.get<{ Querystring: PageQuery }>(
    '/replays',
    {
      schema: {
        operationId: 'listReplays',
        tags: ['dead letters'],
        summary: 'Replays of many dead letters, newest first',
        querystring: fields(page),
        response: { 200: answer('A page', pageOf(ref('Replay'))) },
      },
    },
    async (request) => {
      const { items, nextCursor } = await api.replays.list(request.caller.tenant, splitQuery(request.query))
      return { items: items.map(showReplay), nextCursor }
    },
  )

  app.get<{ Params: { id: string } }>(
    '/replays/:id',
    {
      schema: {
        operationId: 'getReplay',
        tags: ['dead letters'],
        summary: 'A replay and how far it is',
        params: idParams,
        response: { 200: answer('The replay', ref('Replay')) },
      },
    },
    async (request) => {
      const replay = await api.replays.find(request.caller.tenant, request.params.id)
      if (replay === null) throw new AppError('not_found', 'there is no replay with this id')
      return showReplay(replay)
    },
  )

  app.post<{ Params: { id: string }; Body: { reason?: string } }>(
    '/replays/:id/cancel',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'cancelReplay',
        tags: ['dead letters'],
        summary: 'Stop a replay; what it replayed already runs on',
        params: idParams,
        body: reasonBody,
        response: { 200: answer('The replay', ref('Replay')) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const decided = { actor, reason: request.body.reason ?? null }
      return showReplay(await api.replays.cancel(tenant, request.params.id, decided))
    },
  )
}

function readFilter({ consumer, ...asked }: AskedFilter): ReplayFilter {
  const filter = readTimes(asked)
  const others = Object.keys({ ...filter, ...(consumer !== undefined && { consumer }) })
  if (filter.ids !== undefined && others.length > 1) {
    const message = 'name letters or describe them, not both'
    throw new AppError('invalid_request', message, {
      details: { fields: [{ path: '/filter/ids', message }] },
    })
  }
  return consumer === undefined ? filter : { ...filter, consumer: toConsumer(consumer) }
}
