// Events that found no instance, or several: GET /v1/orphans[/{id}]; POST …/{id}/correlate and discard; POST /v1/orphans/retry.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { InstanceId, OrphanId } from '../core/foundation/ids/index.ts'
import { ORPHAN_STATES, type Orphan, type OrphanState } from '../core/workflows/orphan/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { mustSayWhy } from './required-reason.ts'
import { fields, idParams, oneOf, type PageQuery, page, reason, splitQuery, text } from './schemas.ts'
import { answer, integer, pageOf, ref, shape } from './schemas-answers.ts'
import { showOrphan } from './shapes-workflows.ts'

const tags = ['orphans']
const why = { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' } as const
const acted = { 200: answer('The orphan', ref('Orphan')) }

export function addOrphanRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'orphans' | 'about'>,
): void {
  const maySee = (caller: Caller, { workflow }: Pick<Orphan, 'workflow'>) =>
    api.workflows.reading.maySee(caller, workflow)

  const find = async (caller: Caller, id: OrphanId): Promise<Orphan> => {
    const orphan = await api.reads(caller.tenant).orphan(id)
    if (orphan === null) throw new AppError('not_found', 'there is no orphan with this id')
    // By its deployed workflow: an orphan has no instance whose version would count.
    if (!maySee(caller, orphan)) api.workflows.one(caller, orphan.workflow)
    return orphan
  }

  app.get<{ Querystring: PageQuery & { state?: OrphanState; workflow?: string } }>(
    '/orphans',
    {
      schema: {
        operationId: 'listOrphans',
        tags,
        summary: 'Events that found no instance, or several, newest first',
        querystring: fields({ ...page, state: oneOf(ORPHAN_STATES), workflow: text }),
        response: { 200: answer('A page', pageOf(ref('Orphan'))) },
      },
    },
    async ({ caller, query }) => {
      const { items, nextCursor } = await api.reads(caller.tenant).orphans(splitQuery(query))
      return { items: items.filter((one) => maySee(caller, one)).map(showOrphan), nextCursor }
    },
  )

  app.get<{ Params: { id: OrphanId } }>(
    '/orphans/:id',
    {
      schema: {
        operationId: 'getOrphan',
        tags,
        summary: 'An orphan; its event is read by `eventId`',
        params: idParams,
        response: acted,
      },
    },
    async ({ caller, params }) => showOrphan(await find(caller, params.id)),
  )

  app.post<{ Params: { id: OrphanId }; Body: { instance: InstanceId; reason?: string } }>(
    '/orphans/:id/correlate',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'correlateOrphan',
        tags,
        summary: 'Say to which instance it belongs: its trigger is run for that one',
        params: idParams,
        body: fields({ instance: text, reason: why }, ['instance']),
        response: acted,
      },
    },
    async ({ caller, params, body }) => {
      const { instance, reason: said = null } = body
      mustSayWhy(api.about, said, 'correlating an orphan')
      await find(caller, params.id)
      // A caller who may not see the instance may not assign an event to it.
      await api.workflows.reading.one(caller, instance)
      await api.orphans.correlate(caller.tenant, params.id, instance, { actor: caller.actor, reason: said })
      return showOrphan(await find(caller, params.id))
    },
  )

  app.post<{ Params: { id: OrphanId }; Body: { reason?: string } }>(
    '/orphans/:id/discard',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'discardOrphan',
        tags,
        summary: 'Nobody will do anything about it; its event is kept',
        params: idParams,
        body: fields({ reason: why }),
        response: acted,
      },
    },
    async ({ caller, params, body }) => {
      const { reason: said = null } = body
      mustSayWhy(api.about, said, 'discarding an orphan')
      await find(caller, params.id)
      await api.orphans.discard(caller.tenant, params.id, { actor: caller.actor, reason: said })
      return showOrphan(await find(caller, params.id))
    },
  )

  app.post<{ Body: { workflow: string } }>(
    '/orphans/retry',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'retryOrphans',
        tags,
        summary: 'Look again for the instances of a workflow’s open orphans',
        body: fields({ workflow: text }, ['workflow']),
        response: {
          200: answer(
            'What came of it',
            shape({
              tried: {
                ...integer,
                description: 'Open orphans that were looked at again, a thousand at most.',
              },
              found: { ...integer, description: 'Those that found their instance.' },
            }),
          ),
        },
      },
    },
    async ({ caller, body }) => {
      api.workflows.one(caller, body.workflow)
      const { tried, found } = await api.orphans.retry(caller.tenant, body.workflow)
      return { tried, found }
    },
  )
}
