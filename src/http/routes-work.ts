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
import { answer, pageOf, ref } from './schemas-answers.ts'
import { showLedgerEntry, showWork } from './shapes.ts'
import { readStory } from './story.ts'

export function addWorkRoutes(app: FastifyInstance, api: Pick<HttpApi, 'reads' | 'resolveWork'>): void {
  type WorkQuery = PageQuery & { state?: WorkState; consumer?: string; class?: FailureClass }
  const list = {
    operationId: 'listWork',
    tags: ['work'],
    summary: 'Work items, newest first',
    querystring: workQuery,
    response: { 200: answer('A page', pageOf(ref('Work'))) },
  }
  app.get<{ Querystring: WorkQuery }>('/work', { schema: list }, async (request) => {
    const { consumer, ...query } = splitQuery(request.query)
    const filter = consumer === undefined ? query : { ...query, consumer: toConsumer(consumer) }
    const { items, nextCursor } = await api.reads(request.caller.tenant).workList(filter)
    return { items: items.map(showWork), nextCursor }
  })

  const one = {
    operationId: 'getWork',
    tags: ['work'],
    summary: 'A work item with its tries, its effect and its dead letter',
    params: idParams,
    response: { 200: answer('The work item', ref('WorkStory')) },
  }
  app.get<{ Params: { id: WorkId } }>('/work/:id', { schema: one }, async (request) => {
    const reads = api.reads(request.caller.tenant)
    const work = await reads.work(request.params.id)
    if (work === null) throw new AppError('not_found', 'there is no work item with this id')
    return readStory(reads, work)
  })

  app.post<{ Params: { id: WorkId }; Body: { as: 'done' | 'released'; reason: string } }>(
    '/work/:id/resolve',
    {
      schema: {
        operationId: 'resolveWork',
        tags: ['work'],
        summary: 'Say what became of a parked item’s effect',
        params: idParams,
        body: resolveBody,
        response: { 200: answer('The work item', ref('Work')) },
      },
    },
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
    {
      schema: {
        operationId: 'listLedger',
        tags: ['ledger'],
        summary: 'Effects by idempotency key, newest first; never a payload',
        querystring: ledgerQuery,
        response: { 200: answer('A page', pageOf(ref('LedgerEntry'))) },
      },
    },
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
