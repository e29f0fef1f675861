// Random operations on instances, their keys and orphans: the part of operations.conformance.ts that is about workflows.

import type { InstanceId, OrphanId } from '../../core/foundation/ids/index.ts'
import type { NewWork } from '../../core/queue/work/index.ts'
import type { InstanceRow, NewInstance } from '../../core/workflows/instance/index.ts'
import type { NewOrphan } from '../../core/workflows/orphan/index.ts'
import type { Commit, Guard, Page, TenantReads, Write } from '../store.ts'
import { oneOf, rarely, type Turn, tenantOf } from './operation-choices.conformance.ts'

const WORKFLOWS = ['triage', 'order', 'ü'] as const
const MARKINGS = [{ a: 1 }, { b: 1, a: 1 }, { b: 3 }, { a: 1, b: 1 }, {}, { 'a,b': 1, a: 2 }] as const
/** Mostly active, and half of the others over for good: events are to be deleted. */
const STATES = ['active', 'active', 'active', 'completed', 'failed', 'cancelled'] as const
const KEYS = ['triage/issue/1', 'triage/issue/2', 'order/id/\u0000ü'] as const

/** Few instances, with several jobs each. */
export function makeInstanceOptions({ book, pick }: Turn): Partial<NewWork> {
  if (!rarely(pick, 3)) return {}
  const instance = oneOf(pick, book.instances.slice(-6))?.id
  return { step: `fire/${pick(3)}/go`, ...(instance === undefined ? {} : { instance }) }
}

export function makeInstanceDecision(turn: Turn): Promise<Commit> {
  const { pick } = turn
  switch (pick(4)) {
    case 0:
      return makeCorrelation(turn)
    case 1:
      return makeOrphan(turn)
    default:
      return makeStep(turn)
  }
}

async function makeStep(turn: Turn): Promise<Commit> {
  const { book, pick, store } = turn
  const known = pick(3) === 0 ? undefined : oneOf(pick, book.instances.slice(-8))
  const tenant = known?.tenant ?? tenantOf(pick)
  const id = known?.id ?? book.ids.instance()
  const found = await store.forTenant(tenant).instance(id)
  const revision = found?.revision ?? 0
  const key = { g: 'version', of: 'instance', key: id } as const
  const guards: Guard[] = rarely(pick, 8) ? [] : [{ ...key, version: revision + (rarely(pick, 6) ? 1 : 0) }]
  // Ten numbers for each revision, so that they only grow; now and then one that exists already.
  const first = (revision + (rarely(pick, 30) ? 0 : 1)) * 10
  const rows = Array.from({ length: pick(4) }, (_, index) => ({
    instance: id,
    sequence: first + index,
    type: oneOf(pick, ['fired', 'ended', 'noted'] as const),
    body: `{"text":"${pick(9)} \u0000"}`,
  }))
  const writes: Write[] = [{ w: 'instance.put', row: makeInstance(turn, id, found) }]
  if (rows.length > 0) writes.push({ w: 'history.append', rows })
  return { tenant, guards, writes: rarely(pick, 2) ? writes : writes.reverse() }
}

function makeInstance({ book, pick }: Turn, id: InstanceId, found: InstanceRow | null): NewInstance {
  const stays = found !== null && !rarely(pick, 6)
  return {
    id,
    workflow: stays ? found.workflow : oneOf(pick, WORKFLOWS),
    definition: stays ? found.definition : `definition-${pick(3)}`,
    version: stays ? found.version : String(pick(3)),
    state: oneOf(pick, STATES),
    attention: oneOf(pick, [null, null, 'stuck', 'step_failed'] as const),
    revision: (found?.revision ?? 0) + 1,
    marking: oneOf(pick, MARKINGS),
    eventId: stays ? found.eventId : (oneOf(pick, book.events.slice(-20))?.id ?? book.ids.event()),
    correlationId: stays ? found.correlationId : book.ids.uuid(),
    parent: stays ? found.parent : rarely(pick, 3) ? (oneOf(pick, book.instances)?.id ?? null) : null,
    body: `{"n":${pick(99)},"text":"😀"}`,
  }
}

async function makeCorrelation({ pick, store }: Turn): Promise<Commit> {
  const tenant = tenantOf(pick)
  const key = oneOf(pick, KEYS)
  const found = (await store.forTenant(tenant).correlation(key))?.version ?? 0
  const version = found + (rarely(pick, 5) ? 1 : 0)
  const write: Write = rarely(pick, 3)
    ? { w: 'correlation.delete', key }
    : { w: 'correlation.put', key, version: found + 1, body: `body ${pick(9)}` }
  const guards: Guard[] = rarely(pick, 6) ? [] : [{ g: 'version', of: 'correlation', key, version }]
  return { tenant, guards, writes: [write] }
}

async function makeOrphan({ book, pick, store }: Turn): Promise<Commit> {
  const known = pick(2) === 0 ? undefined : oneOf(pick, book.orphans.slice(-8))
  const tenant = known?.tenant ?? tenantOf(pick)
  const id: OrphanId = known?.id ?? book.ids.orphan()
  const found = (await store.forTenant(tenant).orphan(id))?.version ?? 0
  const version = found + (rarely(pick, 6) ? 1 : 0)
  const row: NewOrphan = {
    id,
    version: found + 1,
    state: oneOf(pick, ['waiting', 'open', 'correlated', 'discarded', 'discarded'] as const),
    reason: oneOf(pick, ['nobody', 'several'] as const),
    workflow: oneOf(pick, WORKFLOWS),
    trigger: 'closed',
    eventId: oneOf(pick, book.events.slice(-20))?.id ?? book.ids.event(),
    workId: oneOf(pick, book.works)?.id ?? book.ids.work(),
    keys: `issue=${pick(9)}`,
    expiresInMs: oneOf(pick, [null, 100 * pick(9)]),
    instance: rarely(pick, 3) ? (oneOf(pick, book.instances)?.id ?? null) : null,
    by: oneOf(pick, [null, 'ada']),
    note: oneOf(pick, [null, 'known']),
  }
  return {
    tenant,
    guards: [{ g: 'version', of: 'orphan', key: id, version }],
    writes: [{ w: 'orphan.put', row }],
  }
}

type Twice = <Row>(read: (cursor: string | null) => Promise<Page<Row>>) => Promise<unknown>

export async function readInstances(reads: TenantReads, twice: Twice, limit: number): Promise<unknown> {
  const { items } = await reads.instances({ cursor: null, limit })
  const list = (query: Omit<Parameters<TenantReads['instances']>[0], 'cursor' | 'limit'>) =>
    twice((cursor) => reads.instances({ ...query, cursor, limit }))
  return {
    lists: [
      await list({}),
      await list({ workflow: 'triage' }),
      await list({ state: 'active' }),
      await list({ workflow: 'triage', state: 'active' }),
      await list({ state: 'failed' }),
      await list({ workflow: 'order', state: 'completed' }),
      await list({ workflow: 'triage', place: 'a' }),
      await list({ workflow: 'ü', definition: 'definition-1', place: 'b' }),
      await list({ attention: 'any' }),
      await list({ attention: 'stuck', workflow: 'order' }),
      await list({ parent: items[0]?.parent ?? items[0]?.id ?? ('ins_' as InstanceId) }),
    ],
    counts: await Promise.all(WORKFLOWS.map((workflow) => reads.instanceCounts(workflow))),
    histories: await Promise.all(items.map(({ id }) => reads.instanceHistory(id, { after: 11, limit }))),
    work: await Promise.all(
      items.map(async ({ id }) => [
        await reads.workOfInstance(id, { all: false }),
        await reads.workOfInstance(id, { all: true }),
      ]),
    ),
    keys: await Promise.all(KEYS.map((key) => reads.correlation(key))),
    orphans: await twice((cursor) => reads.orphans({ cursor, limit })),
    open: await twice((cursor) => reads.orphans({ cursor, limit, state: 'open', workflow: 'triage' })),
  }
}
