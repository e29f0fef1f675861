// Events on their way to endpoints: GET /v1/webhooks/deliveries[/{id}]; POST …/{id}/retry and cancel; POST …/deliveries/retry for many;
// POST /v1/webhooks/subscriptions/{name}/recover for what an endpoint has missed.

import type { FastifyInstance } from 'fastify'
import { FAILURE_CLASSES, type FailureClass } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId, WorkId } from '../core/foundation/ids/index.ts'
import { SUBSCRIPTION_PREFIX } from '../core/webhooks/subscription/index.ts'
import {
  DELIVERY_STATES,
  type DeliveriesFilter,
  type DeliveriesPreview,
  type DeliveryState,
  RECOVERED,
} from '../engine/index.ts'
import { logSensitiveRead } from '../engine/secrets/index.ts'
import type { Log } from '../ports/log.ts'
import type { HttpApi } from './api.ts'
import { mustSayWhy } from './required-reason.ts'
import {
  fields,
  idParams,
  neededReasonBody,
  oneOf,
  type PageQuery,
  page,
  perSecond,
  readInstant,
  readTimes,
  reason,
  splitQuery,
  text,
} from './schemas.ts'
import { answer, integer, pageOf, ref, shape, string } from './schemas-answers.ts'
import { readerOf } from './sensitive.ts'
import { iso, isoOrNull } from './shapes.ts'
import { seesTokens, showDelivery, showDeliveryAttempt, showRequest } from './shapes-webhooks.ts'

const tags = ['webhooks']
const moment = { type: 'string', format: 'date-time' } as const
const why = { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' } as const
const dryRun = { type: 'boolean', default: false, description: 'Only say what would happen.' } as const
const force = {
  type: 'boolean',
  default: false,
  description: 'Also what was replayed in vain three times.',
} as const
const begun = answer('It is kept and begins', shape({ replayId: string, accepted: integer }))

type Api = Pick<HttpApi, 'reads' | 'subscriptions' | 'deliveries' | 'replays' | 'about'>

export function addDeliveryRoutes(app: FastifyInstance, api: Api, log: Pick<Log, 'info'>): void {
  interface ListQuery extends PageQuery {
    readonly subscription?: string
    readonly state?: DeliveryState
    readonly eventId?: EventId
    readonly from?: string
    readonly to?: string
  }
  app.get<{ Querystring: ListQuery }>(
    '/webhooks/deliveries',
    {
      schema: {
        operationId: 'listDeliveries',
        tags,
        summary: 'Deliveries, newest first',
        description: 'A page may hold fewer items than asked while `nextCursor` is not null.',
        querystring: fields({
          ...page,
          subscription: text,
          state: oneOf(DELIVERY_STATES),
          eventId: text,
          from: { ...moment, description: 'Made at this instant or later.' },
          to: { ...moment, description: 'Made before this instant.' },
        }),
        response: { 200: answer('A page', pageOf(ref('Delivery'))) },
      },
    },
    async ({ caller, query }) => {
      const { cursor, limit, ...filter } = readTimes(splitQuery(query))
      const found = await api.deliveries.list(caller.tenant, filter, { cursor, limit })
      return { items: found.items.map(showDelivery), nextCursor: found.nextCursor }
    },
  )

  app.get<{ Params: { id: WorkId } }>(
    '/webhooks/deliveries/:id',
    {
      schema: {
        operationId: 'getDelivery',
        tags,
        summary: 'A delivery with every try, how each answer began, and what would be sent now',
        params: idParams,
        response: { 200: answer('The delivery', ref('DeliveryDetail')) },
      },
    },
    async ({ caller, params }) => {
      const delivery = await api.deliveries.find(caller.tenant, params.id)
      if (delivery === null) throw new AppError('not_found', 'there is no delivery with this id')
      const reads = api.reads(caller.tenant)
      const [attempts, request, event] = await Promise.all([
        reads.attempts(params.id),
        api.deliveries.request(caller.tenant, params.id),
        reads.event(delivery.work.eventId),
      ])
      // A subscription may say that what is sensitive is sent: whoever sees it then is told of in the log.
      if (event !== null && event.sensitive.length > 0 && request.ok && seesTokens(caller))
        logSensitiveRead(log, event, readerOf(caller))
      return {
        ...showDelivery(delivery),
        history: attempts.map(showDeliveryAttempt),
        ...showRequest(request, caller),
      }
    },
  )

  app.post<{ Params: { id: WorkId }; Body: { reason?: string } }>(
    '/webhooks/deliveries/:id/retry',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'retryDelivery',
        tags,
        summary: 'Send it now: one that waits at once, a dead one by its letter, any other once more',
        description:
          'What was delivered, skipped or cancelled is sent as a new delivery of the same event, with the same `webhook-id`, and needs a `reason`.',
        params: idParams,
        body: fields({ reason: why }),
        response: {
          202: answer(
            'It goes out',
            shape({
              how: {
                ...oneOf(['hurried', 'replayed', 'resent']),
                description:
                  '`hurried`: it is due now. `replayed`: its dead letter. `resent`: a new delivery of the same event.',
              },
              deliveryId: { ...string, description: 'The delivery that goes out: itself, or the new one.' },
            }),
          ),
        },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { reason: said = null } = body
      mustSayWhy(api.about, said)
      const decided = { actor: caller.actor, reason: said }
      const { how, workId } = await api.deliveries.retry(caller.tenant, params.id, decided)
      reply.code(202)
      return { how, deliveryId: workId }
    },
  )

  app.post<{ Params: { id: WorkId }; Body: { reason: string } }>(
    '/webhooks/deliveries/:id/cancel',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'cancelDelivery',
        tags,
        summary: 'End a delivery that is not over; it is not sent any more',
        params: idParams,
        body: neededReasonBody,
        response: { 200: answer('The delivery', ref('Delivery')) },
      },
    },
    async ({ caller, params, body }) => {
      const { tenant, actor } = caller
      await api.deliveries.cancel(tenant, params.id, { actor, reason: body.reason })
      const delivery = await api.deliveries.find(tenant, params.id)
      if (delivery === null) throw new AppError('not_found', 'there is no delivery with this id')
      return showDelivery(delivery)
    },
  )

  interface ManyBody {
    readonly filter: {
      readonly subscription: string
      readonly class?: FailureClass
      readonly cause?: string
      readonly since?: string
      readonly until?: string
    }
    readonly dryRun: boolean
    readonly force: boolean
    readonly perSecond?: number
    readonly reason?: string
  }
  app.post<{ Body: ManyBody }>(
    '/webhooks/deliveries/retry',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'retryDeliveries',
        tags,
        summary:
          'Replay the dead deliveries of a subscription that a filter finds, or say what that would do',
        body: fields(
          {
            filter: fields(
              {
                subscription: text,
                class: oneOf(FAILURE_CLASSES),
                cause: { ...text, description: 'As the groups of dead letters tell it.' },
                since: { ...moment, description: 'Died at this instant or later.' },
                until: { ...moment, description: 'Died before this instant.' },
              },
              ['subscription'],
            ),
            dryRun,
            force,
            perSecond,
            reason: why,
          },
          ['filter'],
        ),
        response: { 200: answer('What would happen (`dryRun`)', ref('ReplayPreview')), 202: begun },
      },
    },
    async ({ caller, body }, reply) => {
      const { tenant, actor } = caller
      const { subscription, since, until, ...rest } = body.filter
      await api.subscriptions.find(tenant, subscription)
      const filter = readTimes({
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
    },
  )

  interface RecoverBody {
    readonly since: string
    readonly until?: string
    readonly what: DeliveriesFilter['what']
    readonly dryRun: boolean
    readonly force: boolean
    readonly perSecond?: number
    readonly reason?: string
  }
  app.post<{ Params: { name: string }; Body: RecoverBody }>(
    '/webhooks/subscriptions/:name/recover',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'recoverSubscription',
        tags,
        summary: 'Send what an endpoint has missed since a time, or say what that would be',
        description:
          'Walks the events since then and takes those that the subscription wants as it is now: what is dead is replayed, what was never sent is sent, what arrived or is under way is left. There is no cap on their number; `GET /v1/replays/{id}` says how far it is.',
        params: fields({ name: text }, ['name']),
        body: fields(
          {
            since: { ...moment, description: 'Of events received at this instant or later.' },
            until: { ...moment, description: 'Received before this instant; left out: now.' },
            what: {
              ...oneOf(RECOVERED),
              default: 'all',
              description:
                '`failed`: what is dead. `missing`: what was never sent. `all`: both. `retrying`: what waits for another try is due now.',
            },
            dryRun,
            force,
            perSecond,
            reason: why,
          },
          ['since'],
        ),
        response: {
          200: answer('What would happen (`dryRun`)', ref('RecoveryPreview')),
          202: answer('It is kept and begins', shape({ replayId: string })),
        },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { tenant, actor } = caller
      const filter = {
        subscription: params.name,
        since: readInstant(body.since),
        ...(body.until !== undefined && { until: readInstant(body.until) }),
        what: body.what,
      }
      if (body.dryRun) return showRecovery(await api.replays.previewDeliveries(tenant, filter))
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
    },
  )
}

function showRecovery({ items, walkedTo, oldestEventAt, ...preview }: DeliveriesPreview) {
  return {
    ...preview,
    items: items.map((item) => ({ ...item, receivedAt: iso(item.receivedAt) })),
    walkedTo: isoOrNull(walkedTo),
    oldestEventAt: isoOrNull(oldestEventAt),
  }
}
