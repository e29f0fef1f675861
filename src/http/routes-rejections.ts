// GET /v1/rejections: what was refused on the way in. Never what was sent.

import type { FastifyInstance } from 'fastify'
import { ERRORS } from '../core/foundation/errors/index.ts'
import type { HttpApi } from './api.ts'
import { fields, oneOf, type PageQuery, page, splitQuery, text } from './schemas.ts'
import { answer, instant, integer, listOf, nullable, pageOf, shape, string } from './schemas-answers.ts'
import { iso } from './shapes.ts'

const rejectionShape = shape({
  at: instant,
  source: { ...string, description: 'As it was asked for, whether it is defined or not.' },
  reason: { ...string, description: 'An error code.' },
  status: integer,
  address: { ...string, description: 'The sender’s, after trusted proxies.' },
  detail: string,
})
const countShape = shape({
  source: { ...nullable(string), description: 'null: all sources together that are not defined.' },
  reason: string,
  count: integer,
  latestAt: instant,
})
const listShape = pageOf(rejectionShape)
const reasons = Object.keys(ERRORS) as readonly (keyof typeof ERRORS)[]

export function addRejectionRoutes(app: FastifyInstance, api: Pick<HttpApi, 'rejections'>): void {
  const list = {
    operationId: 'listRejections',
    tags: ['events'],
    summary: 'Requests that were refused on the way in, newest first, and how many of each reason',
    description:
      'Kept are the newest 100 of each source, and of all sources together that are not defined. What other nodes refused is here after a few seconds.',
    querystring: fields({ ...page, source: text, reason: oneOf(reasons) }),
    response: {
      200: answer('A page, with the counts of what was asked for', {
        ...listShape,
        properties: { ...(listShape.properties as object), counts: listOf(countShape) },
        required: [...(listShape.required as string[]), 'counts'],
      }),
    },
  }
  app.get<{ Querystring: PageQuery & { source?: string; reason?: string } }>(
    '/rejections',
    { config: { role: 'viewer' }, schema: list },
    async (request) => {
      const { items, counts, nextCursor } = await api.rejections.list(
        request.caller.tenant,
        splitQuery(request.query),
      )
      return {
        items: items.map(({ id: _, at, ...rest }) => ({ at: iso(at), ...rest })),
        counts: counts.map(({ latestAt, ...rest }) => ({ ...rest, latestAt: iso(latestAt) })),
        nextCursor,
      }
    },
  )
}
