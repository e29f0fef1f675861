// GET /v1/dead-letters and /v1/dead-letters/{id}; POST /v1/dead-letters/{id}/replay.

import type { FastifyInstance } from 'fastify'
import type { DeadLetterState } from '../core/dead-letter/index.ts'
import { AppError } from '../core/errors/index.ts'
import type { FailureClass } from '../core/failure/index.ts'
import type { DeadLetterId } from '../core/ids/index.ts'
import type { HttpApi } from './api.ts'
import { deadLettersQuery, idParams, type PageQuery, replayBody, splitQuery, toConsumer } from './schemas.ts'
import { answer, integer, pageOf, ref, shape, string } from './schemas-answers.ts'
import { showAttempt, showDeadLetter, showEnvelope, withJsonMember } from './shapes.ts'

export function addDeadLetterRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'replayDeadLetter'>,
): void {
  type ListQuery = PageQuery & { state?: DeadLetterState; consumer?: string; class?: FailureClass }
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
      const { consumer, ...query } = splitQuery(request.query)
      const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
      const { items, nextCursor } = await api.reads(request.caller.tenant).deadLetters(filter)
      return { items: items.map(showDeadLetter), nextCursor }
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
      const envelope = event === null ? 'null' : withJsonMember(showEnvelope(event), 'data', event.data)
      return reply.type('application/json').send(withJsonMember(shown, 'event', envelope))
    },
  )

  app.post<{ Params: { id: DeadLetterId }; Body: { force: boolean; reason?: string } }>(
    '/dead-letters/:id/replay',
    {
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
      const { force, reason = null } = request.body
      const { workId } = await api.replayDeadLetter(tenant, request.params.id, { force, reason, actor })
      reply.code(202)
      return { replayId: workId, accepted: 1, workId }
    },
  )
}
