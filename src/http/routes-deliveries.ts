// Events on their way to endpoints: GET /v1/webhooks/deliveries[/{id}]; POST …/{id}/retry and cancel; POST …/deliveries/retry for many;
// POST /v1/webhooks/subscriptions/{name}/recover for what an endpoint has missed.

import type { FastifyInstance } from 'fastify'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId, WorkId } from '../core/foundation/ids/index.ts'
import { SUBSCRIPTION_PREFIX } from '../core/webhooks/subscription/index.ts'
import { DELIVERY_STATES, type DeliveriesPreview, RECOVERED, RECOVERY_VERDICTS } from '../engine/index.ts'
import { logSensitiveRead } from '../engine/secrets/index.ts'
import { attemptShape, replayOptions, replayPreviewShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readConditions, readFilter, readInstant } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { readerOf } from './sensitive.ts'
import type { Serving } from './serving.ts'
import { iso, isoOrNull } from './shapes.ts'
import { seesTokens, showDelivery, showDeliveryAttempt, showRequest } from './shapes-webhooks.ts'

type Api = Pick<HttpApi, 'reads' | 'subscriptions' | 'deliveries' | 'replays' | 'workflows' | 'about'>

const deliveryShape = shape('Delivery', 'One event on its way to one endpoint.', (s) =>
  s.object({
    id: s.string,
    subscription: s.string,
    eventId: s.string.describe('Sent as `webhook-id`, the same in every try.'),
    subject: s.nullable(s.string).describe('Of the event; null: the event is gone.'),
    state: s.enum(DELIVERY_STATES),
    attempts: s.integer,
    dueAt: s.instant.describe('When it is tried next, while it is not over.'),
    createdAt: s.instant,
    httpStatus: s.integer.describe('Of the last answer.').optional(),
    durationMs: s.number.describe('Of the last try.').optional(),
    class: s.enum(FAILURE_CLASSES).optional(),
    error: s.string.describe('Of the last try, or why it was skipped or cancelled.').optional(),
    processedAt: s.instant.describe('When it was over.').optional(),
    deadLetterId: s.string.optional(),
    replayOf: s.string.describe('The dead letter or the event that was sent again.').optional(),
  }),
)

const deliveryAttemptShape = shape('DeliveryAttempt', 'One try of a delivery.', (s) =>
  s.extend(attemptShape.declare, {
    response: s.string
      .describe('How the answer began: status, a few headers, the first 1,024 characters.')
      .optional(),
  }),
)

const deliveryDetailShape = shape('DeliveryDetail', 'A delivery with every try.', (s) =>
  s.extend(deliveryShape.declare, {
    history: s.list(s.ref(deliveryAttemptShape)).describe('Every try.'),
    request: s
      .nullable(
        s.object({
          url: s.string,
          headers: s.record(s.string),
          body: s.nullable(s.string).describe('null: the caller may not see it.'),
        }),
      )
      .describe(
        'What would be sent now; the signature is made when it is sent. null: it cannot be made, `requestError` says why.',
      ),
    requestError: s.string.optional(),
  }),
)

const recoveryPreviewShape = shape('RecoveryPreview', 'What a recovery would do; nothing was done.', (s) =>
  s.object({
    totals: s
      .object({
        failed: s.integer,
        missing: s.integer,
        delivered: s.integer,
        'under-way': s.integer,
        'given-up': s.integer,
        unmatched: s.integer,
      })
      .describe(
        'Of the events looked at that the subscription wants. `failed`: the dead letter would be replayed; `missing`: it would be sent for the first time; the others are left as they are.',
      ),
    recovered: s.integer.describe('How many would go out, by what was asked for.'),
    items: s
      .list(
        s.object({
          eventId: s.string,
          subject: s.string,
          receivedAt: s.instant,
          verdict: s.enum(RECOVERY_VERDICTS),
          deadLetterId: s.nullable(s.string),
        }),
      )
      .describe('The first of those that would go out.'),
    walked: s.integer.describe('How many events were looked at.'),
    walkedTo: s.nullable(s.instant).describe('Up to when.'),
    isComplete: s.boolean.describe(
      'All were looked at; a preview looks at a bounded number, a recovery at all.',
    ),
    oldestEventAt: s.nullable(s.instant).describe('Of the oldest event that is kept: what is older is gone.'),
  }),
)

export const deliveriesOperations = operations('webhooks', (s) => ({
  listDeliveries: {
    at: 'GET /v1/webhooks/deliveries',
    summary: 'Deliveries, newest first',
    description: 'A page may hold fewer items than asked while `nextCursor` is not null.',
    query: s.page({
      subscription: s.text,
      state: s.enum(DELIVERY_STATES),
      eventId: s.as<EventId>(s.text),
      from: s.instant.describe('Made at this instant or later.'),
      to: s.instant.describe('Made before this instant.'),
    }),
    answer: s.pageOf(s.ref(deliveryShape)),
  },
  getDelivery: {
    at: 'GET /v1/webhooks/deliveries/:id',
    summary: 'A delivery with every try, how each answer began, and what would be sent now',
    params: s.byId<WorkId>(),
    answer: s.answer('The delivery', s.ref(deliveryDetailShape)),
  },
  retryDelivery: {
    at: 'POST /v1/webhooks/deliveries/:id/retry',
    config: { role: 'operator' },
    summary: 'Send it now: one that waits at once, a dead one by its letter, any other once more',
    description:
      'What was delivered, skipped or cancelled is sent as a new delivery of the same event, with the same `webhook-id`, and needs a `reason`.',
    params: s.byId<WorkId>(),
    body: s.filters({ reason: s.why }),
    answers: {
      202: s.answer(
        'It goes out',
        s.object({
          how: s
            .enum(['hurried', 'replayed', 'resent'])
            .describe(
              '`hurried`: it is due now. `replayed`: its dead letter. `resent`: a new delivery of the same event.',
            ),
          deliveryId: s.string.describe('The delivery that goes out: itself, or the new one.'),
        }),
      ),
    },
  },
  cancelDelivery: {
    at: 'POST /v1/webhooks/deliveries/:id/cancel',
    config: { role: 'operator' },
    summary: 'End a delivery that is not over; it is not sent any more',
    params: s.byId<WorkId>(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('The delivery', s.ref(deliveryShape)),
  },
  retryDeliveries: {
    at: 'POST /v1/webhooks/deliveries/retry',
    config: { role: 'operator' },
    summary: 'Replay the dead deliveries of a subscription that a filter finds, or say what that would do',
    body: s.fields({
      filter: s.fields({
        subscription: s.text,
        class: s.enum(FAILURE_CLASSES).optional(),
        cause: s.text.describe('As the groups of dead letters tell it.').optional(),
        since: s.instant.describe('Died at this instant or later.').optional(),
        until: s.instant.describe('Died before this instant.').optional(),
      }),
      dryRun: replayOptions(s).dryRun,
      force: replayOptions(s).force,
      perSecond: replayOptions(s).perSecond.optional(),
      reason: s.why.optional(),
    }),
    answers: {
      200: s.answer('What would happen (`dryRun`)', s.ref(replayPreviewShape)),
      202: s.answer('It is kept and begins', s.object({ replayId: s.string, accepted: s.integer })),
    },
  },
  recoverSubscription: {
    at: 'POST /v1/webhooks/subscriptions/:name/recover',
    config: { role: 'operator' },
    summary: 'Send what an endpoint has missed since a time, or say what that would be',
    description:
      'Walks the events since then and takes those that the subscription wants as it is now: what is dead is replayed, what was never sent is sent, what arrived or is under way is left. There is no cap on their number; `GET /v1/replays/{id}` says how far it is.',
    params: s.fields({ name: s.text }),
    body: s.fields({
      since: s.instant.describe('Of events received at this instant or later.'),
      until: s.instant.describe('Received before this instant; left out: now.').optional(),
      what: s
        .enum(RECOVERED)
        .default('all')
        .describe(
          '`failed`: what is dead. `missing`: what was never sent. `all`: both. `retrying`: what waits for another try is due now.',
        ),
      dryRun: replayOptions(s).dryRun,
      force: replayOptions(s).force,
      perSecond: replayOptions(s).perSecond.optional(),
      reason: s.why.optional(),
    }),
    answers: {
      200: s.answer('What would happen (`dryRun`)', s.ref(recoveryPreviewShape)),
      202: s.answer('It is kept and begins', s.object({ replayId: s.string })),
    },
  },
}))

export function addDeliveryRoutes(app: FastifyInstance, api: Api, { log }: Pick<Serving, 'log'>): void {
  const on = serveOn(app, deliveriesOperations)
  on('listDeliveries', async ({ caller, query }) => {
    const { cursor, limit, ...filter } = readFilter(query)
    const found = await api.deliveries.list(caller.tenant, filter, { cursor, limit })
    return { items: found.items.map(showDelivery), nextCursor: found.nextCursor }
  })

  on('getDelivery', async ({ caller, params }) => {
    const delivery = await api.deliveries.find(caller.tenant, params.id)
    if (delivery === null) throw new AppError('not_found', 'there is no delivery with this id')
    const reads = api.reads(caller.tenant)
    const [attempts, request, event] = await Promise.all([
      reads.attempts(params.id),
      api.deliveries.request(caller.tenant, params.id),
      reads.event(delivery.work.eventId),
    ])
    // A subscription may send sensitive data; the log records each caller who sees it here.
    if (event !== null && event.sensitive.length > 0 && request.ok && seesTokens(caller))
      logSensitiveRead(log, event, readerOf(caller))
    return {
      ...showDelivery(delivery),
      history: attempts.map(showDeliveryAttempt),
      ...showRequest(request, caller),
    }
  })

  on('retryDelivery', async ({ caller, params, body }, reply) => {
    const { reason: said = null } = body
    mustSayWhy(api.about, said)
    const decided = { actor: caller.actor, reason: said }
    const { how, workId } = await api.deliveries.retry(caller.tenant, params.id, decided)
    reply.code(202)
    return { how, deliveryId: workId }
  })

  on('cancelDelivery', async ({ caller, params, body }) => {
    const { tenant, actor } = caller
    await api.deliveries.cancel(tenant, params.id, { actor, reason: body.reason })
    const delivery = await api.deliveries.find(tenant, params.id)
    if (delivery === null) throw new AppError('not_found', 'there is no delivery with this id')
    return showDelivery(delivery)
  })
  on('retryDeliveries', async ({ caller, body }, reply) => {
    const { tenant, actor } = caller
    const { subscription, since, until, ...rest } = body.filter
    await api.subscriptions.find(tenant, subscription)
    const filter = readConditions({
      ...rest,
      ...(since !== undefined && { from: since }),
      ...(until !== undefined && { to: until }),
      consumer: `${SUBSCRIPTION_PREFIX}${subscription}`,
    })
    const options = { force: body.force, again: false }
    if (body.dryRun) return api.replays.preview(tenant, filter, options)
    const { reason: said = null } = body
    mustSayWhy(api.about, said)
    const { id, total } = await api.replays.begin(tenant, filter, {
      ...options,
      reason: said,
      actor,
      ...(body.perSecond !== undefined && { perSecond: body.perSecond }),
    })
    reply.code(202)
    return { replayId: id, accepted: total }
  })
  on('recoverSubscription', async ({ caller, params, body }, reply) => {
    const { tenant, actor } = caller
    const filter = {
      subscription: params.name,
      since: readInstant(body.since),
      ...(body.until !== undefined && { until: readInstant(body.until) }),
      what: body.what,
    }
    const maySee = (workflow: string) => api.workflows.reading.maySee(caller, workflow)
    if (body.dryRun) return showRecovery(await api.replays.previewDeliveries(tenant, filter, maySee))
    const { reason: said = null } = body
    mustSayWhy(api.about, said, 'a recovery')
    const { id } = await api.replays.beginDeliveries(tenant, filter, {
      reason: said,
      actor,
      force: body.force,
      ...(body.perSecond !== undefined && { perSecond: body.perSecond }),
    })
    reply.code(202)
    return { replayId: id }
  })
}

function showRecovery({ items, walkedTo, oldestEventAt, ...preview }: DeliveriesPreview) {
  return {
    ...preview,
    items: items.map((item) => ({ ...item, receivedAt: iso(item.receivedAt) })),
    walkedTo: isoOrNull(walkedTo),
    oldestEventAt: isoOrNull(oldestEventAt),
  }
}
