// POST /v1/events/replay: match events again, or say what that would do; GET /v1/events/{id}/body: what was received.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import { bytesOf } from '../core/ingest/bus-message/index.ts'
import type { EventFilter } from '../engine/index.ts'
import type { Log } from '../ports/log.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { mustSayWhy } from './required-reason.ts'
import { eventReplayBody, idParams, readTimes } from './schemas.ts'
import { answer, integer, ref, shape, string } from './schemas-answers.ts'
import { readBodies } from './sensitive.ts'

interface Body {
  readonly ids?: readonly EventId[]
  readonly filter?: Omit<EventFilter, 'ids' | 'from' | 'to'> & {
    readonly from?: string
    readonly to?: string
  }
  readonly dryRun: boolean
  readonly reason?: string
  readonly perSecond?: number
}

export function addEventReplayRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'replays' | 'about'>,
  log: Pick<Log, 'info'>,
): void {
  app.post<{ Body: Body }>(
    '/events/replay',
    {
      bodyLimit: BODY_BYTES_MAX.ids,
      config: { role: 'operator' },
      schema: {
        operationId: 'replayEvents',
        tags: ['events'],
        summary: 'Match events again by the definitions in force, or say what that would do',
        description:
          'Routes work under the keys that they had: what is done already is skipped. Give `ids` or `filter`; one replay takes at most 10,000 events, the oldest first.',
        body: eventReplayBody,
        response: {
          200: answer('What would happen (`dryRun`)', ref('EventReplayPreview')),
          202: answer('The replay is kept and begins', shape({ replayId: string, accepted: integer })),
        },
      },
    },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { dryRun, perSecond, reason = null } = request.body
      const filter = readFilter(request.body)
      if (dryRun) return api.replays.previewEvents(tenant, filter)
      mustSayWhy(api.about, reason)
      const paced = perSecond === undefined ? {} : { perSecond }
      const { id, total } = await api.replays.beginEvents(tenant, filter, { reason, actor, ...paced })
      reply.code(202)
      return { replayId: id, accepted: total }
    },
  )

  app.get<{ Params: { id: EventId } }>(
    '/events/:id/body',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'getEventBody',
        tags: ['events'],
        summary: 'The body of an event, byte for byte as it was received, with its content type',
        params: idParams,
        response: {
          200: {
            description: 'The body as it was received',
            content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
          },
        },
      },
    },
    async (request, reply) => {
      const stored = await api.reads(request.caller.tenant).event(request.params.id)
      if (stored === null) throw new AppError('not_found', 'there is no event with this id')
      const event = readBodies(stored, request.caller, log)
      const header = JSON.parse(event.headers) as Readonly<Record<string, unknown>>
      // It is a stranger's: no browser may take it for a page of ours.
      return reply
        .type(contentTypeOf(header) ?? (event.raw === null ? 'application/json' : 'text/plain'))
        .header('content-disposition', `attachment; filename="${event.id}"`)
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('x-content-type-options', 'nosniff')
        .send(Buffer.from(bytesOf(header, event.raw ?? event.data)))
    },
  )
}

function readFilter({ ids, filter }: Body): EventFilter {
  if ((ids === undefined) === (filter === undefined)) {
    const message = 'name events by `ids` or describe them by `filter`, one of both'
    throw new AppError('invalid_request', message, { details: { fields: [{ path: '/ids', message }] } })
  }
  if (ids !== undefined) return { ids }
  return readTimes(filter ?? {})
}

/** What a header may hold: visible characters alone. */
const CONTENT_TYPE = /^[\x21-\x7e][\x20-\x7e]{0,199}$/

function contentTypeOf(header: Readonly<Record<string, unknown>>): string | null {
  const type = header['content-type']
  return typeof type === 'string' && CONTENT_TYPE.test(type) ? type : null
}
