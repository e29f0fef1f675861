// Replaying many dead letters or events: a durable record that nodes work off, a few at a time.
//
// What replays one of them and the record's progress are one commit, guarded by the record's version (and the letter's): two nodes
// never count one twice, and a crash between two loses nothing. Whoever starts next goes on where the record stands.

import type { DeadLetter } from '../../core/dead-letter/index.ts'
import { AppError, messageOf } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { DeadLetterId, EventId, Ids, TenantId } from '../../core/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { type Page, type PageRequest, StoreError, type TenantReads } from '../../ports/store.ts'
import type { Commits } from '../commits.ts'
import type { Decided } from '../decided.ts'
import type { PreparedReplay, Replayer } from '../replay.ts'
import type { StoreTime } from '../store-time.ts'
import { findEvents, prepareEvent } from './events.ts'
import { countLetters, readLetters } from './letters.ts'
import { type Preview, type PreviewDeps, previewReplay } from './preview.ts'
import { type EventsPreview, previewEvents } from './preview-events.ts'
import {
  type BulkReplay,
  type EventFilter,
  guardOf,
  isReplayId,
  LISTED_PREFIX,
  listWrites,
  makeReplayId,
  piecesOf,
  type ReplayFilter,
  RUNNING_PREFIX,
  readList,
  readReplay,
  type StoredReplay,
  withRefusal,
  writesOf,
} from './record.ts'

export interface BulkReplays {
  preview(tenant: TenantId, filter: ReplayFilter, options: { readonly force: boolean }): Promise<Preview>
  /** Keeps what is to be done, and begins. */
  begin(
    tenant: TenantId,
    filter: ReplayFilter,
    options: Decided & { readonly force: boolean },
  ): Promise<BulkReplay>
  previewEvents(tenant: TenantId, filter: EventFilter): Promise<EventsPreview>
  /** Keeps which events are to be matched again, and begins, the oldest first. */
  beginEvents(tenant: TenantId, filter: EventFilter, decided: Decided): Promise<BulkReplay>
  find(tenant: TenantId, id: string): Promise<BulkReplay | null>
  /** Newest first. */
  list(tenant: TenantId, request: PageRequest): Promise<Page<BulkReplay>>
  /** What was replayed already goes on. */
  cancel(tenant: TenantId, id: string, decided: Decided): Promise<BulkReplay>
}

export interface BulkReplayer extends BulkReplays {
  start(): void
  stop(): Promise<void>
}

/** Fifty a second and replay: a vendor that has just come back is not run over. */
const STEP_ROWS = 10
const STEP_MS = 200
/** How often a node looks for replays that others began and left. */
const LOOK_MS = 5_000
const PAGE = 100
const PAGES_PER_STEP = 10
const RUNNING_MAX = 20
const CANCEL_RACES_MAX = 20
type Row = DeadLetter | StoredEvent
type RowId = DeadLetterId | EventId
type Asked =
  | { readonly of: 'deadLetters'; readonly filter: ReplayFilter }
  | { readonly of: 'events'; readonly filter: EventFilter; readonly pieces: number }

/** Whether what it replays was named when it began. */
function isListed(replay: BulkReplay): boolean {
  return replay.of === 'events' || replay.filter.ids !== undefined
}

const NO_EVENT_FITS = 'List events with the same filter: GET /v1/events.'
const NONE_FITS =
  'List dead letters with the same filter; one without a `state` finds open ones only, so they may be replayed or discarded already.'

export function makeBulkReplays(
  deps: PreviewDeps & {
    readonly clock: Clock
    readonly time: StoreTime
    readonly log: Log
    readonly ids: Ids
    readonly commits: Commits
    readonly replayer: Replayer
    wake(): void
    /** Intake of this consumer was added. */
    expect(tenant: TenantId, consumer: string): void
  },
): BulkReplayer {
  const { store, clock, time, log, ids, commits, replayer } = deps
  let isOpen = false
  let cancelTimer = () => {}
  let passing: Promise<void> | null = null
  let isAskedAgain = false

  const find = async (tenant: TenantId, id: string): Promise<StoredReplay | null> => {
    const record = isReplayId(id) ? await store.forTenant(tenant).record('replay', id) : null
    return record === null ? null : { replay: readReplay(record.body), version: record.version }
  }

  /** The record after its next step; `lost`: somebody else moved it; `row`: somebody else moved what is replayed. */
  const keep = async (
    tenant: TenantId,
    { version }: StoredReplay,
    replay: BulkReplay,
    beside: Pick<PreparedReplay, 'guards' | 'writes'> = { guards: [], writes: [] },
  ): Promise<StoredReplay | 'lost' | 'row'> => {
    const next = { replay, version }
    const result = await commits.once(
      tenant,
      [guardOf(next), ...beside.guards],
      [...beside.writes, ...writesOf(next)],
    )
    if (result.ok) return { replay, version: version + 1 }
    return result.guard === 0 ? 'lost' : 'row'
  }

  const replayOne = async (
    tenant: TenantId,
    stored: StoredReplay,
    row: Row | RowId,
  ): Promise<StoredReplay | 'lost'> => {
    const { replay } = stored
    const id = typeof row === 'string' ? row : row.id
    const after = isListed(replay) ? null : (id as DeadLetterId)
    const seen = { ...replay, after }
    const refuse = async (code: AppError['code']): Promise<StoredReplay | 'lost'> => {
      const kept = await keep(tenant, stored, withRefusal(seen, id, code))
      return kept === 'row' ? 'lost' : kept
    }
    if (typeof row === 'string') return refuse('not_found')
    try {
      const prepared =
        'dedupKey' in row ? await prepareEvent(deps, row) : await replayer.prepare(tenant, row, replay.force)
      const kept = await keep(tenant, stored, { ...seen, replayed: replay.replayed + 1 }, prepared)
      if (kept === 'row') return await refuse('conflict')
      if (kept !== 'lost') {
        prepared.told({ actor: replay.by, reason: replay.reason ?? `replay ${replay.id}` })
        if (prepared.work.kind === 'intake') deps.expect(tenant, prepared.work.consumer)
      }
      return kept
    } catch (error) {
      if (error instanceof AppError) return refuse(error.code)
      throw error
    }
  }

  const finish = async (tenant: TenantId, stored: StoredReplay) => {
    const kept = await keep(tenant, stored, { ...stored.replay, state: 'done', finishedAt: time.now() })
    if (typeof kept === 'string') return
    const { id, total, replayed, refused } = kept.replay
    log.info('replay.done', { tenant, replay: id, total, replayed, refused })
  }

  /** The next of a list that was settled when the replay began. */
  const readListed = async (
    reads: TenantReads,
    replay: BulkReplay,
    max: number,
  ): Promise<readonly (Row | RowId)[]> => {
    const from = replay.replayed + replay.refused
    if (replay.of === 'events') {
      const ids = await readList(reads, replay.id, from, max)
      return Promise.all(ids.map(async (id) => (await reads.event(id)) ?? id))
    }
    const ids = replay.filter.ids?.slice(from, from + max) ?? []
    return Promise.all(ids.map(async (id) => (await reads.deadLetter(id)) ?? id))
  }

  /** Some rows further; answers whether there is more to do at once. */
  const advance = async (tenant: TenantId, id: string): Promise<boolean> => {
    const reads = store.forTenant(tenant)
    let stored = await find(tenant, id)
    if (stored?.replay.state !== 'running') return false
    let left = STEP_ROWS
    for (let pages = 0; pages < PAGES_PER_STEP && left > 0; pages += 1) {
      const { replay }: StoredReplay = stored
      let rows: readonly (Row | RowId)[]
      let isLast: boolean
      let end: DeadLetterId | null = null
      if (replay.of === 'events' || isListed(replay)) {
        rows = await readListed(reads, replay, left)
        isLast = rows.length === 0 || replay.replayed + replay.refused + rows.length >= replay.total
      } else {
        const page = await readLetters(reads, replay.filter, replay.after, PAGE)
        rows = page.letters
        end = page.after
        isLast = page.after === null
      }
      const some = rows.slice(0, left)
      for (const row of some) {
        if (!isOpen) return true
        const next: StoredReplay | 'lost' = await replayOne(tenant, stored, row)
        if (next === 'lost') return false
        stored = next
        left -= 1
      }
      deps.wake()
      if (some.length < rows.length) return true
      if (isLast) {
        await finish(tenant, stored)
        return false
      }
      if (end !== null) stored = { ...stored, replay: { ...stored.replay, after: end } }
    }
    // Nothing may have fitted so far: the next step must not look at the same rows again.
    await keep(tenant, stored, stored.replay)
    return true
  }

  const pass = async (): Promise<boolean> => {
    let isMore = false
    for (const tenant of await store.system('definitions').tenants()) {
      const query = { kind: 'replay', prefix: RUNNING_PREFIX, cursor: null, limit: RUNNING_MAX } as const
      for (const { key } of (await store.forTenant(tenant).records(query)).items) {
        if (!isOpen) return false
        if (await advance(tenant, key.slice(RUNNING_PREFIX.length))) isMore = true
      }
    }
    return isMore
  }

  const run = (): void => {
    if (!isOpen) return
    if (passing !== null) {
      isAskedAgain = true
      return
    }
    cancelTimer()
    isAskedAgain = false
    passing = pass()
      .catch((error: unknown) => {
        if (error instanceof StoreError) log.warn('replay.interrupted', { error: messageOf(error) })
        else log.error('replay.broken', { error: messageOf(error) })
        return false
      })
      .then((isMore) => {
        passing = null
        if (!isOpen) return
        cancelTimer = clock.after(isMore || isAskedAgain ? STEP_MS : LOOK_MS, run)
      })
  }

  const beginAs = async (
    tenant: TenantId,
    what: Asked,
    total: number,
    force: boolean,
    { actor = 'the engine’s owner', reason = null }: Decided,
    events: readonly EventId[] = [],
  ): Promise<BulkReplay> => {
    const query = { kind: 'replay', prefix: RUNNING_PREFIX, cursor: null, limit: RUNNING_MAX } as const
    if ((await store.forTenant(tenant).records(query)).items.length >= RUNNING_MAX)
      throw new AppError('conflict', `${RUNNING_MAX} replays are running; wait for one, or cancel it`)
    const createdAt = time.now()
    const replay: BulkReplay = {
      id: makeReplayId(createdAt, ids.uuid()),
      state: 'running',
      ...what,
      force,
      total,
      replayed: 0,
      refused: 0,
      refusals: [],
      after: null,
      by: actor,
      reason,
      createdAt,
      finishedAt: null,
    }
    const stored = { replay, version: 0 }
    const writes = [...writesOf(stored, true), ...listWrites(replay.id, events)]
    const result = await commits.once(tenant, [guardOf(stored)], writes)
    if (!result.ok) throw new AppError('conflict', 'another replay began in this very moment')
    log.info('replay.begun', { tenant, replay: replay.id, of: replay.of, total, by: actor, reason })
    run()
    return replay
  }

  return {
    preview: (tenant, filter, { force }) => previewReplay(deps, tenant, filter, force),

    async begin(tenant, filter, { force, ...decided }) {
      const { count } = await countLetters(store.forTenant(tenant), filter)
      if (count === 0) throw new AppError('not_found', 'no dead letter fits the filter', { next: NONE_FITS })
      return beginAs(tenant, { of: 'deadLetters', filter }, count, force, decided)
    },
    previewEvents: (tenant, filter) => previewEvents(deps, tenant, filter),
    async beginEvents(tenant, filter, decided) {
      // What arrives from now on is matched as it is, and no part of it.
      const to = Math.min(filter.to ?? Number.POSITIVE_INFINITY, time.now() + 1)
      const events = await findEvents(
        store.forTenant(tenant),
        filter.ids === undefined ? { ...filter, to } : filter,
      )
      if (events.length === 0)
        throw new AppError('not_found', 'no event fits the filter', { next: NO_EVENT_FITS })
      const what = { of: 'events', filter, pieces: piecesOf(events.length) } as const
      return beginAs(tenant, what, events.length, false, decided, events)
    },

    async find(tenant, id) {
      return (await find(tenant, id))?.replay ?? null
    },

    async list(tenant, request) {
      const page = await store
        .forTenant(tenant)
        .records({ ...request, kind: 'replay', prefix: LISTED_PREFIX })
      return { items: page.items.map(({ body }) => readReplay(body)), nextCursor: page.nextCursor }
    },

    async cancel(tenant, id, decided) {
      for (let race = 0; race < CANCEL_RACES_MAX; race += 1) {
        const stored = await find(tenant, id)
        if (stored === null) throw new AppError('not_found', `no replay ${id}`)
        const { replay } = stored
        if (replay.state !== 'running') throw new AppError('conflict', `the replay is ${replay.state}`)
        const kept = await keep(tenant, stored, { ...replay, state: 'cancelled', finishedAt: time.now() })
        if (typeof kept === 'string') continue
        log.info('replay.cancelled', { tenant, replay: id, by: decided.actor, reason: decided.reason })
        return kept.replay
      }
      throw new AppError('conflict', 'the replay moves on too quickly; try again')
    },

    start() {
      isOpen = true
      run()
    },
    async stop() {
      isOpen = false
      cancelTimer()
      await passing
    },
  }
}
