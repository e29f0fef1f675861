// GET /v1/failures, /v1/failures/{id}, /v1/escalations and /v1/escalations/{id}; POST /v1/escalations/{id}/acknowledge.

import type { FastifyInstance } from 'fastify'
import { ESCALATION_STATES, type Escalation } from '../core/failures/escalation/index.ts'
import { FAILURE_CLASSES, FAILURE_STATES, type Failure, REPORTED_AS } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EscalationId, FailureId } from '../core/foundation/ids/index.ts'
import { consumerName } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import { iso, isoOrNull, present, splitConsumer } from './shapes.ts'

const failureShape = shape(
  'Failure',
  'What went wrong with a work item, until it is resolved or escalated.',
  (s) =>
    s.object({
      id: s.string,
      state: s.enum(FAILURE_STATES),
      class: s.enum(FAILURE_CLASSES),
      reason: s.nullable(s.string).describe('Why retries have stopped; null while they continue.'),
      reportedAs: s.enum([...new Set(Object.values(REPORTED_AS))]),
      severity: s.string,
      consumer: consumerName(s),
      eventId: s.string,
      workId: s
        .nullable(s.string)
        .describe(
          'The item that failed last: a replay goes on with the failure. null: a connection fails, and its jobs wait.',
        ),
      attempts: s.integer,
      lastError: s.string,
      willRetryAt: s.nullable(s.instant).describe('null: not by itself.'),
      cause: s.nullable(s.string).describe('That of its escalation.'),
      correlationId: s.string,
      createdAt: s.instant,
      updatedAt: s.instant,
      key: s.string.optional(),
    }),
)

const escalationShape = shape(
  'Escalation',
  'Failures of one cause, listed until an operator acknowledges them.',
  (s) =>
    s.object({
      id: s.string,
      state: s.enum(ESCALATION_STATES),
      cause: s.string.describe('What its failures have in common.'),
      class: s.enum(FAILURE_CLASSES),
      reason: s.string,
      reportedAs: s.enum([...new Set(Object.values(REPORTED_AS))]),
      severity: s.string,
      consumer: consumerName(s),
      count: s.integer.describe('How many failures it stands for.'),
      lastError: s.string.describe('As the latest of them says it.'),
      workId: s.nullable(s.string).describe('The latest of them; null: it is about the consumer.'),
      isAnnounced: s.boolean.describe('Its event is out.'),
      acknowledgedBy: s.nullable(s.string),
      note: s.nullable(s.string),
      createdAt: s.instant,
      updatedAt: s.instant,
      runbook: s.string.optional(),
    }),
)

export const failuresOperations = operations('failures', (s) => ({
  listFailures: {
    at: 'GET /v1/failures',
    summary: 'What went wrong, newest first',
    query: s.page({
      state: s.enum(FAILURE_STATES),
      consumer: s.text,
      class: s.enum(FAILURE_CLASSES),
      cause: s.text.describe('The `cause` of an escalation: the failures that it counts.'),
    }),
    answer: s.pageOf(s.ref(failureShape)),
    table: {
      columns: [
        ['SINCE', 'createdAt'],
        ['ID', 'id'],
        ['STATE', 'state'],
        ['CONSUMER', 'consumer', 10],
        ['CLASS', 'class'],
        ['ATTEMPTS', 'attempts'],
        ['ERROR', 'lastError', 12],
      ],
      filters: { cause: 'only of this escalation: its cause' },
      empty: 'No failures.',
    },
  },
  getFailure: {
    at: 'GET /v1/failures/:id',
    summary: 'A failure',
    params: s.byId<FailureId>(),
    answer: s.answer('The failure', s.ref(failureShape)),
  },
  listEscalations: {
    at: 'GET /v1/escalations',
    summary: 'What people should look at, newest first',
    query: s.page({ state: s.enum(ESCALATION_STATES), consumer: s.text }),
    answer: s.pageOf(s.ref(escalationShape)),
    table: {
      columns: [
        ['SINCE', 'createdAt'],
        ['ID', 'id'],
        ['STATE', 'state'],
        ['COUNT', 'count'],
        ['CONSUMER', 'consumer', 10],
        ['CLASS', 'class'],
        ['REASON', 'reason'],
        ['ERROR', 'lastError', 12],
      ],
      empty: 'No escalations.',
    },
  },
  getEscalation: {
    at: 'GET /v1/escalations/:id',
    summary: 'An escalation',
    params: s.byId<EscalationId>(),
    answer: s.answer('The escalation', s.ref(escalationShape)),
  },
  acknowledgeEscalation: {
    at: 'POST /v1/escalations/:id/acknowledge',
    config: { role: 'operator' },
    summary: 'Take an escalation over; what fails of its cause afterwards raises another one',
    params: s.byId<EscalationId>(),
    body: s.filters({
      note: s.textOf(1_000).meta({ ...s.plain, description: 'It is kept.' }),
    }),
    answer: s.answer('The escalation', s.ref(escalationShape)),
  },
}))

export function addFailureRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'escalations'>): void {
  const on = serveOn(app, failuresOperations)
  on('listFailures', async (request) => {
    const filter = readFilter(request.query)
    return showPage(await api.reads(request.caller.tenant).failures(filter), showFailure)
  })

  on('getFailure', async (request) => {
    const failure = await api.reads(request.caller.tenant).failure(request.params.id)
    if (failure === null) throw new AppError('not_found', 'there is no failure with this id')
    return showFailure(failure)
  })
  on('listEscalations', async (request) => {
    const filter = readFilter(request.query)
    return showPage(await api.reads(request.caller.tenant).escalations(filter), showEscalation)
  })

  on('getEscalation', async (request) => {
    const escalation = await api.reads(request.caller.tenant).escalation(request.params.id)
    if (escalation === null) throw new AppError('not_found', 'there is no escalation with this id')
    return showEscalation(escalation)
  })

  on('acknowledgeEscalation', async (request) => {
    const { tenant, actor } = request.caller
    const note = request.body.note ?? null
    return showEscalation(await api.escalations.acknowledge(tenant, request.params.id, { actor, note }))
  })
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
    workId: failure.workId === '' ? null : failure.workId,
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
