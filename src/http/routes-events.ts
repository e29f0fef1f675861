// GET /v1/events, /v1/events/{id} and /v1/unmatched: what was accepted, and everything that followed from it.

import type { FastifyInstance } from 'fastify'
import { isCanonicalSource } from '../core/events/canonical/index.ts'
import {
  deadLetterOfEdit,
  type EventSummary,
  editedFrom,
  type StoredEvent,
  showEnvelope,
} from '../core/events/event/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId } from '../core/foundation/ids/index.ts'
import type { WorkRow } from '../core/queue/work/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'
import { asksForSystem, listReads, readEdit, withFacts } from '../engine/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { envelopeShape, eventFields, workStoryShape } from './answer-shapes.ts'
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
import { operations, serveOn, shape } from './operations.ts'
import { readFilter } from './queries.ts'
import { cloudEventShape } from './routes-publish.ts'
import type { Kit } from './schema-kit.ts'
import { readEvent, seenByCaller } from './seen-events.ts'
import { showBodies } from './sensitive.ts'
import type { Serving } from './serving.ts'
import { iso, present, showConsumers, withJsonMember } from './shapes.ts'

/** One event rarely causes more; the rest is found by its correlation id. */
const FOLLOW_UPS_MAX = 100

const consumerShape = shape('Consumer', 'Who wanted an event, and how far it got.', (s) =>
  s.object({
    kind: s.string,
    name: s.string,
    workId: s.string,
    state: s.enum(WORK_STATES),
    attempts: s.integer,
    class: s.enum(FAILURE_CLASSES).optional(),
  }),
)

const eventShape = shape('Event', 'An accepted event, as lists show it.', (s) =>
  s.object({ ...eventFields(s), consumers: s.list(s.ref(consumerShape)) }),
)

const eventEditShape = shape(
  'EventEdit',
  'Who edited an event, when, why, and which fields. Copies that an earlier version made have only `from`, `deadLetterId` and `at`.',
  (s) =>
    s.object({
      from: s.string.describe('The event that was copied; it stays as it was.'),
      deadLetterId: s.string,
      at: s.instant,
      by: s.string.optional(),
      reason: s.string.optional(),
      changed: s
        .list(s.string)
        .describe(
          'Paths in the payload that differ, at most 50; the empty path is all of it. Below a sensitive path only that path is named.',
        )
        .optional(),
      hasMore: s.boolean.describe('Whether more fields differ than `changed` names.').optional(),
      payloadHashBefore: s.string.optional(),
    }),
)

const eventDetailShape = shape('EventDetail', 'An event and everything that followed from it.', (s) =>
  s.extend(envelopeShape.declare, {
    headers: s.anyObject,
    consumers: s.list(s.ref(consumerShape)),
    story: s
      .list(s.ref(workStoryShape))
      .describe('The newest work of the event, oldest first; at most 50. `consumers` has all of it.'),
    followUps: s.list(s.ref(eventShape)).describe('Events that this one caused, oldest first; at most 100.'),
    edited: s.ref(eventEditShape).optional(),
  }),
)

const eventFilters = (s: Kit) => ({
  source: s.text,
  subject: s.text,
  objectId: s.text.describe('About this object.'),
  correlationId: s.text.describe('Of this chain of causes.'),
  from: s.instant.describe('Received at this instant or later.'),
  to: s.instant.describe('Received before this instant.'),
  q: s
    .textOf(200)
    .describe(
      'A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. Or the whole key of an effect, as the ledger has it.',
    ),
})

export const eventsOperations = operations('events', (s) => ({
  listEvents: {
    at: 'GET /v1/events',
    summary: 'Accepted events, newest first',
    description:
      'A page looks at a bounded number of events: with a filter it may hold fewer items than asked for, or none, while `nextCursor` goes on. As CloudEvents, a page is a batch of up to 100, with their payloads, and the header `link` leads on.',
    query: s.page({
      ...eventFilters(s),
      unmatched: s.boolean,
      system: s.boolean.describe(
        '`true`: also the events about Millrace itself, such as `webhook.delivered`, which are left out otherwise. The source `millrace` and the id of one in `q` ask for them too.',
      ),
    }),
    answer: s.pageOf(s.ref(eventShape), 'A page', {
      'application/cloudevents-batch+json': s.list(s.ref(cloudEventShape)),
    }),
  },
  listUnmatched: {
    at: 'GET /v1/unmatched',
    summary: 'Unmatched events, newest first',
    query: s.page(eventFilters(s)),
    answer: s.pageOf(s.ref(eventShape)),
  },
  getEvent: {
    at: 'GET /v1/events/:id',
    summary: 'An event and everything that followed from it',
    params: s.byId<EventId>(),
    answer: s.answer('The event', s.ref(eventDetailShape), {
      'application/cloudevents+json': s.ref(cloudEventShape),
    }),
  },
}))

export function addEventRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows'>,
  { log }: Pick<Serving, 'log'>,
): void {
  const on = serveOn(app, eventsOperations)
  type Filters = Readonly<
    Partial<
      Record<'cursor' | 'source' | 'subject' | 'objectId' | 'correlationId' | 'from' | 'to' | 'q', string>
    >
  >
  const list = async (
    reads: TenantReads,
    query: Filters & { readonly limit: number; readonly unmatched?: boolean; readonly system?: boolean },
  ) => {
    const { system: _system, ...conditions } = query
    const filter = readFilter(conditions)
    const [{ items, nextCursor }, ofKey] = await Promise.all([
      reads.events(filter),
      query.q === undefined ? [] : findByKey(reads, query.q, filter),
    ])
    const found = asksForSystem(query) ? ofKey : ofKey.filter(({ source }) => !isCanonicalSource(source))
    // They come first, and on no later page again.
    const others = items.filter(({ id }) => found.every((event) => event.id !== id))
    const shown = filter.cursor === null ? [...found, ...others] : others
    return { items: await withConsumers(reads, shown), nextCursor }
  }

  on('listEvents', async (request, reply) => {
    const { caller, query, url } = request
    const stored = api.reads(caller.tenant)
    const { system: _system, ...conditions } = query
    const all = listReads(stored, query)
    const reads = seenByCaller(api, caller, all)
    if (!asksFor(request, CLOUD_BATCH)) return list(reads, query)
    // A batch is cut by how many events the page has: those that the caller may not see count.
    const page = (limit: number) => all.events(readFilter({ ...conditions, limit }))
    const show = (event: StoredEvent) => showCloudEvent(event, caller, log)
    const { text, nextCursor } = await readBatch(reads, page, query.limit, show)
    return sendCloudEvent(reply.headers(linkToNext(url, nextCursor)), CLOUD_BATCH, text)
  })

  on('listUnmatched', (request) =>
    list(seenByCaller(api, request.caller, api.reads(request.caller.tenant)), {
      ...request.query,
      unmatched: true,
    }),
  )

  on('getEvent', async (request, reply) => {
    const reads = seenByCaller(api, request.caller, withFacts(api.reads(request.caller.tenant)))
    const event = await readEvent(reads, request.params.id)
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
  })
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
