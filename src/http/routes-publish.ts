// POST /v1/events: events that a client publishes, as CloudEvents in any of the three modes.
//
// Everything is checked before anything is written. Events that the store could not store are reported one by one.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type CloudFault,
  type CloudResult,
  type PublishDraft,
  parseBinary,
  parseStructured,
  toDraft,
} from '../core/events/cloudevent/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { JsonError, type JsonValue, parseJson } from '../core/foundation/json/index.ts'
import type { HttpApi } from './api.ts'
import { CLOUD_BATCH, CLOUD_EVENT } from './cloudevents.ts'
import { refusedJson } from './json-refusal.ts'
import { operations, serveOn, shape } from './operations.ts'
import type { Serving } from './serving.ts'

const BATCH_MAX = 500
const DEPTH_MAX = 64
const FAULTS_TOLD_MAX = 20

export const cloudEventShape = shape('CloudEvent', 'A CloudEvent 1.0.', (s) =>
  s
    .object({
      specversion: s.literal('1.0').meta({ type: 'string', const: '1.0' }),
      id: s.textOf(1_024).describe('With `source`, the name of the event.'),
      source: s.textOf(1_024).describe('A URI reference.'),
      type: s.textOf(255).describe('The subject of the event.'),
      subject: s.nullable(s.string).describe('The id of the object that it is about.').optional(),
      time: s.nullable(s.instant).optional(),
      datacontenttype: s.nullable(s.string).optional(),
      dataschema: s.nullable(s.string).optional(),
      data: s.any.describe('The payload: JSON, or a text where `datacontenttype` is not JSON.').optional(),
      data_base64: s
        .nullable(s.string)
        .describe('The payload where it is bytes; instead of `data`.')
        .optional(),
    })
    .meta({ additionalProperties: { type: ['string', 'integer', 'boolean', 'null'] } }),
)

const publishedShape = shape('Published', '', (s) =>
  s.union(
    s.object({
      id: s.string.describe('The `id` that was sent.'),
      eventId: s.string.describe('Its id here; of a duplicate, that of the first.'),
      duplicate: s.boolean,
    }),
    s.object({
      items: s.list(
        s.object({
          id: s.string.describe('The `id` that was sent.'),
          eventId: s.string.describe('Its id here; of a duplicate, that of the first.'),
          duplicate: s.boolean,
        }),
      ),
    }),
  ),
)

export const publishOperations = operations('events', (s) => ({
  publishEvents: {
    at: 'POST /v1/events',
    config: { isIdempotent: true },
    summary: 'Publish events as CloudEvents',
    description:
      'One event as JSON, a batch of up to 500, or one in binary mode: attributes as headers `ce-…`, the data as the body. `type` is the subject. Publishing is idempotent by `source` and `id` for seven days. The answer comes when all is durable; if the store fails for some, the answer is 503 and `details.items` says which were kept: send all of it again.',
    content: {
      'application/cloudevents+json': s.ref(cloudEventShape),
      'application/cloudevents-batch+json': s.list(s.ref(cloudEventShape)).max(500),
      '*/*': s.any.describe('Binary mode: the data itself.'),
    },
    answers: {
      202: s.answer('Kept and durable: the one, or an item for each, in order.', s.ref(publishedShape)),
    },
  },
}))

export function addPublishRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'publish'>,
  { limits }: Pick<Serving, 'limits'>,
): void {
  // Its own readers: in binary mode a body of any type is data.
  app.register(async (scope) => {
    const on = serveOn(scope, publishOperations)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      /^application\/cloudevents(-batch)?\+json/i,
      { parseAs: 'string' },
      (request, body, done) => {
        // The event, and the list of a batch, stand around the data.
        const around = mediaTypeOf(request) === CLOUD_BATCH ? 2 : 1
        try {
          done(null, parseJson(body as string, { depth: DEPTH_MAX + around, duplicateKeys: 'refuse' }))
        } catch (error) {
          done(error instanceof JsonError ? refusedJson(error, DEPTH_MAX) : (error as Error))
        }
      },
    )
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    on(
      'publishEvents',
      async (request, reply) => {
        const { results, isBatch } = readEvents(request)
        const drafts = checkAll(results, isBatch)
        const outcomes = await api.publish(request.caller.tenant, drafts)
        const items = outcomes.map((outcome, index) => {
          const id = drafts[index]?.dedupKey ?? ''
          return outcome.ok
            ? { id, eventId: outcome.eventId, duplicate: outcome.duplicate }
            : { id, code: outcome.error.code }
        })
        const failed = outcomes.find((outcome) => !outcome.ok)
        if (failed !== undefined && !failed.ok) throw isBatch ? partly(failed.error, items) : failed.error
        return reply.code(202).send(isBatch ? { items } : items[0])
      },
      { bodyLimit: limits.eventBodyLimit, validatorCompiler: () => () => true },
    )
  })
}

function mediaTypeOf({ headers }: FastifyRequest): string {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function readEvents(request: FastifyRequest): { results: readonly CloudResult[]; isBatch: boolean } {
  const { body, headers } = request
  const type = mediaTypeOf(request)
  if (type === CLOUD_EVENT) return { results: [parseStructured(body as JsonValue)], isBatch: false }
  if (type !== CLOUD_BATCH) {
    if (headers['ce-specversion'] === undefined) {
      throw new AppError(
        'wrong_type',
        'this is no CloudEvent: neither the content type nor a header says so',
        {
          next: `Send \`content-type: ${CLOUD_EVENT}\`, or the attributes as headers \`ce-…\`, \`ce-specversion: 1.0\` among them.`,
        },
      )
    }
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    return { results: [parseBinary(headers, bytes, DEPTH_MAX)], isBatch: false }
  }
  if (!Array.isArray(body)) {
    throw new AppError('event_invalid', 'a batch is a JSON list of events')
  }
  if (body.length > BATCH_MAX) {
    throw new AppError('event_invalid', `a batch has at most ${BATCH_MAX} events`, {
      next: 'Send them in several batches.',
    })
  }
  return { results: (body as readonly JsonValue[]).map(parseStructured), isBatch: true }
}

/** All of them, or a refusal that names what is wrong with each. */
function checkAll(results: readonly CloudResult[], isBatch: boolean): readonly PublishDraft[] {
  const drafts: PublishDraft[] = []
  const faults: (CloudFault & { readonly index: number })[] = []
  for (const [index, result] of results.entries()) {
    const drafted = result.ok ? toDraft(result.event) : result
    if (drafted.ok) drafts.push(drafted.draft)
    else faults.push(...drafted.faults.map((fault) => ({ index, ...fault })))
  }
  const [first] = faults
  if (first === undefined) return drafts
  const place = isBatch ? `event ${first.index}: ` : ''
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  throw new AppError('event_invalid', `${place}\`${first.attribute}\`: ${first.message}${more}`, {
    details: { faults: faults.slice(0, FAULTS_TOLD_MAX) },
  })
}

function partly(error: AppError, items: readonly { readonly eventId?: string }[]): AppError {
  const kept = items.filter(({ eventId }) => eventId !== undefined).length
  return new AppError(error.code, `${kept} of ${items.length} events were kept`, {
    cause: error,
    details: { items },
    next: 'Send the whole batch again: those that were kept are answered as duplicates.',
  })
}
