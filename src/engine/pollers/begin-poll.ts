// Begins polls: by the clock, as one of the timed things of src/engine/ingest/schedules.ts, and on demand. A poll is a job; its event,
// the job and the poller that it takes are one commit.
//
// Invariant: PO4 of any number of nodes and callers, one begins the poll; while its job is not over, no other begins.

import { AppError } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY, type Instant } from '../../core/foundation/time/index.ts'
import { beginPoll, POLLER_PREFIX, type Poller, pausedUntil } from '../../core/polling/poller/index.ts'
import type { NewWork, WorkState } from '../../core/queue/work/index.ts'
import type { Write } from '../../ports/store.ts'
import { type EngineBase, orConflict, RACES_MAX, retrying } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import {
  type BesideEvent,
  besideSchedule,
  iso,
  readSchedule,
  type Timed,
  type TimedList,
} from '../ingest/index.ts'
import { changePoller, readPoller } from './poller-records.ts'

export interface BeginPolls {
  readonly timed: Required<TimedList>
  /** Now, whatever its cadence. `isNew` false: one is in progress. */
  run(
    tenant: TenantId,
    name: string,
    by: string,
  ): Promise<{ readonly workId: WorkId; readonly isNew: boolean }>
}

const EXPIRES_MS = 30 * DAY
const OVER: readonly WorkState[] = ['done', 'dead', 'cancelled', 'skipped', 'merged']

export function newPoll(
  id: WorkId,
  { consumer, hash }: Pick<Poller, 'consumer' | 'hash'>,
  eventId: EventId,
  replayOf: NewWork['replayOf'] = null,
): NewWork {
  return {
    id,
    kind: 'poll',
    consumer,
    definition: hash,
    codeHash: null,
    eventId,
    expiresInMs: EXPIRES_MS,
    replayOf,
  }
}

export function pollerOf(consumer: string): string | null {
  return consumer.startsWith(POLLER_PREFIX) ? consumer.slice(POLLER_PREFIX.length) : null
}

export function makeBeginPolls(
  deps: Pick<EngineBase, 'store' | 'ids' | 'time' | 'wake' | 'commits'> & { readonly registry: Registry },
): BeginPolls {
  const { store, ids, time, registry, commits } = deps

  /** The event that the job is about; nothing else matches it. */
  const appendEvent = (
    tenant: TenantId,
    { document, consumer }: Poller,
    by: string,
    slot: Instant | null,
  ) => {
    const { name } = document
    const data = stringifyJson({ poller: name, by, slot: slot === null ? null : iso(slot) })
    const correlationId = ids.uuid()
    const event = {
      id: ids.event(),
      tenant,
      source: consumer,
      subject: `poll.${name}`,
      objectType: 'poller',
      objectId: name,
      occurredAt: slot,
      correlationId,
      causationId: null,
      traceId: correlationId.replaceAll('-', ''),
      dedupKey: `poll:${ids.uuid()}`,
      payloadHash: hashText(data),
      headers: '{}',
      data,
      raw: null,
      sensitive: [],
      matched: 1,
    }
    const write: Write = { w: 'event.append', event, dedupForMs: 0 }
    return { id: event.id, write }
  }

  const isOver = async (tenant: TenantId, id: WorkId): Promise<boolean> => {
    const work = await store.forTenant(tenant).work(id)
    return work === null || OVER.includes(work.state)
  }

  type Begun =
    | { readonly is: 'begun' | 'active'; readonly workId: WorkId }
    | { readonly is: 'paused' | 'refused' | 'raced' }

  const begin = async (
    tenant: TenantId,
    poller: Poller,
    {
      by,
      slot,
      beside,
    }: { readonly by: string; readonly slot: Instant | null; readonly beside: BesideEvent },
  ): Promise<Begun> => {
    const { name } = poller.document
    const stored = await readPoller(store, tenant, name)
    const { active } = stored.state
    if (active !== null && !(await isOver(tenant, active.workId)))
      return { is: 'active', workId: active.workId }
    const now = time.now()
    if (slot !== null && now < pausedUntil(stored.state)) return { is: 'paused' }
    const workId = ids.work()
    const event = appendEvent(tenant, poller, by, slot)
    const change = changePoller(name, stored, beginPoll(stored.state, workId, poller.rules, now))
    const add: Write = { w: 'work.add', work: newPoll(workId, poller, event.id), lease: null, delayMs: 0 }
    const result = await commits.once(
      tenant,
      [...beside.guards, change.guard],
      [event.write, add, change.write, ...beside.writes],
    )
    if (!result.ok) return { is: result.guard < beside.guards.length ? 'refused' : 'raced' }
    deps.wake()
    return { is: 'begun', workId }
  }

  const timedOf = (tenant: TenantId, poller: Poller): Timed => {
    const { consumer, cadence, status, document } = poller
    const { cron, zone, slots } = cadence
    return {
      name: consumer,
      schedule: { cron, zone, missed: 'once' },
      ...(slots === undefined ? {} : { slots }),
      status,
      identity: poller,
      isCurrent: () => registry.poller(tenant, document.name) === poller,
      read: () => readSchedule(store, tenant, consumer),
      beside: (version, record) => besideSchedule(consumer, version, record),
      async fire(slot, _missed, beside) {
        const begun = await begin(tenant, poller, { by: 'schedule', slot, beside })
        if (begun.is === 'begun') return 'fired'
        return begun.is === 'refused' || begun.is === 'raced' ? 'refused' : 'nothing'
      },
    }
  }

  return {
    timed: {
      list: async (tenant) => registry.pollers(tenant).map((poller) => timedOf(tenant, poller)),
      isGone(tenant, consumer) {
        const name = pollerOf(consumer)
        return name === null ? null : registry.poller(tenant, name) === null
      },
    },
    run(tenant, name, by) {
      const poller = registry.poller(tenant, name)
      if (poller === null) return Promise.reject(new AppError('not_found', `there is no poller ${name}`))
      const runOnce = async (retry: () => Promise<{ workId: WorkId; isNew: boolean }>) => {
        const begun = await begin(tenant, poller, { by, slot: null, beside: { guards: [], writes: [] } })
        if (!('workId' in begun)) return retry()
        return { workId: begun.workId, isNew: begun.is === 'begun' }
      }
      return retrying(RACES_MAX, runOnce, orConflict(`the poller ${name} changes without end`))
    },
  }
}
