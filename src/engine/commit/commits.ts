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
  /** The same for the path of every event: goes on with `then` or `failed` at once, without another promise. */
  once<Value>(
    tenant: TenantId,
    guards: readonly Guard[],
    writes: readonly Write[],
    then: (result: CommitResult) => Value | Promise<Value>,
    failed: (error: unknown) => Value | Promise<Value>,
  ): Promise<Value>
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
  /** The same for the path of every event: goes on with `then` at once, without another promise. */
  firmly<Value>(
    tenant: TenantId,
    guards: readonly Guard[],
    writes: readonly Write[],
    about: About | undefined,
    then: (result: FirmResult) => Value | Promise<Value>,
  ): Promise<Value>
  /** Reads until the store answers: for reads in the middle of a decision, where giving up would lose what is known. */
  retryUntilAvailable<T>(ask: () => Promise<T>): Promise<T>
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
  /** Never throws at once: a caller has one place for errors. */
  const send = (commit: Commit): Promise<CommitResult> => {
    try {
      return store.commit(commit)
    } catch (error) {
      return Promise.reject(error)
    }
  }
  const attempt = <Value>(
    commit: Commit,
    about: About | null,
    then: (result: CommitResult) => Value | Promise<Value>,
    failed: (error: unknown) => Value | Promise<Value>,
  ): Promise<Value> =>
    send(commit).then(
      (result) => {
        if (result.ok) notifyApplied(commit, result, about)
        return then(result)
      },
      (error) => {
        noteLost(error)
        return failed(error)
      },
    )
  const retryUntilAvailable = async <T>(ask: () => Promise<T>): Promise<T> => {
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
    return retryUntilAvailable(async () => {
      if (first !== null) {
        const thrown = first
        first = null
        throw thrown
      }
      const result = await attempt(commit, about, itself, rethrow)
      // Refused, perhaps by what the first attempt wrote: the jobs it leased on insert are no longer expected here.
      if (!result.ok) deps.onLost()
      return { ...result, isRepeat: true }
    })
  }
  return {
    once: <Value>(
      tenant: TenantId,
      guards: readonly Guard[],
      writes: readonly Write[],
      then: (result: CommitResult) => Value | Promise<Value> = asValue,
      failed: (error: unknown) => Value | Promise<Value> = rethrow,
    ) => attempt({ tenant, guards, writes }, null, then, failed),
    firmly<Value>(
      tenant: TenantId,
      guards: readonly Guard[],
      writes: readonly Write[],
      about?: About,
      then: (result: FirmResult) => Value | Promise<Value> = asValue,
    ) {
      const commit = { tenant, guards, writes }
      const heard = (result: FirmResult): Value | Promise<Value> => {
        time.heard(result.at)
        return then(result)
      }
      // The first attempt takes the short path: all but a few commits need only one.
      const of = about ?? null
      return attempt(commit, of, heard, (error) => repeat(commit, of, error).then(heard))
    },
    retryUntilAvailable,
  }
}

function itself<Value>(value: Value): Value {
  return value
}

/** For calls without a continuation, whose value is the result. */
function asValue<Value>(result: CommitResult): Value {
  return result as Value
}

function rethrow(error: unknown): never {
  throw error
}
