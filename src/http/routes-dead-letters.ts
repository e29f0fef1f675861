// GET /v1/dead-letters, /v1/dead-letters/groups and /v1/dead-letters/{id}; POST /v1/dead-letters/{id}/ready, replay, edit and
// discard.

import type { FastifyInstance } from 'fastify'
import { showEnvelope } from '../core/events/event/index.ts'
import type { DeadLetterReason, DeadLetterState } from '../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { DeadLetterId, TenantId } from '../core/foundation/ids/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { listDeadLetters } from '../engine/index.ts'
import type { Log } from '../ports/log.ts'
import type { HttpApi } from './api.ts'
import { mustSayWhy } from './required-reason.ts'
import {
  deadLetterGroupsQuery,
  deadLettersQuery,
  editBody,
  idParams,
  neededReasonBody,
  type PageQuery,
  readTimes,
  reasonBody,
  replayBody,
  splitQuery,
  toConsumer,
} from './schemas.ts'
import { answer, boolean, integer, listOf, pageOf, ref, shape, string } from './schemas-answers.ts'
import { showBodies } from './sensitive.ts'
import { showAttempt, showDeadLetter, showDeadLetterGroup, withJsonMember } from './shapes.ts'

export function addDeadLetterRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'deadLetters' | 'about'>,
  limits: { readonly eventBodyLimit: number },
  log: Pick<Log, 'info'>,
): void {
  interface ListQuery extends PageQuery {
    readonly state?: DeadLetterState
    readonly consumer?: string
    readonly class?: FailureClass
    readonly reason?: DeadLetterReason
    readonly cause?: string
    readonly key?: string
    readonly correlationId?: string
    readonly severity?: string
    readonly from?: string
    readonly to?: string
  }
  app.get<{ Querystring: ListQuery }>(
    '/dead-letters',
    {
      schema: {
        operationId: 'listDeadLetters',
        tags: ['dead letters'],
        summary: 'Dead letters, newest first',
        querystring: deadLettersQuery,
        response: { 200: answer('A page', pageOf(ref('DeadLetter'))) },
      },
    },
    async (request) => {
      const { consumer, ...query } = readTimes(splitQuery(request.query))
      const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
      const { items, nextCursor } = await listDeadLetters(api.reads(request.caller.tenant), filter)
      return { items: items.map(showDeadLetter), nextCursor }
    },
  )

  app.get<{ Querystring: { state: DeadLetterState } }>(
    '/dead-letters/groups',
    {
      schema: {
        operationId: 'listDeadLetterGroups',
        tags: ['dead letters'],
        summary: 'Dead letters of one state grouped by what killed them, the largest group first',
        querystring: deadLetterGroupsQuery,
        response: {
          200: answer(
            'The groups, all at once',
            shape({
              items: listOf(ref('DeadLetterGroup')),
              nextCursor: { type: 'null' },
              isCapped: { ...boolean, description: 'There are more letters or groups than were looked at.' },
            }),
          ),
        },
      },
    },
    async (request) => {
      const { groups, isCapped } = await api.reads(request.caller.tenant).deadLetterGroups(request.query)
      return { items: groups.map(showDeadLetterGroup), nextCursor: null, isCapped }
    },
  )

  app.get<{ Params: { id: DeadLetterId } }>(
    '/dead-letters/:id',
    {
      schema: {
        operationId: 'getDeadLetter',
        tags: ['dead letters'],
        summary: 'A dead letter with its event and its tries',
        params: idParams,
        response: { 200: answer('The dead letter', ref('DeadLetterDetail')) },
      },
    },
    async (request, reply) => {
      const reads = api.reads(request.caller.tenant)
      const letter = await reads.deadLetter(request.params.id)
      if (letter === null) throw new AppError('not_found', 'there is no dead letter with this id')
      const [event, attempts] = await Promise.all([
        reads.event(letter.eventId),
        reads.attempts(letter.workId),
      ])
      const shown = { ...showDeadLetter(letter), history: attempts.map(showAttempt) }
      const bodies = event === null ? null : showBodies(event, request.caller, log)
      const envelope =
        event === null || bodies === null
          ? 'null'
          : withJsonMember({ ...showEnvelope(event), ...bodies.about }, 'data', bodies.data)
      return reply.type('application/json').send(withJsonMember(shown, 'event', envelope))
    },
  )

  app.post<{ Params: { id: DeadLetterId }; Body: { force: boolean; again: boolean; reason?: string } }>(
    '/dead-letters/:id/replay',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'replayDeadLetter',
        tags: ['dead letters'],
        summary: 'Replay a dead letter with the definition in force, under the same key',
        params: idParams,
        body: replayBody,
        response: {
          202: answer('A new work item', shape({ replayId: string, accepted: integer, workId: string })),
        },
      },
    },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { force, again, reason = null } = request.body
      mustSayWhy(api.about, reason)
      const options = { force, again, reason, actor }
      const { workId } = await api.deadLetters.replay(tenant, request.params.id, options)
      reply.code(202)
      return { replayId: workId, accepted: 1, workId }
    },
  )

  const showAgain = async (tenant: TenantId, id: DeadLetterId) => {
    const letter = await api.reads(tenant).deadLetter(id)
    if (letter === null) throw new AppError('not_found', 'there is no dead letter with this id')
    return showDeadLetter(letter)
  }
  const response = { 200: answer('The dead letter', ref('DeadLetter')) }
  const common = { params: idParams, tags: ['dead letters'], response }
  app.post<{ Params: { id: DeadLetterId }; Body: { reason?: string } }>(
    '/dead-letters/:id/ready',
    {
      config: { role: 'operator' },
      schema: {
        ...common,
        body: reasonBody,
        operationId: 'readyDeadLetter',
        summary: 'Say that what was wrong is mended: it may be replayed',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      await api.deadLetters.ready(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
      return showAgain(tenant, request.params.id)
    },
  )
  app.post<{ Params: { id: DeadLetterId }; Body: { data: JsonValue; reason: string } }>(
    '/dead-letters/:id/edit',
    {
      bodyLimit: limits.eventBodyLimit,
      config: { role: 'operator' },
      schema: {
        ...common,
        body: editBody,
        operationId: 'editDeadLetter',
        summary:
          'Replay a copy of its event with another payload; the original stays as it is, and so does the key',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { data, reason } = request.body
      await api.deadLetters.edit(tenant, request.params.id, { data, reason, actor })
      return showAgain(tenant, request.params.id)
    },
  )
  app.post<{ Params: { id: DeadLetterId }; Body: { reason: string } }>(
    '/dead-letters/:id/discard',
    {
      config: { role: 'operator' },
      schema: {
        ...common,
        body: neededReasonBody,
        operationId: 'discardDeadLetter',
        summary: 'Give a dead letter up: nobody will replay it',
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      await api.deadLetters.discard(tenant, request.params.id, { reason: request.body.reason, actor })
      return showAgain(tenant, request.params.id)
    },
  )
}
