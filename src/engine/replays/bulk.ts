// Replaying many dead letters: a durable record that nodes work off, a few letters at a time.
//
// A letter's replay and the record's progress are one commit, guarded by the versions of both: two nodes never count one
// letter twice, and a crash between two letters loses nothing. Whoever starts next goes on where the record stands.

import type { DeadLetter } from '../../core/dead-letter/index.ts'
import { AppError, messageOf } from '../../core/errors/index.ts'
import type { DeadLetterId, Ids, TenantId } from '../../core/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { type Page, type PageRequest, StoreError } from '../../ports/store.ts'
import type { Commits } from '../commits.ts'
import type { Decided } from '../decided.ts'
import type { PreparedReplay, Replayer } from '../replay.ts'
import type { StoreTime } from '../store-time.ts'
import { countLetters, readLetters } from './letters.ts'
import { type Preview, type PreviewDeps, previewReplay } from './preview.ts'
import {
  type BulkReplay,
  guardOf,
  isReplayId,
  LISTED_PREFIX,
  makeReplayId,
  type ReplayFilter,
  RUNNING_PREFIX,
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

/** Fifty letters a second and replay: a vendor that has just come back is not run over. */
const STEP_LETTERS = 10
const STEP_MS = 200
/** How often a node looks for replays that others began and left. */
const LOOK_MS = 5_000
const PAGE = 100
const PAGES_PER_STEP = 10
const RUNNING_MAX = 20
const CANCEL_RACES_MAX = 20
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

  /** The record after its next step; `lost`: somebody else moved it; `letter`: somebody else moved the letter. */
  const keep = async (
    tenant: TenantId,
    { version }: StoredReplay,
    replay: BulkReplay,
    beside: Pick<PreparedReplay, 'guards' | 'writes'> = { guards: [], writes: [] },
  ): Promise<StoredReplay | 'lost' | 'letter'> => {
    const next = { replay, version }
    const result = await commits.once(
      tenant,
      [guardOf(next), ...beside.guards],
      [...beside.writes, ...writesOf(next)],
    )
    if (result.ok) return { replay, version: version + 1 }
    return result.guard === 0 ? 'lost' : 'letter'
  }

  const replayOne = async (
    tenant: TenantId,
    stored: StoredReplay,
    letter: DeadLetter | DeadLetterId,
  ): Promise<StoredReplay | 'lost'> => {
    const { replay } = stored
    const id = typeof letter === 'string' ? letter : letter.id
    const seen = { ...replay, after: replay.filter.ids === undefined ? id : null }
    const refuse = async (code: AppError['code']): Promise<StoredReplay | 'lost'> => {
      const kept = await keep(tenant, stored, withRefusal(seen, id, code))
      return kept === 'letter' ? 'lost' : kept
    }
    if (typeof letter === 'string') return refuse('not_found')
    try {
      const prepared = await replayer.prepare(tenant, letter, replay.force)
      const kept = await keep(tenant, stored, { ...seen, replayed: replay.replayed + 1 }, prepared)
      if (kept === 'letter') return await refuse('conflict')
      if (kept !== 'lost') prepared.told({ actor: replay.by, reason: replay.reason ?? `replay ${replay.id}` })
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

  /** Some letters further; answers whether there is more to do at once. */
  const advance = async (tenant: TenantId, id: string): Promise<boolean> => {
    const reads = store.forTenant(tenant)
    let stored = await find(tenant, id)
    if (stored?.replay.state !== 'running') return false
    const { filter } = stored.replay
    let left = STEP_LETTERS
    for (let pages = 0; pages < PAGES_PER_STEP && left > 0; pages += 1) {
      const { after, replayed, refused } = stored.replay
      let letters: readonly (DeadLetter | DeadLetterId)[]
      let isLast: boolean
      let end: DeadLetterId | null = null
      if (filter.ids === undefined) {
        const page = await readLetters(reads, filter, after, PAGE)
        letters = page.letters
        end = page.after
        isLast = page.after === null
      } else {
        const ids = filter.ids.slice(replayed + refused, replayed + refused + left)
        letters = await Promise.all(ids.map(async (id) => (await reads.deadLetter(id)) ?? id))
        isLast = replayed + refused + ids.length >= filter.ids.length
      }
      const some = letters.slice(0, left)
      for (const letter of some) {
        if (!isOpen) return true
        const next: StoredReplay | 'lost' = await replayOne(tenant, stored, letter)
        if (next === 'lost') return false
        stored = next
        left -= 1
      }
      deps.wake()
      if (some.length < letters.length) return true
      if (isLast) {
        await finish(tenant, stored)
        return false
      }
      if (end !== null) stored = { ...stored, replay: { ...stored.replay, after: end } }
    }
    // Nothing may have fitted so far: the next step must not look at the same letters again.
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

  return {
    preview: (tenant, filter, { force }) => previewReplay(deps, tenant, filter, force),

    async begin(tenant, filter, { force, actor = 'the engine’s owner', reason = null }) {
      const reads = store.forTenant(tenant)
      const { count } = await countLetters(reads, filter)
      if (count === 0) throw new AppError('not_found', 'no dead letter fits the filter', { next: NONE_FITS })
      const query = { kind: 'replay', prefix: RUNNING_PREFIX, cursor: null, limit: RUNNING_MAX } as const
      if ((await reads.records(query)).items.length >= RUNNING_MAX)
        throw new AppError('conflict', `${RUNNING_MAX} replays are running; wait for one, or cancel it`)
      const createdAt = time.now()
      const replay: BulkReplay = {
        id: makeReplayId(createdAt, ids.uuid()),
        state: 'running',
        filter,
        force,
        total: count,
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
      const result = await commits.once(tenant, [guardOf(stored)], writesOf(stored, true))
      if (!result.ok) throw new AppError('conflict', 'another replay began in this very moment')
      log.info('replay.begun', { tenant, replay: replay.id, total: count, by: actor, reason })
      run()
      return replay
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
