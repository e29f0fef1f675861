// GET /v1/failures, /v1/failures/{id}, /v1/escalations and /v1/escalations/{id}; POST /v1/escalations/{id}/acknowledge.

import type { FastifyInstance } from 'fastify'
import {
  ESCALATION_STATES,
  type Escalation,
  type EscalationState,
} from '../core/failures/escalation/index.ts'
import {
  FAILURE_CLASSES,
  FAILURE_STATES,
  type Failure,
  type FailureClass,
  type FailureState,
  REPORTED_AS,
} from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EscalationId, FailureId } from '../core/foundation/ids/index.ts'
import type { HttpApi } from './api.ts'
import {
  fields,
  idParams,
  oneOf,
  type PageQuery,
  page,
  plainText,
  splitQuery,
  text,
  toConsumer,
} from './schemas.ts'
import { answer, pageOf, ref } from './schemas-answers.ts'
import { iso, isoOrNull, present, splitConsumer } from './shapes.ts'

const failuresQuery = fields({
  ...page,
  state: oneOf(FAILURE_STATES),
  consumer: text,
  class: oneOf(FAILURE_CLASSES),
  cause: { ...text, description: 'The `cause` of an escalation: the failures that it counts.' },
})
const escalationsQuery = fields({ ...page, state: oneOf(ESCALATION_STATES), consumer: text })
const acknowledgeBody = fields({
  note: { type: 'string', minLength: 1, maxLength: 1_000, ...plainText, description: 'It is kept.' },
})

export function addFailureRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'escalations'>): void {
  interface FailuresQuery extends PageQuery {
    readonly state?: FailureState
    readonly consumer?: string
    readonly class?: FailureClass
    readonly cause?: string
  }
  app.get<{ Querystring: FailuresQuery }>(
    '/failures',
    {
      schema: {
        operationId: 'listFailures',
        tags: ['failures'],
        summary: 'What went wrong, newest first',
        querystring: failuresQuery,
        response: { 200: answer('A page', pageOf(ref('Failure'))) },
      },
    },
    async (request) => {
      const { consumer, ...query } = splitQuery(request.query)
      const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
      const { items, nextCursor } = await api.reads(request.caller.tenant).failures(filter)
      return { items: items.map(showFailure), nextCursor }
    },
  )

  app.get<{ Params: { id: FailureId } }>(
    '/failures/:id',
    {
      schema: {
        operationId: 'getFailure',
        tags: ['failures'],
        summary: 'A failure',
        params: idParams,
        response: { 200: answer('The failure', ref('Failure')) },
      },
    },
    async (request) => {
      const failure = await api.reads(request.caller.tenant).failure(request.params.id)
      if (failure === null) throw new AppError('not_found', 'there is no failure with this id')
      return showFailure(failure)
    },
  )

  interface EscalationsQuery extends PageQuery {
    readonly state?: EscalationState
    readonly consumer?: string
  }
  app.get<{ Querystring: EscalationsQuery }>(
    '/escalations',
    {
      schema: {
        operationId: 'listEscalations',
        tags: ['failures'],
        summary: 'What people should look at, newest first',
        querystring: escalationsQuery,
        response: { 200: answer('A page', pageOf(ref('Escalation'))) },
      },
    },
    async (request) => {
      const { consumer, ...query } = splitQuery(request.query)
      const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
      const { items, nextCursor } = await api.reads(request.caller.tenant).escalations(filter)
      return { items: items.map(showEscalation), nextCursor }
    },
  )

  app.get<{ Params: { id: EscalationId } }>(
    '/escalations/:id',
    {
      schema: {
        operationId: 'getEscalation',
        tags: ['failures'],
        summary: 'An escalation',
        params: idParams,
        response: { 200: answer('The escalation', ref('Escalation')) },
      },
    },
    async (request) => {
      const escalation = await api.reads(request.caller.tenant).escalation(request.params.id)
      if (escalation === null) throw new AppError('not_found', 'there is no escalation with this id')
      return showEscalation(escalation)
    },
  )

  app.post<{ Params: { id: EscalationId }; Body: { note?: string } }>(
    '/escalations/:id/acknowledge',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'acknowledgeEscalation',
        tags: ['failures'],
        summary: 'Take an escalation over; what fails of its cause afterwards raises another one',
        params: idParams,
        body: acknowledgeBody,
        response: { 200: answer('The escalation', ref('Escalation')) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const note = request.body.note ?? null
      return showEscalation(await api.escalations.acknowledge(tenant, request.params.id, { actor, note }))
    },
  )
}

function showFailure(failure: Failure) {
  return {
    id: failure.id,
    state: failure.state,
    class: failure.class,
    reason: failure.reason,
    reportedAs: REPORTED_AS[failure.class],
    severity: failure.severity,
    consumer: splitConsumer(failure.consumer),
    eventId: failure.eventId,
    workId: failure.workId,
    attempts: failure.attempts,
    lastError: failure.lastError,
    willRetryAt: isoOrNull(failure.willRetryAt),
    cause: failure.cause,
    correlationId: failure.correlationId,
    createdAt: iso(failure.createdAt),
    updatedAt: iso(failure.updatedAt),
    ...present({ key: failure.key }),
  }
}

function showEscalation(escalation: Escalation) {
  return {
    id: escalation.id,
    state: escalation.state,
    cause: escalation.cause,
    class: escalation.class,
    reason: escalation.reason,
    reportedAs: REPORTED_AS[escalation.class],
    severity: escalation.severity,
    consumer: splitConsumer(escalation.consumer),
    count: escalation.count,
    lastError: escalation.lastError,
    workId: escalation.workId,
    isAnnounced: escalation.isAnnounced,
    acknowledgedBy: escalation.acknowledgedBy,
    note: escalation.note,
    createdAt: iso(escalation.createdAt),
    updatedAt: iso(escalation.updatedAt),
    ...present({ runbook: escalation.runbook }),
  }
}
