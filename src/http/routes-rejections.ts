// GET /v1/rejections: what was refused on the way in. Never what was sent.

import type { FastifyInstance } from 'fastify'
import { ERRORS } from '../core/foundation/errors/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter } from './queries.ts'
import { iso } from './shapes.ts'

export const rejectionsOperations = operations('events', (s) => ({
  listRejections: {
    at: 'GET /v1/rejections',
    config: { role: 'viewer' },
    summary: 'Requests that were refused on the way in, newest first, and how many of each reason',
    description:
      'Kept are the newest 100 of each source, and of all sources together that are not defined. What other nodes refused is here after a few seconds.',
    query: s.page({ source: s.text, reason: s.enum(Object.keys(ERRORS) as (keyof typeof ERRORS)[]) }),
    answer: s.answer(
      'A page, with the counts of what was asked for',
      s.object({
        items: s.list(
          s.object({
            at: s.instant,
            source: s.string.describe('As it was asked for, whether it is defined or not.'),
            reason: s.string.describe('An error code.'),
            status: s.integer,
            address: s.string.describe('The sender’s, after trusted proxies.'),
            detail: s.string,
          }),
        ),
        nextCursor: s
          .nullable(s.string)
          .describe('Give it back as `cursor` to get the next page; null at the end.'),
        counts: s.list(
          s.object({
            source: s.nullable(s.string).describe('null: all sources together that are not defined.'),
            reason: s.string,
            count: s.integer,
            latestAt: s.instant,
          }),
        ),
      }),
    ),
  },
}))

export function addRejectionRoutes(app: FastifyInstance, api: Pick<HttpApi, 'rejections'>): void {
  const on = serveOn(app, rejectionsOperations)
  on('listRejections', async (request) => {
    const { items, counts, nextCursor } = await api.rejections.list(
      request.caller.tenant,
      readFilter(request.query),
    )
    return {
      items: items.map(({ id: _, at, ...rest }) => ({ at: iso(at), ...rest })),
      counts: counts.map(({ latestAt, ...rest }) => ({ ...rest, latestAt: iso(latestAt) })),
      nextCursor,
    }
  })
}
