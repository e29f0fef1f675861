// GET /v1/events and /v1/events/{id}: what was accepted, and everything that followed from it.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/errors/index.ts'
import type { EventId } from '../core/ids/index.ts'
import type { HttpApi } from './api.ts'
import { eventsQuery, idParams, type PageQuery, splitQuery } from './schemas.ts'
import { answer, pageOf, ref } from './schemas-answers.ts'
import { showConsumers, showEnvelope, withJsonMember } from './shapes.ts'
import { readStory } from './story.ts'

export function addEventRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads'>): void {
  type ListQuery = PageQuery & { source?: string; subject?: string; unmatched?: boolean }
  app.get<{ Querystring: ListQuery }>(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        tags: ['events'],
        summary: 'Accepted events, newest first',
        querystring: eventsQuery,
        response: { 200: answer('A page', pageOf(ref('Event'))) },
      },
    },
    async (request) => {
      const reads = api.reads(request.caller.tenant)
      const { items, nextCursor } = await reads.events(splitQuery(request.query))
      const shown = items.map(async (event) => ({
        ...showEnvelope(event),
        consumers: event.matched === 0 ? [] : showConsumers(await reads.workOfEvent(event.id)),
      }))
      return { items: await Promise.all(shown), nextCursor }
    },
  )

  app.get<{ Params: { id: EventId } }>(
    '/events/:id',
    {
      schema: {
        operationId: 'getEvent',
        tags: ['events'],
        summary: 'An event and everything that followed from it',
        params: idParams,
        response: { 200: answer('The event', ref('EventDetail')) },
      },
    },
    async (request, reply) => {
      const reads = api.reads(request.caller.tenant)
      const event = await reads.event(request.params.id)
      if (event === null) throw new AppError('not_found', 'there is no event with this id')
      const work = await reads.workOfEvent(event.id)
      const shown = {
        ...showEnvelope(event),
        headers: JSON.parse(event.headers),
        consumers: showConsumers(work),
        story: await Promise.all(work.map((item) => readStory(reads, item))),
      }
      return reply.type('application/json').send(withJsonMember(shown, 'data', event.data))
    },
  )
}
