// POST /v1/dead-letters/replay: many at once, or a look at what would happen; GET /v1/replays and /v1/replays/{id};
// POST /v1/replays/{id}/cancel.

import type { FastifyInstance } from 'fastify'
import { DEAD_LETTER_REASONS } from '../core/failures/dead-letter/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError, ERRORS } from '../core/foundation/errors/index.ts'
import type { DeadLetterId } from '../core/foundation/ids/index.ts'
import type { ReplayFilter } from '../engine/index.ts'
import { replayOptions, replayPreviewShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readConditions, readFilter, showPage } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { showReplay } from './shapes.ts'

type AskedFilter = Omit<ReplayFilter, 'from' | 'to'> & { readonly from?: string; readonly to?: string }

const replayShape = shape(
  'Replay',
  'Many dead letters, events or deliveries replayed one after the other.',
  (s) =>
    s.object({
      id: s.string,
      of: s
        .enum(['deadLetters', 'events', 'deliveries'])
        .describe('What it replays. `deliveries`: what an endpoint has missed.'),
      state: s.enum(['running', 'done', 'cancelled']),
      total: s.integer.describe(
        'How many there were when it began; of deliveries how many were found so far.',
      ),
      replayed: s.integer,
      refused: s.integer,
      refusals: s
        .list(s.object({ id: s.string, code: s.enum(Object.keys(ERRORS) as (keyof typeof ERRORS)[]) }))
        .describe('The last of those that could not be replayed, and why.'),
      filter: s.anyObject,
      force: s.boolean,
      again: s.boolean.describe('Effects that are there are made once more.'),
      perSecond: s.nullable(s.number).describe('null: as quickly as the nodes take them up.'),
      by: s.string,
      reason: s.nullable(s.string),
      createdAt: s.instant,
      finishedAt: s.nullable(s.instant),
      walk: s
        .object({
          walked: s.integer.describe('How many events were looked at.'),
          walkedTo: s.nullable(s.instant).describe('Up to when they were received.'),
          left: s.integer.describe(
            'Of those that the subscription wants: left as they are, delivered or under way.',
          ),
        })
        .describe('Of deliveries: how far it has looked.')
        .optional(),
    }),
)

export const replaysOperations = operations('dead letters', (s) => ({
  replayDeadLetters: {
    at: 'POST /v1/dead-letters/replay',
    config: { role: 'operator' },
    summary: 'Replay all dead letters that a filter finds, or say what that would do',
    body: s.fields({
      filter: s.filters({
        ids: s
          .list(s.as<DeadLetterId>(s.textOf(128)))
          .min(1)
          .max(500)
          .meta({ uniqueItems: true })
          .describe('These letters and no others; instead of everything below.'),
        state: s.enum(['open', 'ready_to_replay']).describe('`open` unless told.'),
        consumer: s.text,
        class: s.enum(FAILURE_CLASSES),
        reason: s.enum(DEAD_LETTER_REASONS),
        cause: s.text.describe('As the groups of dead letters tell it.'),
        key: s.textOf(2_048).describe('Under this idempotency key.'),
        correlationId: s.text.describe('Of this chain of causes.'),
        severity: s.text,
        from: s.instant.describe('Died at this instant or later.'),
        to: s.instant.describe('Died before this instant.'),
      }),
      dryRun: replayOptions(s).dryRun,
      force: replayOptions(s).force,
      again: replayOptions(s).again,
      reason: s.why.optional(),
      perSecond: replayOptions(s).perSecond.optional(),
    }),
    answers: {
      200: s.answer('What would happen (`dryRun`)', s.ref(replayPreviewShape)),
      202: s.answer('The replay is kept and begins', s.object({ replayId: s.string, accepted: s.integer })),
    },
  },
  listReplays: {
    at: 'GET /v1/replays',
    summary: 'Replays of many dead letters, newest first',
    query: s.page({}),
    answer: s.pageOf(s.ref(replayShape)),
    table: {
      columns: [
        ['BEGAN', 'createdAt'],
        ['ID', 'id'],
        ['STATE', 'state'],
        ['REPLAYED', 'replayed'],
        ['REFUSED', 'refused'],
        ['TOTAL', 'total'],
        ['BY', 'by', 8],
      ],
      empty: 'Nothing was replayed yet.',
      page: {
        command: 'replays',
        title: 'Replays',
        about: 'bulk replays, newest first',
        key: 'k',
      },
    },
  },
  getReplay: {
    at: 'GET /v1/replays/:id',
    summary: 'A replay and how far it is',
    params: s.byId(),
    answer: s.answer('The replay', s.ref(replayShape)),
  },
  cancelReplay: {
    at: 'POST /v1/replays/:id/cancel',
    config: { role: 'operator' },
    summary: 'Stop a replay; what it replayed already runs on',
    params: s.byId(),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The replay', s.ref(replayShape)),
  },
}))

export function addReplayRoutes(app: FastifyInstance, api: Pick<HttpApi, 'replays' | 'about'>): void {
  const on = serveOn(app, replaysOperations)
  on(
    'replayDeadLetters',
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { dryRun, force, again, perSecond, reason = null } = request.body
      const filter = readLetters(request.body.filter)
      if (dryRun) return api.replays.preview(tenant, filter, { force, again })
      mustSayWhy(api.about, reason)
      const paced = perSecond === undefined ? {} : { perSecond }
      const { id, total } = await api.replays.begin(tenant, filter, {
        force,
        again,
        reason,
        actor,
        ...paced,
      })
      reply.code(202)
      return { replayId: id, accepted: total }
    },
    { bodyLimit: BODY_BYTES_MAX.ids },
  )

  on('listReplays', async (request) => {
    return showPage(await api.replays.list(request.caller.tenant, readFilter(request.query)), showReplay)
  })

  on('getReplay', async (request) => {
    const replay = await api.replays.find(request.caller.tenant, request.params.id)
    if (replay === null) throw new AppError('not_found', 'there is no replay with this id')
    return showReplay(replay)
  })

  on('cancelReplay', async (request) => {
    const { tenant, actor } = request.caller
    const decided = { actor, reason: request.body.reason ?? null }
    return showReplay(await api.replays.cancel(tenant, request.params.id, decided))
  })
}

function readLetters(asked: AskedFilter): ReplayFilter {
  const filter = readConditions(asked)
  if (filter.ids !== undefined && Object.keys(filter).length > 1) {
    const message = 'name letters or describe them, not both'
    throw new AppError('invalid_request', message, {
      details: { fields: [{ path: '/filter/ids', message }] },
    })
  }
  return filter
}
