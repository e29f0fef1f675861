// Events that found no instance, or several: GET /v1/orphans[/{id}]; POST …/{id}/correlate and discard; POST /v1/orphans/retry.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { InstanceId, OrphanId } from '../core/foundation/ids/index.ts'
import { ORPHAN_REASONS, ORPHAN_STATES, type Orphan } from '../core/workflows/orphan/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readFilter } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { showOrphan } from './shapes-workflows.ts'

const orphanShape = shape(
  'Orphan',
  'An event that a workflow wants for one of its instances, and that found none, or more than one.',
  (s) =>
    s.object({
      id: s.string,
      state: s.enum(ORPHAN_STATES),
      reason: s.enum(ORPHAN_REASONS).describe('It found no instance, or several.'),
      workflow: s.string,
      trigger: s.string.describe('The trigger that wanted it, by its place in the definition.'),
      eventId: s.string,
      workId: s.string,
      keys: s.string.describe('`name=value` of the keys by which it looked.'),
      expiresAt: s.nullable(s.instant).describe('Of one that waits: until when.'),
      instance: s.nullable(s.string).describe('Where it went.'),
      by: s.nullable(s.string),
      note: s.nullable(s.string),
      createdAt: s.instant,
      updatedAt: s.instant,
    }),
)

export const orphansOperations = operations('orphans', (s) => ({
  listOrphans: {
    at: 'GET /v1/orphans',
    summary: 'Events that found no instance, or several, newest first',
    query: s.page({ state: s.enum(ORPHAN_STATES), workflow: s.text }),
    answer: s.pageOf(s.ref(orphanShape)),
    table: {
      columns: [
        ['SINCE', 'createdAt'],
        ['ID', 'id'],
        ['STATE', 'state'],
        ['WORKFLOW', 'workflow', 10],
        ['FOUND', 'reason'],
        ['KEYS', 'keys', 10],
        ['EVENT', 'eventId'],
      ],
      filters: { workflow: 'only of this workflow' },
      empty: 'No orphans.',
    },
  },
  getOrphan: {
    at: 'GET /v1/orphans/:id',
    summary: 'An orphan; its event is read by `eventId`',
    params: s.byId<OrphanId>(),
    answer: s.answer('The orphan', s.ref(orphanShape)),
  },
  correlateOrphan: {
    at: 'POST /v1/orphans/:id/correlate',
    config: { role: 'operator' },
    summary: 'Say to which instance it belongs: its trigger is run for that one',
    params: s.byId<OrphanId>(),
    body: s.fields({ instance: s.as<InstanceId>(s.text), reason: s.why.optional() }),
    answer: s.answer('The orphan', s.ref(orphanShape)),
  },
  discardOrphan: {
    at: 'POST /v1/orphans/:id/discard',
    config: { role: 'operator' },
    summary: 'Discard an orphan; its event stays stored',
    params: s.byId<OrphanId>(),
    body: s.filters({ reason: s.why }),
    answer: s.answer('The orphan', s.ref(orphanShape)),
  },
  retryOrphans: {
    at: 'POST /v1/orphans/retry',
    config: { role: 'operator' },
    summary: 'Look again for the instances of a workflow’s open orphans',
    body: s.fields({ workflow: s.text }),
    answer: s.answer(
      'What came of it',
      s.object({
        tried: s.integer.describe('Open orphans that were looked at again, a thousand at most.'),
        found: s.integer.describe('Those that found their instance.'),
      }),
    ),
  },
}))

export function addOrphanRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'orphans' | 'about'>,
): void {
  const on = serveOn(app, orphansOperations)
  const maySee = (caller: Caller, { workflow }: Pick<Orphan, 'workflow'>) =>
    api.workflows.reading.maySee(caller, workflow)

  const find = async (caller: Caller, id: OrphanId): Promise<Orphan> => {
    const orphan = await api.reads(caller.tenant).orphan(id)
    if (orphan === null) throw new AppError('not_found', 'there is no orphan with this id')
    // By its deployed workflow: an orphan has no instance whose version would count.
    if (!maySee(caller, orphan)) api.workflows.one(caller, orphan.workflow)
    return orphan
  }

  on('listOrphans', async ({ caller, query }) => {
    const { items, nextCursor } = await api.reads(caller.tenant).orphans(readFilter(query))
    return { items: items.filter((one) => maySee(caller, one)).map(showOrphan), nextCursor }
  })

  on('getOrphan', async ({ caller, params }) => showOrphan(await find(caller, params.id)))

  on('correlateOrphan', async ({ caller, params, body }) => {
    const { instance, reason: said = null } = body
    mustSayWhy(api.about, said, 'correlating an orphan')
    await find(caller, params.id)
    // A caller who may not see the instance may not assign an event to it.
    await api.workflows.reading.one(caller, instance)
    await api.orphans.correlate(caller.tenant, params.id, instance, { actor: caller.actor, reason: said })
    return showOrphan(await find(caller, params.id))
  })

  on('discardOrphan', async ({ caller, params, body }) => {
    const { reason: said = null } = body
    mustSayWhy(api.about, said, 'discarding an orphan')
    await find(caller, params.id)
    await api.orphans.discard(caller.tenant, params.id, { actor: caller.actor, reason: said })
    return showOrphan(await find(caller, params.id))
  })

  on('retryOrphans', async ({ caller, body }) => {
    api.workflows.one(caller, body.workflow)
    const { tried, found } = await api.orphans.retry(caller.tenant, body.workflow)
    return { tried, found }
  })
}
