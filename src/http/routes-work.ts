// GET /v1/work, /v1/work/{id} and /v1/ledger; POST /v1/work/{id}/resolve: a person says what became of an effect.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/errors/index.ts'
import type { FailureClass } from '../core/failure/index.ts'
import type { WorkId } from '../core/ids/index.ts'
import type { LedgerState } from '../core/ledger/index.ts'
import type { WorkState } from '../core/work/index.ts'
import type { HttpApi } from './api.ts'
import {
  idParams,
  ledgerQuery,
  type PageQuery,
  resolveBody,
  splitQuery,
  toConsumer,
  workQuery,
} from './schemas.ts'
import { showLedgerEntry, showWork } from './shapes.ts'
import { readStory } from './story.ts'

export function addWorkRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'resolveWork'>): void {
  type WorkQuery = PageQuery & { state?: WorkState; consumer?: string; class?: FailureClass }
  app.get<{ Querystring: WorkQuery }>('/work', { schema: { querystring: workQuery } }, async (request) => {
    const { consumer, ...query } = splitQuery(request.query)
    const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
    const { items, nextCursor } = await api.reads(request.caller.tenant).workList(filter)
    return { items: items.map(showWork), nextCursor }
  })

  app.get<{ Params: { id: WorkId } }>('/work/:id', { schema: { params: idParams } }, async (request) => {
    const reads = api.reads(request.caller.tenant)
    const work = await reads.work(request.params.id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    return readStory(reads, work)
  })

  app.post<{ Params: { id: WorkId }; Body: { as: 'done' | 'released'; reason: string } }>(
    '/work/:id/resolve',
    { schema: { params: idParams, body: resolveBody } },
    async (request) => {
      const { tenant, actor } = request.caller
      const { id } = request.params
      await api.resolveWork(tenant, id, { as: request.body.as, reason: request.body.reason, actor })
      const work = await api.reads(tenant).work(id)
      if (work === null) throw new AppError('not_found', 'there is no work item with this id')
      return showWork(work)
    },
  )

  type LedgerQuery = PageQuery & { state?: LedgerState; key?: string }
  app.get<{ Querystring: LedgerQuery }>(
    '/ledger',
    { schema: { querystring: ledgerQuery } },
    async (request) => {
      const reads = api.reads(request.caller.tenant)
      const { key, ...query } = splitQuery(request.query)
      if (key === undefined) {
        const { items, nextCursor } = await reads.ledgerList(query)
        return { items: items.map(showLedgerEntry), nextCursor }
      }
      const entry = await reads.ledger(key)
      const matches = entry !== null && (query.state === undefined || query.state === entry.state)
      return { items: matches ? [showLedgerEntry(entry)] : [], nextCursor: null }
    },
  )
}
