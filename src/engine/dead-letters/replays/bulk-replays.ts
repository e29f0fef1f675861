// Bulk replays of dead letters or events: a durable record that nodes work through in pieces (docs/adr/0029).
//
// The jobs of a piece and the record's progress are one commit (replay-piece.ts). The next node to start continues from
// the record. The record limits the speed (replay-speed.ts), and so does this node's backlog: new events go first.

import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { EventId, Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import { isReplayId } from '../../../core/foundation/ids/index.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Log } from '../../../ports/log.ts'
import { type Page, type PageRequest, StoreError } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'
import {
  type Commits,
  orConflict,
  RACES_MAX,
  retrying,
  type StoreTime,
  tenantsInStore,
} from '../../commit/index.ts'
import type { EngineConfig } from '../../config.ts'
import {
  dropUnseen,
  listReads,
  type SeesWorkflow,
  seenBy,
  seesAll,
  withFacts,
  withFactsOf,
} from '../../events/index.ts'
import { type InternalDeadLetterActions, mustSayWhy, type ReplayOptions } from '../dead-letter-actions.ts'
import { countDeadLetters } from './dead-letter-pages.ts'
import type { PreviewDeps } from './judge-replay.ts'
import { type Preview, previewReplay } from './preview-dead-letters.ts'
import { type DeliveriesPreview, previewDeliveries } from './preview-deliveries.ts'
import { type EventsPreview, previewEvents } from './preview-events.ts'
import {
  beginWalk,
  prepareRecovery,
  type Recovery,
  recoverySpan,
  subscriptionFor,
} from './recover-deliveries.ts'
import { findEvents, prepareEvent } from './replay-events.ts'
import { commitPiece, type ListedReplay, preparePiece, type Row, readRows } from './replay-piece.ts'
import {
  type BulkReplay,
  type DeliveriesFilter,
  type EventFilter,
  guardOf,
  LISTED_PREFIX,
  listWrites,
  makeReplayId,
  piecesOf,
  type ReplayFilter,
  RUNNING_PREFIX,
  readReplay,
  type StoredReplay,
  writesOf,
} from './replay-record.ts'
import { nextPieceAt, PIECE_MAX, sizePiece } from './replay-speed.ts'

export interface BulkReplays {
  preview(tenant: TenantId, filter: ReplayFilter, options: ReplayOptions): Promise<Preview>
  /** Stores the request, and starts. */
  begin(tenant: TenantId, filter: ReplayFilter, options: Decided & ReplayOptions & Paced): Promise<BulkReplay>
  previewEvents(tenant: TenantId, filter: EventFilter, maySee?: SeesWorkflow): Promise<EventsPreview>
  /** Stores which events are to be matched again, and starts, the oldest first. */
  beginEvents(
    tenant: TenantId,
    filter: EventFilter,
    decided: Decided & Paced,
    maySee?: SeesWorkflow,
  ): Promise<BulkReplay>
  /** What a recovery would do; reads a bounded number of events. */
  previewDeliveries(
    tenant: TenantId,
    filter: DeliveriesFilter,
    maySee?: SeesWorkflow,
  ): Promise<DeliveriesPreview>
  /**
   * Recovers what a subscription has missed, the oldest first: replays dead deliveries, sends those never
   * sent. `force`: also dead letters whose replays failed.
   */
  beginDeliveries(
    tenant: TenantId,
    filter: DeliveriesFilter,
    options: Decided & Paced & { readonly force?: boolean },
  ): Promise<BulkReplay>
  find(tenant: TenantId, id: string): Promise<BulkReplay | null>
  /** Newest first. */
  list(tenant: TenantId, request: PageRequest): Promise<Page<BulkReplay>>
  /** Jobs already replayed continue. */
  cancel(tenant: TenantId, id: string, decided: Decided): Promise<BulkReplay>
}

interface Paced {
  /** Omitted: as fast as the nodes take it up. */
  readonly perSecond?: number
}

export interface BulkReplayer extends BulkReplays {
  start(): void
  stop(): Promise<void>
}

/** How often a node looks for replays that other nodes started and left. */
const RUNNING_MAX = 20
/** Jobs that a replay may add to the queue of a node that is behind; then it waits, except for an occasional piece. */
const AHEAD_MAX = 2_000
const BEHIND_MS = 25
const BEHIND_PIECE_MS = 1_000

/** How often a node looks for dead letters that were marked ready. */
const READY_EVERY_MS = 60_000
const READY = 'ready_to_replay'
const READY_ACTOR = 'the replay of what is ready'

const HELD = { piece: 'lost', waitMs: 0 } as const

type Asked =
  | { readonly of: 'deadLetters'; readonly filter: ReplayFilter }
  | { readonly of: 'events'; readonly filter: EventFilter; readonly pieces: number }
  | Pick<Recovery, 'of' | 'filter' | 'walk'>

const NO_EVENT_FITS = 'List events with the same filter: GET /v1/events.'
const NONE_FITS =
  'List dead letters with the same filter; one without a `state` finds open ones only, so they may be replayed or discarded already.'

/** What bulk replays need of the queue, of subscriptions and of flow control. */
export interface BulkReplayHooks {
  /** An intake job of this consumer was added. */
  expect(tenant: TenantId, consumer: string): void
  /** Whether jobs are due that this node has no slot for. */
  isBehind(): boolean
  /** Loads subscriptions that another node changed: one just created or enabled there counts here too. */
  refresh(tenant: TenantId): Promise<void>
  /** Clears the known failures of an endpoint, so that they delay nothing. */
  forgetBackoff(tenant: TenantId, consumer: string): void
}

export function makeBulkReplays(
  deps: PreviewDeps &
    BulkReplayHooks & {
      readonly clock: Clock
      readonly time: StoreTime
      readonly log: Log
      readonly ids: Ids
      readonly commits: Commits
      readonly deadLetterActions: InternalDeadLetterActions
      wake(): void
    },
  config: Pick<EngineConfig, 'replayReadyPerMinute' | 'followMs'>,
): BulkReplayer {
  const { store, clock, time, log, ids, commits, registry, deadLetterActions } = deps
  let isOpen = false
  let cancelTimer = () => {}
  let passing: Promise<void> | null = null
  let isAskedAgain = false

  const find = async (tenant: TenantId, id: string): Promise<StoredReplay | null> => {
    const record = isReplayId(id) ? await store.forTenant(tenant).record('replay', id) : null
    return record === null ? null : { replay: readReplay(record.body), version: record.version }
  }

  /** The record after a step that changes only itself; `lost`: another node changed it. */
  const keep = async (
    tenant: TenantId,
    { version }: StoredReplay,
    replay: BulkReplay,
  ): Promise<StoredReplay | 'lost'> => {
    const next = { replay, version }
    const result = await commits.once(tenant, [guardOf(next)], writesOf(next))
    return result.ok ? { replay, version: version + 1 } : 'lost'
  }

  const prepare = ({ force, again }: BulkReplay, row: Row) =>
    'dedupKey' in row ? prepareEvent(deps, row) : deadLetterActions.prepare(row.tenant, row, { force, again })

  /** Null: there is no limit, or what it will call is not known yet. */
  const perMinuteOf = (tenant: TenantId, row: Row | string): number | null => {
    if (typeof row === 'string' || 'dedupKey' in row) return null
    return registry.route(tenant, row.consumer)?.document.rateLimit?.perMinute ?? null
  }

  const isOrdered = (row: Row | string): boolean =>
    typeof row !== 'string' && !('dedupKey' in row) && registry.route(row.tenant, row.consumer)?.lane != null

  /** Jobs added since this node was last seen to have no backlog. */
  let ahead = 0
  let behindAt = 0

  /** How long to let others go first. */
  const yieldMs = (): number => {
    if (!deps.isBehind()) ahead = 0
    if (ahead < AHEAD_MAX) return 0
    if (clock.monotonic() - behindAt < BEHIND_PIECE_MS) return BEHIND_MS
    return 0
  }

  const replaySome = async (tenant: TenantId, { version }: StoredReplay, replay: ListedReplay) => {
    const next = await readRows(store, tenant, replay, PIECE_MAX)
    const { count, waitMs } = sizePiece(
      replay.perSecond,
      next.rows.map((row) => perMinuteOf(tenant, row)),
    )
    const part =
      count === next.rows.length ? next : { rows: next.rows.slice(0, count), after: null, isLast: false }
    const draft = await preparePiece({ prepare, isOrdered }, { replay, version }, part, {
      nextAt: nextPieceAt(time.now(), waitMs),
      finishedAt: time.now(),
    })
    return { piece: await commitPiece(commits, tenant, draft), waitMs }
  }

  const recover = async (tenant: TenantId, { version }: StoredReplay, replay: Recovery) => {
    await deps.refresh(tenant)
    const subscription = registry.subscription(tenant, replay.filter.subscription)
    if (subscription === null) {
      log.warn('replay.ended', { tenant, replay: replay.id, error: 'the subscription is gone' })
      await keep(tenant, { replay, version }, { ...replay, state: 'cancelled', finishedAt: time.now() })
      return HELD
    }
    // Jobs added now would wait until the subscription is enabled: so does the recovery.
    if (subscription.status === 'disabled') return HELD
    const { rateLimit } = subscription.route.document
    const sized = (count: number) =>
      sizePiece(replay.perSecond, new Array<number | null>(count).fill(rateLimit?.perMinute ?? null))
    const { count } = sized(PIECE_MAX)
    let waitMs = 0
    const draft = await prepareRecovery(deps, tenant, { replay, version }, subscription, count, {
      nextAt(taken) {
        waitMs = sized(taken).waitMs
        return nextPieceAt(time.now(), waitMs)
      },
      finishedAt: time.now(),
    })
    const piece = await commitPiece(commits, tenant, draft)
    // A walk that finds nothing adds no jobs that would delay others, but it uses its share of the node.
    return { piece, waitMs: deps.isBehind() ? Math.max(waitMs, BEHIND_MS) : waitMs }
  }

  /** Does one piece; returns how long until the next, or null: there is nothing to do for now. */
  const advance = async (tenant: TenantId, id: string): Promise<number | null> => {
    const stored = await find(tenant, id)
    if (stored?.replay.state !== 'running') return null
    const { replay } = stored
    const now = time.now()
    if (replay.nextAt > now) return replay.nextAt - now
    const others = yieldMs()
    if (others > 0) return others
    const step =
      replay.of === 'deliveries' ? recover(tenant, stored, replay) : replaySome(tenant, stored, replay)
    const { piece, waitMs } = await step
    if (piece === 'lost') return null
    if (piece === 'rebuild') return 0
    const decided = { actor: replay.by, reason: replay.reason ?? `replay ${replay.id}` }
    for (const one of piece.replayed) {
      one.logDecision(decided)
      if (one.work.kind === 'intake') deps.expect(tenant, one.work.consumer)
    }
    ahead += piece.replayed.length
    behindAt = clock.monotonic()
    if (piece.replayed.length > 0) deps.wake()
    const { state, total, replayed, refused } = piece.stored.replay
    if (state === 'running') return waitMs
    log.info('replay.done', { tenant, replay: id, total, replayed, refused })
    return null
  }

  /** A stuck replay must not delay the others. */
  const advanceAlone = async (tenant: TenantId, id: string): Promise<number | null> => {
    try {
      return await advance(tenant, id)
    } catch (error) {
      if (error instanceof StoreError) throw error
      log.error('replay.broken', { tenant, replay: id, error: messageOf(error) })
      return null
    }
  }

  let readyAt = Number.NEGATIVE_INFINITY

  /** Starts a replay of dead letters marked ready, if configured, unless another replay is running. */
  const takeReady = async (tenant: TenantId): Promise<void> => {
    const { items } = await store.forTenant(tenant).deadLetters({ state: READY, cursor: null, limit: 1 })
    if (items.length === 0) return
    const decided = {
      actor: READY_ACTOR,
      reason: 'marked ready',
      perSecond: config.replayReadyPerMinute / 60,
    }
    const filter = { state: READY } as const
    const { count } = await countDeadLetters(store.forTenant(tenant), filter)
    await beginAs(tenant, { of: 'deadLetters', filter }, count, { force: false }, decided)
  }

  /** One piece of each, in rotation; returns how long until the next. */
  const pass = async (): Promise<number> => {
    let soonestMs = config.followMs
    const isTime = config.replayReadyPerMinute > 0 && clock.monotonic() - readyAt >= READY_EVERY_MS
    if (isTime) readyAt = clock.monotonic()
    for (const tenant of await tenantsInStore(store)) {
      const query = { kind: 'replay', prefix: RUNNING_PREFIX, cursor: null, limit: RUNNING_MAX } as const
      const { items } = await store.forTenant(tenant).records(query)
      if (isTime && items.length === 0) await takeReady(tenant)
      for (const { key } of items) {
        if (!isOpen) return config.followMs
        const delayMs = await advanceAlone(tenant, key.slice(RUNNING_PREFIX.length))
        if (delayMs !== null) soonestMs = Math.min(soonestMs, delayMs)
      }
    }
    return soonestMs
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
        return config.followMs
      })
      .then((delayMs) => {
        passing = null
        if (!isOpen) return
        cancelTimer = clock.after(isAskedAgain ? 0 : delayMs, run)
      })
  }

  const beginAs = async (
    tenant: TenantId,
    what: Asked,
    total: number,
    { force, again = false }: ReplayOptions,
    { actor = 'the engine’s owner', reason = null, perSecond }: Decided & Paced,
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
      again,
      perSecond: perSecond ?? null,
      nextAt: 0,
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
    log.info('replay.begun', { tenant, replay: replay.id, of: replay.of, total, again, by: actor, reason })
    run()
    return replay
  }

  return {
    preview: (tenant, filter, options) => previewReplay(deps, tenant, namedOnce(filter), options),

    async begin(tenant, asked, { force, again = false, ...decided }) {
      mustSayWhy(again, decided)
      const filter = namedOnce(asked)
      const { count } = await countDeadLetters(store.forTenant(tenant), filter)
      if (count === 0) throw new AppError('not_found', 'no dead letter fits the filter', { next: NONE_FITS })
      return beginAs(tenant, { of: 'deadLetters', filter }, count, { force, again }, decided)
    },
    previewEvents: (tenant, filter, maySee = seesAll) =>
      previewEvents(deps, tenant, namedOnce(filter), maySee),
    async beginEvents(tenant, asked, decided, maySee = seesAll) {
      const filter = namedOnce(asked)
      // Events that arrive from now on are matched on arrival, and not part of it.
      const to = Math.min(filter.to ?? Number.POSITIVE_INFINITY, time.now() + 1)
      const reads = store.forTenant(tenant)
      const events =
        filter.ids === undefined
          ? await findEvents(seenBy(listReads(reads, filter), maySee), { ...filter, to })
          : await dropUnseen(withFacts(reads), filter.ids, maySee)
      if (events.length === 0)
        throw new AppError('not_found', 'no event fits the filter', { next: NO_EVENT_FITS })
      const what = { of: 'events', filter, pieces: piecesOf(events.length) } as const
      return beginAs(tenant, what, events.length, { force: false }, decided, events)
    },

    async previewDeliveries(tenant, asked, maySee = seesAll) {
      await deps.refresh(tenant)
      const filter = recoverySpan(asked, time.now())
      return previewDeliveries(deps, tenant, subscriptionFor(registry, tenant, filter), filter, maySee)
    },
    async beginDeliveries(tenant, asked, { force = false, ...decided }) {
      await deps.refresh(tenant)
      const filter = recoverySpan(asked, time.now())
      const { status, document } = subscriptionFor(registry, tenant, filter)
      if (status === 'disabled')
        throw new AppError('subscription_disabled', `${document.name} is disabled; enable it, then recover`)
      const walk = await beginWalk(withFactsOf(store.forTenant(tenant), document.on), filter)
      return beginAs(tenant, { of: 'deliveries', filter, walk }, 0, { force }, decided)
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

    cancel(tenant, id, decided) {
      const cancelOnce = async (retry: () => Promise<BulkReplay>): Promise<BulkReplay> => {
        const stored = await find(tenant, id)
        if (stored === null) throw new AppError('not_found', `no replay ${id}`)
        const { replay } = stored
        if (replay.state !== 'running') throw new AppError('conflict', `the replay is ${replay.state}`)
        const cancelled = await keep(tenant, stored, {
          ...replay,
          state: 'cancelled',
          finishedAt: time.now(),
        })
        if (cancelled === 'lost') return retry()
        log.info('replay.cancelled', { tenant, replay: id, by: decided.actor, reason: decided.reason })
        return cancelled.replay
      }
      return retrying(RACES_MAX, cancelOnce, orConflict('the replay moves on too quickly; try again'))
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

/** An id named twice counts once: two in one piece would both find it unchanged. */
function namedOnce<Filter extends { readonly ids?: readonly string[] }>(filter: Filter): Filter {
  return filter.ids === undefined ? filter : { ...filter, ids: [...new Set(filter.ids)] }
}
