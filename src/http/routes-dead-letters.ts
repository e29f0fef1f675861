// GET /v1/dead-letters, /v1/dead-letters/groups and /v1/dead-letters/{id}; POST /v1/dead-letters/{id}/ready, replay, edit and
// discard.

import type { FastifyInstance } from 'fastify'
import { showEnvelope } from '../core/events/event/index.ts'
import { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from '../core/failures/dead-letter/index.ts'
import { FAILURE_CLASSES, REPORTED_AS } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { DeadLetterId, TenantId } from '../core/foundation/ids/index.ts'
import { listDeadLetters } from '../engine/index.ts'
import { attemptShape, consumerName, deadLetterShape, envelopeShape, replayOptions } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { assertSeesRestricted, showBodies } from './sensitive.ts'
import type { Serving } from './serving.ts'
import { showAttempt, showDeadLetter, showDeadLetterGroup, withJsonMember } from './shapes.ts'

const deadLetterDetailShape = shape('DeadLetterDetail', 'A dead letter with its event and its tries.', (s) =>
  s.extend(deadLetterShape.declare, {
    history: s.list(s.ref(attemptShape)),
    event: s.nullable(s.ref(envelopeShape)),
  }),
)

const deadLetterGroupShape = shape(
  'DeadLetterGroup',
  'Dead letters of one consumer that failed alike.',
  (s) =>
    s.object({
      class: s.enum(FAILURE_CLASSES),
      reason: s.enum(DEAD_LETTER_REASONS),
      reportedAs: s.enum([...new Set(Object.values(REPORTED_AS))]),
      consumer: consumerName(s),
      cause: s.string.describe('The last error without what differs from one event to the next.'),
      count: s.integer,
      firstAt: s.instant,
      latestAt: s.instant,
      sampleId: s.string.describe('The newest of them.'),
    }),
)

export const deadLettersOperations = operations('dead letters', (s) => ({
  listDeadLetters: {
    at: 'GET /v1/dead-letters',
    summary: 'Dead letters, newest first',
    query: s.page({
      state: s.enum(DEAD_LETTER_STATES),
      consumer: s.text,
      class: s.enum(FAILURE_CLASSES),
      reason: s.enum(DEAD_LETTER_REASONS),
      cause: s.text.describe(
        'As the groups tell it. A page by this or what follows may hold fewer items than asked while `nextCursor` is not null.',
      ),
      key: s.textOf(2_048).describe('Under this idempotency key.'),
      correlationId: s.text.describe('Of this chain of causes.'),
      severity: s.text,
      from: s.instant.describe('Died at this instant or later.'),
      to: s.instant.describe('Died before this instant.'),
    }),
    answer: s.pageOf(s.ref(deadLetterShape)),
  },
  listDeadLetterGroups: {
    at: 'GET /v1/dead-letters/groups',
    summary: 'Dead letters of one state grouped by what killed them, the largest group first',
    query: s.filters({ state: s.enum(DEAD_LETTER_STATES).default('open') }),
    answer: s.answer(
      'The groups, all at once',
      s.object({
        items: s.list(s.ref(deadLetterGroupShape)),
        nextCursor: s.null,
        isCapped: s.boolean.describe('There are more letters or groups than were looked at.'),
      }),
    ),
  },
  getDeadLetter: {
    at: 'GET /v1/dead-letters/:id',
    summary: 'A dead letter with its event and its tries',
    params: s.byId<DeadLetterId>(),
    answer: s.answer('The dead letter', s.ref(deadLetterDetailShape)),
  },
  replayDeadLetter: {
    at: 'POST /v1/dead-letters/:id/replay',
    config: { role: 'operator' },
    summary: 'Replay a dead letter with the definition in force, under the same key',
    params: s.byId<DeadLetterId>(),
    body: s.filters({
      force: replayOptions(s).force,
      again: replayOptions(s).again,
      reason: s.why,
    }),
    answers: {
      202: s.answer(
        'A new work item',
        s.object({ replayId: s.string, accepted: s.integer, workId: s.string }),
      ),
    },
  },
  readyDeadLetter: {
    at: 'POST /v1/dead-letters/:id/ready',
    config: { role: 'operator' },
    summary: 'Say that what was wrong is mended: it may be replayed',
    params: s.byId<DeadLetterId>(),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The dead letter', s.ref(deadLetterShape)),
  },
  editDeadLetter: {
    at: 'POST /v1/dead-letters/:id/edit',
    config: { role: 'operator' },
    summary:
      'Replay a copy of its event with another payload; the original stays as it is, and so does the key',
    params: s.byId<DeadLetterId>(),
    body: s.fields({ data: s.any.describe('The payload of the copy: any JSON value.'), reason: s.reason }),
    answer: s.answer('The dead letter', s.ref(deadLetterShape)),
  },
  discardDeadLetter: {
    at: 'POST /v1/dead-letters/:id/discard',
    config: { role: 'operator' },
    summary: 'Discard a dead letter: it will not be replayed',
    params: s.byId<DeadLetterId>(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('The dead letter', s.ref(deadLetterShape)),
  },
}))

export function addDeadLetterRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'deadLetters' | 'about'>,
  { limits, log }: Pick<Serving, 'limits' | 'log'>,
): void {
  const on = serveOn(app, deadLettersOperations)
  on('listDeadLetters', async (request) => {
    const filter = readFilter(request.query)
    return showPage(await listDeadLetters(api.reads(request.caller.tenant), filter), showDeadLetter)
  })

  on('listDeadLetterGroups', async (request) => {
    const { groups, isCapped } = await api.reads(request.caller.tenant).deadLetterGroups(request.query)
    return { items: groups.map(showDeadLetterGroup), nextCursor: null, isCapped }
  })

  on('getDeadLetter', async (request, reply) => {
    const reads = api.reads(request.caller.tenant)
    const letter = await reads.deadLetter(request.params.id)
    if (letter === null) throw new AppError('not_found', 'there is no dead letter with this id')
    const [event, attempts] = await Promise.all([reads.event(letter.eventId), reads.attempts(letter.workId)])
    const shown = { ...showDeadLetter(letter), history: attempts.map(showAttempt) }
    const bodies = event === null ? null : showBodies(event, request.caller, log)
    const envelope =
      event === null || bodies === null
        ? 'null'
        : withJsonMember({ ...showEnvelope(event), ...bodies.about }, 'data', bodies.data)
    return reply.type('application/json').send(withJsonMember(shown, 'event', envelope))
  })

  on('replayDeadLetter', async (request, reply) => {
    const { tenant, actor } = request.caller
    const { force, again, reason = null } = request.body
    mustSayWhy(api.about, reason)
    const options = { force, again, reason, actor }
    const { workId } = await api.deadLetters.replay(tenant, request.params.id, options)
    reply.code(202)
    return { replayId: workId, accepted: 1, workId }
  })

  const showAgain = async (tenant: TenantId, id: DeadLetterId) => {
    const letter = await api.reads(tenant).deadLetter(id)
    if (letter === null) throw new AppError('not_found', 'there is no dead letter with this id')
    return showDeadLetter(letter)
  }
  on('readyDeadLetter', async (request) => {
    const { tenant, actor } = request.caller
    await api.deadLetters.ready(tenant, request.params.id, { actor, reason: request.body.reason ?? null })
    return showAgain(tenant, request.params.id)
  })
  on(
    'editDeadLetter',
    async (request) => {
      const { tenant, actor } = request.caller
      const { data, reason } = request.body
      const reads = api.reads(tenant)
      const letter = await reads.deadLetter(request.params.id)
      const event = letter === null ? null : await reads.event(letter.eventId)
      if (event !== null) assertSeesRestricted(event, request.caller)
      await api.deadLetters.edit(tenant, request.params.id, { data, reason, actor })
      return showAgain(tenant, request.params.id)
    },
    { bodyLimit: limits.eventBodyLimit },
  )
  on('discardDeadLetter', async (request) => {
    const { tenant, actor } = request.caller
    await api.deadLetters.discard(tenant, request.params.id, { reason: request.body.reason, actor })
    return showAgain(tenant, request.params.id)
  })
}
