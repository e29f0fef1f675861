// POST /v1/events/replay: match events again, or say what that would do; GET /v1/events/{id}/body: what was received.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import { bytesOf } from '../core/ingest/bus-message/index.ts'
import { type EventFilter, withFacts } from '../engine/index.ts'
import { drift, madeEffect, rateCost, replayOptions, verdictTotals } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readConditions } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { readEvent, seenByCaller } from './seen-events.ts'
import { readBodies } from './sensitive.ts'
import type { Serving } from './serving.ts'

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

const eventReplayPreviewShape = shape(
  'EventReplayPreview',
  'What a replay of events would do, route by route.',
  (s) =>
    s.object({
      items: s
        .list(
          s.object({
            id: s.string,
            subject: s.nullable(s.string).describe('null: there is no such event.'),
            consumers: s.list(
              s.object({
                name: s.string.describe('A route, or the source where the event is in the way.'),
                verdict: s.enum(['would-skip', 'would-call', 'would-differ', 'would-wait', 'would-fail']),
                reason: s.string,
                diff: s
                  .list(drift(s))
                  .describe('What is other than when it was tried before. Sensitive values are hidden.')
                  .optional(),
                effect: madeEffect(s).describe('With would-skip: the effect that is there.').optional(),
              }),
            ),
          }),
        )
        .describe('The oldest of them.'),
      totals: verdictTotals(s).describe('Of the consumers in `items`.'),
      calls: s.record(s.integer).describe('How many calls each host would get, for `items`.'),
      cost: s.list(rateCost(s)).describe('What these calls take of the rate limits.'),
      matched: s.integer.describe('How many events the filter finds in all.'),
      isCapped: s.boolean.describe('There are more events than `items`.'),
    }),
)

export const eventReplaysOperations = operations('events', (s) => ({
  replayEvents: {
    at: 'POST /v1/events/replay',
    config: { role: 'operator' },
    summary: 'Match events again by the definitions in force, or say what that would do',
    description:
      'Routes work under the keys that they had: what is done already is skipped. Give `ids` or `filter`; one replay takes at most 10,000 events, the oldest first.',
    body: s.filters({
      ids: s
        .list(s.as<EventId>(s.textOf(128)))
        .min(1)
        .max(500)
        .meta({ uniqueItems: true })
        .describe('These events, in this order; instead of `filter`.'),
      filter: s.filters({
        source: s.text,
        subject: s.text,
        from: s.instant.describe('Received at this instant or later.'),
        to: s.instant.describe('Received before this instant.'),
        unmatched: s.boolean.describe('`true`: only unmatched events.'),
        system: s.boolean.describe(
          '`true`: also the events about Millrace itself, which are left out otherwise. The source `millrace` asks for them too.',
        ),
      }),
      dryRun: replayOptions(s).dryRun,
      reason: s.why,
      perSecond: replayOptions(s).perSecond,
    }),
    answers: {
      200: s.answer('What would happen (`dryRun`)', s.ref(eventReplayPreviewShape)),
      202: s.answer('The replay is kept and begins', s.object({ replayId: s.string, accepted: s.integer })),
    },
  },
  getEventBody: {
    at: 'GET /v1/events/:id/body',
    config: { role: 'operator' },
    summary: 'The body of an event, byte for byte as it was received, with its content type',
    params: s.byId<EventId>(),
    answer: s.other('The body as it was received', { '*/*': s.string.meta({ format: 'binary' }) }),
  },
}))

export function addEventReplayRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'replays' | 'workflows' | 'about'>,
  { log }: Pick<Serving, 'log'>,
): void {
  const on = serveOn(app, eventReplaysOperations)
  on(
    'replayEvents',
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { dryRun, perSecond, reason = null } = request.body
      const filter = readFilter(request.body)
      const maySee = (workflow: string) => api.workflows.reading.maySee(request.caller, workflow)
      if (dryRun) return api.replays.previewEvents(tenant, filter, maySee)
      mustSayWhy(api.about, reason)
      const paced = perSecond === undefined ? {} : { perSecond }
      const { id, total } = await api.replays.beginEvents(tenant, filter, { reason, actor, ...paced }, maySee)
      reply.code(202)
      return { replayId: id, accepted: total }
    },
    { bodyLimit: BODY_BYTES_MAX.ids },
  )

  on('getEventBody', async (request, reply) => {
    const reads = seenByCaller(api, request.caller, withFacts(api.reads(request.caller.tenant)))
    const stored = await readEvent(reads, request.params.id)
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
  })
}

function readFilter({ ids, filter }: Body): EventFilter {
  if ((ids === undefined) === (filter === undefined)) {
    const message = 'name events by `ids` or describe them by `filter`, one of both'
    throw new AppError('invalid_request', message, { details: { fields: [{ path: '/ids', message }] } })
  }
  if (ids !== undefined) return { ids }
  return readConditions(filter ?? {})
}

/** What a header may hold: visible characters alone. */
const CONTENT_TYPE = /^[\x21-\x7e][\x20-\x7e]{0,199}$/

function contentTypeOf(header: Readonly<Record<string, unknown>>): string | null {
  const type = header['content-type']
  return typeof type === 'string' && CONTENT_TYPE.test(type) ? type : null
}
