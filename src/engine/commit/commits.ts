// Sends the engine's commits to the store: gives each an id, and retries until the store answers where the outcome must
// be known.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import {
  type Commit,
  type CommitResult,
  type Guard,
  type Store,
  StoreError,
  type Write,
} from '../../ports/store.ts'
import type { StoreTime } from './store-time.ts'

export type FirmResult = CommitResult & {
  /** An earlier attempt of the same commit failed, and may still have been applied. */
  readonly isRepeat?: boolean
}

/** What a decision was about, for counters and watchers; the commit itself does not say it. */
export interface About {
  readonly work: Pick<WorkRow, 'id' | 'eventId' | 'consumer' | 'createdAt' | 'replayOf'>
  readonly event: Pick<StoredEvent, 'receivedAt'>
}

export interface Commits {
  /** One attempt; a StoreError reaches the caller. */
  once(tenant: TenantId, guards: readonly Guard[], writes: readonly Write[]): Promise<CommitResult>
  /**
   * Retries until the store answers: for decisions about jobs leased to this node, which no other node can
   * make. A repeated commit that was applied the first time is refused by its own guards; callers see that in
   * `found`.
   */
  firmly(
    tenant: TenantId,
    guards: readonly Guard[],
    writes: readonly Write[],
    about?: About,
  ): Promise<FirmResult>
  /** Reads until the store answers: for reads in the middle of a decision, where giving up would lose what is known. */
  stubbornly<T>(ask: () => Promise<T>): Promise<T>
}

const BACKOFF_FIRST_MS = 50
const BACKOFF_LAST_MS = 5_000

export function makeCommits(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly time: StoreTime
  readonly log: Log
  /** A commit may have been applied, but its response was lost. */
  onLost(): void
  /** Right after a commit was applied, before its caller continues. */
  onApplied(commit: Commit, result: Extract<CommitResult, { ok: true }>, about: About | null): void
}): Commits {
  const { store, clock, time, log } = deps
  const noteLost = (error: unknown): void => {
    if (error instanceof StoreError && error.applied === 'indeterminate') deps.onLost()
  }
  /** The commit is durable: a failing watcher must not make it look failed. */
  const notifyApplied: typeof deps.onApplied = (commit, result, about) => {
    try {
      deps.onApplied(commit, result, about)
    } catch (error) {
      log.error('commit.watcher-failed', { error: messageOf(error) })
    }
  }
  const attempt = (commit: Commit, about: About | null): Promise<CommitResult> =>
    store.commit(commit).then(
      (result) => {
        if (result.ok) notifyApplied(commit, result, about)
        return result
      },
      (error) => {
        noteLost(error)
        throw error
      },
    )
  const stubbornly = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let delayMs = BACKOFF_FIRST_MS; ; delayMs = Math.min(BACKOFF_LAST_MS, delayMs * 2)) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'closed') throw error
        log.warn('store.unavailable', { error: messageOf(error), applied: error.applied, retryInMs: delayMs })
        await new Promise<void>((resolve) => clock.after(delayMs, resolve))
      }
    }
  }
  /** After an attempt that failed with `error`. */
  const repeat = async (commit: Commit, about: About | null, error: unknown): Promise<FirmResult> => {
    let first: unknown = error
    return stubbornly(async () => {
      if (first !== null) {
        const thrown = first
        first = null
        throw thrown
      }
      const result = await attempt(commit, about)
      // Refused, perhaps by what the first attempt wrote: the jobs it leased on insert are no longer expected here.
      if (!result.ok) deps.onLost()
      return { ...result, isRepeat: true }
    })
  }
  return {
    once: (tenant, guards, writes) => attempt({ tenant, guards, writes }, null),
    firmly(tenant, guards, writes, about) {
      const commit = { tenant, guards, writes }
      const heard = (result: CommitResult): CommitResult => {
        time.heard(result.at)
        return result
      }
      // The first attempt takes the short path: all but a few commits need only one.
      const of = about ?? null
      return store.commit(commit).then(
        (result) => {
          if (result.ok) notifyApplied(commit, result, of)
          return heard(result)
        },
        (error) => {
          noteLost(error)
          return repeat(commit, of, error).then(heard)
        },
      )
    },
    stubbornly,
  }
}
