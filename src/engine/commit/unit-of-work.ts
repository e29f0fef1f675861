// One unit of work: the guards and writes of one commit, with the plans whose jobs the commit leases on insert. It
// commits once and ends its plans in one place: jobs start if the commit was applied, and release their slots if it was
// refused or failed. A caller whose guard was refused builds its unit again, with `retrying`.
//
// Invariant: whatever the result of a commit, thrown errors included, each plan is ended exactly once.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { CommitResult, Guard, Write } from '../../ports/store.ts'
import type { About, Commits, FirmResult } from './commits.ts'
import type { Planned } from './event-plan.ts'

export interface Unit {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  /** What else ends with the commit; their writes are among `writes`. */
  readonly plans: readonly Planned[]
}

/** The result of a commit as the settler reports it. */
type Settled =
  | { readonly ok: true; readonly result: Extract<CommitResult, { ok: true }> }
  | { readonly ok: false }

export interface UnitOfWork {
  /** One attempt; a StoreError reaches the caller. */
  once(tenant: TenantId, unit: Unit): Promise<CommitResult>
  /** Until the store answers, as `Commits.firmly`. */
  firmly(tenant: TenantId, unit: Unit, about?: About): Promise<FirmResult>
  /** The same for the path of every event: goes on with `then` at once. */
  firmly<Value>(
    tenant: TenantId,
    unit: Unit,
    about: About | undefined,
    then: (result: FirmResult) => Value | Promise<Value>,
  ): Promise<Value>
  /** For a commit that the settler makes: ends the plans by its result. */
  settling<Value extends Settled>(plans: readonly Planned[], settle: () => Promise<Value>): Promise<Value>
  /** For a caller that knows better than the response whether its commit was applied. */
  end(plans: readonly Planned[], isStored: boolean, result: CommitResult): void
  /** There is no commit: the jobs of the plans release their slots. */
  release(plans: readonly Planned[]): void
}

/** Starts the jobs of plans that were leased on insert, or releases their slots. */
export interface LeasedOnInsert {
  /**
   * `isStored`: the commit was applied, by this attempt or by one whose response was lost. `result` null:
   * there is no response. Never throws.
   */
  end(plans: readonly Planned[], isStored: boolean, result: CommitResult | null): void
}

/** How often a unit is built while others change the same rows, if the caller sets no limit. */
export const RACES_MAX = 20

export function makeUnitOfWork(deps: {
  readonly commits: Pick<Commits, 'once' | 'firmly'>
  readonly leasedOnInsert: LeasedOnInsert
}): UnitOfWork {
  const { commits } = deps
  const { end } = deps.leasedOnInsert

  /** Returns the promise of the commit itself, so that the caller continues right after the plans end. */
  const ending = <Value>(
    plans: readonly Planned[],
    commit: () => Promise<Value>,
    resultOf: (value: Value) => CommitResult | null,
  ): Promise<Value> => {
    const finish = (result: CommitResult | null): void => end(plans, result?.ok === true, result)
    let committed: Promise<Value>
    try {
      committed = commit()
    } catch (error) {
      finish(null)
      throw error
    }
    void committed.then(
      (value) => finish(resultOf(value)),
      () => finish(null),
    )
    return committed
  }

  return {
    // A unit without plans skips this.
    once(tenant, { guards, writes, plans }) {
      const commit = () => commits.once(tenant, guards, writes)
      return plans.length === 0 ? commit() : ending(plans, commit, itself)
    },
    firmly<Value>(
      tenant: TenantId,
      { guards, writes, plans }: Unit,
      about?: About,
      then: (result: FirmResult) => Value | Promise<Value> = asValue,
    ) {
      if (plans.length === 0) return commits.firmly(tenant, guards, writes, about, then)
      const ended = ending(plans, () => commits.firmly(tenant, guards, writes, about), itself)
      return then === asValue ? (ended as Promise<Value>) : ended.then(then)
    },
    settling: (plans, settle) => ending(plans, settle, (settled) => (settled.ok ? settled.result : null)),
    end,
    release: (plans) => end(plans, false, null),
  }
}

function itself(result: CommitResult): CommitResult {
  return result
}

/** For calls without a continuation, whose value is the result. */
function asValue<Value>(result: FirmResult): Value {
  return result as Value
}

/**
 * Builds and commits, again if another change came first: `build` returns `retry()` then. After `limit`
 * attempts the result is what `exhausted` returns or throws. Returns the promise of the attempt itself:
 * nearly always there is only one.
 */
export function retrying<Value>(
  limit: number,
  build: (retry: () => Promise<Value>, race: number) => Promise<Value>,
  exhausted: () => NoInfer<Value> | Promise<NoInfer<Value>>,
): Promise<Value> {
  const attempt = (race: number): Promise<Value> =>
    race < limit ? build(() => attempt(race + 1), race) : Promise.resolve().then(exhausted)
  return attempt(0)
}

/** For `exhausted`: the caller may try again later. */
export function orConflict(message: string): () => never {
  return () => {
    throw new AppError('conflict', message)
  }
}

/** For `exhausted`: so many changes of the same rows in a row are a defect. */
export function orFail(message: string): () => never {
  return () => {
    throw new Error(message)
  }
}
