// GET /v1/events, /v1/events/{id} and /v1/unmatched: what was accepted, and everything that followed from it.

import type { FastifyInstance } from 'fastify'
import {
  deadLetterOfEdit,
  type EventSummary,
  editedFrom,
  type StoredEvent,
  showEnvelope,
} from '../core/events/event/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import type { WorkRow } from '../core/queue/work/index.ts'
import { readEdit } from '../engine/index.ts'
import type { Log } from '../ports/log.ts'
import type { TenantReads } from '../ports/store.ts'
import type { HttpApi } from './api.ts'
import {
  asksFor,
  CLOUD_BATCH,
  CLOUD_EVENT,
  linkToNext,
  readBatch,
  sendCloudEvent,
  showCloudEvent,
} from './cloudevents.ts'
import { readStories } from './job-timeline.ts'
import { eventsQuery, idParams, type PageQuery, readTimes, splitQuery, unmatchedQuery } from './schemas.ts'
import { answer, listOf, orElse, pageOf, ref } from './schemas-answers.ts'
import { showBodies } from './sensitive.ts'
import { iso, present, showConsumers, withJsonMember } from './shapes.ts'

/** One event rarely causes more; the rest is found by its correlation id. */
const FOLLOW_UPS_MAX = 100

export function addEventRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads'>,
  log: Pick<Log, 'info'>,
): void {
  type Filters = Readonly<
    Partial<Record<'source' | 'subject' | 'objectId' | 'correlationId' | 'from' | 'to' | 'q', string>>
  >
  const list = async (reads: TenantReads, query: PageQuery & Filters & { unmatched?: boolean }) => {
    const filter = readTimes(splitQuery(query))
    const [{ items, nextCursor }, ofKey] = await Promise.all([
      reads.events(filter),
      query.q === undefined ? [] : findByKey(reads, query.q, filter),
    ])
    // They come first, and on no later page again.
    const others = items.filter(({ id }) => ofKey.every((event) => event.id !== id))
    const shown = filter.cursor === null ? [...ofKey, ...others] : others
    return { items: await withConsumers(reads, shown), nextCursor }
  }

  app.get<{ Querystring: PageQuery & Filters & { unmatched?: boolean } }>(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        tags: ['events'],
        summary: 'Accepted events, newest first',
        description:
          'A page looks at a bounded number of events: with a filter it may hold fewer items than asked for, or none, while `nextCursor` goes on. As CloudEvents, a page is a batch of up to 100, with their payloads, and the header `link` leads on.',
        querystring: eventsQuery,
        response: {
          200: orElse('A page', pageOf(ref('Event')), CLOUD_BATCH, listOf(ref('CloudEvent'))),
        },
      },
    },
    async (request, reply) => {
      const { caller, query, url } = request
      const reads = api.reads(caller.tenant)
      if (!asksFor(request, CLOUD_BATCH)) return list(reads, query)
      const page = (limit: number) => reads.events(readTimes(splitQuery({ ...query, limit })))
      const show = (event: StoredEvent) => showCloudEvent(event, caller, log)
      const { text, nextCursor } = await readBatch(reads, page, query.limit, show)
      return sendCloudEvent(reply.headers(linkToNext(url, nextCursor)), CLOUD_BATCH, text)
    },
  )

  app.get<{ Querystring: PageQuery & Filters }>(
    '/unmatched',
    {
      schema: {
        operationId: 'listUnmatched',
        tags: ['events'],
        summary: 'Events that nobody wanted, newest first',
        querystring: unmatchedQuery,
        response: { 200: answer('A page', pageOf(ref('Event'))) },
      },
    },
    (request) => list(api.reads(request.caller.tenant), { ...request.query, unmatched: true }),
  )

  app.get<{ Params: { id: EventId } }>(
    '/events/:id',
    {
      schema: {
        operationId: 'getEvent',
        tags: ['events'],
        summary: 'An event and everything that followed from it',
        params: idParams,
        response: { 200: orElse('The event', ref('EventDetail'), CLOUD_EVENT, ref('CloudEvent')) },
      },
    },
    async (request, reply) => {
      const reads = api.reads(request.caller.tenant)
      const event = await reads.event(request.params.id)
      if (event === null) throw new AppError('not_found', 'there is no event with this id')
      if (asksFor(request, CLOUD_EVENT)) {
        return sendCloudEvent(reply, CLOUD_EVENT, showCloudEvent(event, request.caller, log))
      }
      const [work, caused, edited] = await Promise.all([
        reads.workOfEvent(event.id),
        reads.causedBy(event.id, FOLLOW_UPS_MAX),
        showEdit(reads, event),
      ])
      const bodies = showBodies(event, request.caller, log)
      const shown = {
        ...showEnvelope(event),
        ...bodies.about,
        headers: JSON.parse(bodies.headers),
        consumers: showConsumers(work),
        story: await readStories(reads, work),
        followUps: await withConsumers(reads, caused),
        ...present({ edited }),
      }
      return reply.type('application/json').send(withJsonMember(shown, 'data', bodies.data))
    },
  )
}

/** A key has one effect, and one more for each that a user repeated: a search shows the newest. */
const OF_KEY_MAX = 20

/**
 * The events whose effects have exactly this key, the newest first. The ledger finds keys by their hash, so a piece of one is
 * not found.
 */
async function findByKey(
  reads: TenantReads,
  key: string,
  filter: Parameters<TenantReads['events']>[0],
): Promise<readonly EventSummary[]> {
  const entries = await reads.ledgerHistory(key)
  const ids = new Set(entries.map(({ eventId }) => eventId))
  const newest = [...ids].sort().reverse().slice(0, OF_KEY_MAX)
  const events = await Promise.all(newest.map((id) => reads.event(id)))
  return events.flatMap((event) => (event !== null && fits(event, filter) ? [event] : []))
}

function fits(event: EventSummary, filter: Parameters<TenantReads['events']>[0]): boolean {
  const { source, subject, objectId, correlationId, from, to, unmatched } = filter
  return (
    (source === undefined || event.source === source) &&
    (subject === undefined || event.subject === subject) &&
    (objectId === undefined || event.objectId === objectId) &&
    (correlationId === undefined || event.correlationId === correlationId) &&
    (from === undefined || event.receivedAt >= from) &&
    (to === undefined || event.receivedAt < to) &&
    (unmatched === undefined || (event.matched === 0) === unmatched)
  )
}

/** null: it is as it was received. */
async function showEdit(reads: TenantReads, event: StoredEvent) {
  const from = editedFrom(event)
  if (from === null) return null
  const edit = await readEdit(reads, event)
  return { from, deadLetterId: deadLetterOfEdit(event.dedupKey), at: iso(event.receivedAt), ...edit }
}

/** One question for the consumers of a whole page. */
async function withConsumers(reads: TenantReads, events: readonly EventSummary[]) {
  const matched = events.filter((event) => event.matched > 0).map(({ id }) => id)
  const work = matched.length === 0 ? [] : await reads.workOfEvents(matched)
  const byEvent = new Map<EventId, WorkRow[]>()
  for (const item of work) {
    const known = byEvent.get(item.eventId)
    if (known === undefined) byEvent.set(item.eventId, [item])
    else known.push(item)
  }
  return events.map((event) => ({
    ...showEnvelope(event),
    consumers: showConsumers(byEvent.get(event.id) ?? []),
  }))
}
