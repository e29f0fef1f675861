// Accepts a named event: plans what follows from it, commits all of it together, and reports whether it is a duplicate.
//
// Invariants: N1 the sender gets no response before the commit is durable. A duplicate gets the first event's id,
// whichever node or commit group stored that event.

import { sensitivePathsOf } from '../../core/events/sensitive/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { EventId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import { type CommitResult, type Guard, StoreError, type Write } from '../../ports/store.ts'
import type { Commits, Draft, EventPlan, Planned, UnitOfWork } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import { lineOf } from '../observe/index.ts'
import {
  type Acceptance,
  type Begun,
  type InlineStart,
  type PlanDeps,
  planAcceptance,
  planUnread,
} from '../planning/index.ts'
import type { Duplicates } from './duplicate-counts.ts'

export interface KeepRequest {
  readonly source: Source
  readonly draft: Draft
  readonly payload: JsonValue
  readonly header: Readonly<Record<string, string>>
  /** Why the event could not be read: it is stored as a dead letter. Omitted: it was read. */
  readonly unread?: string
  /** By the monotonic clock, for the log. */
  readonly startedAt: number
  /** Further guards and writes for the commit of the event. */
  readonly beside?: { readonly guards: readonly Guard[]; readonly writes: readonly Write[] }
}

export interface Accepted {
  readonly eventId: EventId
  readonly duplicate: boolean
}

export interface Acceptor {
  /**
   * Throws AppError `store_unavailable` or `source_unusable` if nothing was stored. `refused`: one of the
   * `beside` guards did not hold. Then nothing was stored, unless a first attempt whose response was lost
   * stored it: check what the guard is about.
   */
  keep(request: KeepRequest): Promise<Accepted | 'refused'>
  /** The same for the path of every event: goes on with `then` or `failed` at once, without another promise. May throw at once. */
  keep<Value>(
    request: KeepRequest,
    then: (stored: Accepted | 'refused') => Value,
    failed: (error: unknown) => Value,
  ): Promise<Value>
}

export function makeAcceptor(
  deps: Pick<EngineDeps, 'clock' | 'log' | 'store'> & {
    readonly commits: Commits
    readonly planning: PlanDeps
    readonly duplicates: Pick<Duplicates, 'note'>
    readonly inlineStart: InlineStart
    /** Whether another node may accept what this one cannot. */
    readonly isShared: boolean
    readonly unitOfWork: Pick<UnitOfWork, 'end' | 'release'>
  },
): Acceptor {
  const { clock, log, commits, planning, inlineStart, unitOfWork } = deps

  /** Tries again only while it is unknown whether the commit was applied: the sender must not get a false response. */
  const commit = <Value>(
    { event, writes }: Pick<Acceptance, 'event' | 'writes'>,
    beside: KeepRequest['beside'],
    begun: Begun | null,
    then: (result: CommitResult) => Value,
    failed: (error: unknown) => Value,
  ): Promise<Value> => {
    const dedup = { g: 'dedup', source: event.source, key: event.dedupKey } as const
    // The `beside` guards come first: a caller that is too late there has not repeated the event. The guards of inline
    // starts come last: a duplicate is reported as one, whichever instance holds its keys.
    const own = begun === null ? [dedup] : [dedup, ...begun.guards]
    const guards = beside === undefined ? own : [...beside.guards, ...own]
    const all = beside === undefined ? writes : [...writes, ...beside.writes]
    return commits.once<Value>(event.tenant, guards, all, then, (error) => {
      if (!(error instanceof StoreError)) return failed(error)
      if (error.applied === 'indeterminate')
        return repeat(event, guards, all, guards.indexOf(dedup)).then(then, failed)
      return failed(new AppError('store_unavailable', undefined, { cause: error }))
    })
  }

  /**
   * The first attempt may have been applied. Its dedup guard shows that only until the source's window ends,
   * which may happen while the store is down. After that the commit fails because its event exists, and the
   * event itself is the proof.
   */
  const repeat = async (
    event: Acceptance['event'],
    guards: readonly Guard[],
    writes: readonly Write[],
    dedup: number,
  ): Promise<CommitResult> => {
    try {
      return await commits.firmly(event.tenant, guards, writes)
    } catch (error) {
      const stored = await commits.retryUntilAvailable(() =>
        deps.store.forTenant(event.tenant).event(event.id),
      )
      if (stored === null) throw error
      return { ok: false, at: stored.receivedAt, guard: dedup, found: { f: 'event', id: event.id } }
    }
  }

  /** With instances that start in the same commit. `held`: the plans to end by the result. If it throws, they have been ended. */
  const commitStarts = async (
    first: EventPlan,
    beside: KeepRequest['beside'],
    held: Planned[],
  ): Promise<CommitResult> => {
    const hold = (...now: readonly Planned[]) => held.splice(0, held.length, ...now)
    try {
      const begun = await inlineStart.begin(first)
      hold(begun.plan, ...begun.cases)
      const result = await commit(begun.plan, beside, begun, asIs, rethrow)
      if (result.ok || result.guard <= (beside?.guards.length ?? 0)) return result
      // Another instance has its key: its trigger decides, as a job of its own.
      hold(begun.plan)
      unitOfWork.release(begun.cases)
      const items = inlineStart.asItems(begun)
      hold(items)
      return await commit(items, beside, null, asIs, rethrow)
    } catch (error) {
      unitOfWork.release(held)
      throw error
    }
  }

  const finish = <Value>(
    acceptance: Acceptance,
    held: readonly Planned[],
    result: CommitResult,
    startedAt: number,
    then: (stored: Accepted | 'refused') => Value,
    failed: (error: unknown) => Value,
  ): Value => {
    let stored: Accepted | 'refused'
    try {
      stored = endAndLog(acceptance, held, result, startedAt)
    } catch (error) {
      return failed(error)
    }
    return then(stored)
  }

  const endAndLog = (
    { event, action, deadLetter }: Acceptance,
    held: readonly Planned[],
    result: CommitResult,
    startedAt: number,
  ): Accepted | 'refused' => {
    const first = storedBy(event, result)
    const isStored = first === event.id
    // Its jobs run in this turn: their time is not that of the request.
    const durationMs = Math.round(clock.monotonic() - startedAt)
    unitOfWork.end(held, isStored, result)
    if (first === null) return 'refused'
    if (!isStored) deps.duplicates.note(event.tenant, first)
    log.control(
      isStored
        ? lineOf('ingest', action, event, { durationMs })
        : lineOf('dedupe', 'DUPLICATE', { ...event, id: first }, { durationMs }),
    )
    if (isStored && deadLetter !== null) {
      const { workId: work, class: failureClass, reason: errorCode, lastError: message } = deadLetter
      log.control(
        lineOf('dead-letter', 'DEAD_LETTERED', event, { work, class: failureClass, errorCode, message }),
      )
    }
    return { eventId: first, duplicate: !isStored }
  }

  return {
    keep<Value>(
      { source, draft: named, payload, header, unread, startedAt, beside }: KeepRequest,
      then: (stored: Accepted | 'refused') => Value = asValue,
      failed: (error: unknown) => Value = rethrow,
    ): Promise<Value> {
      // Another node knows the routes of the event. If there is none, the event is stored and waits for a node of that
      // version.
      if (deps.isShared && planning.registry.needsNewerVersion(named.tenant))
        throw new AppError('source_unusable')
      const { windowMs } = source.document.dedup
      const sensitive = sensitivePathsOf(source.document)
      const draft = sensitive === undefined ? named : { ...named, sensitive }
      const acceptance =
        unread === undefined
          ? planAcceptance(planning, source, draft, payload, header, windowMs, inlineStart.mayBegin)
          : planUnread(planning, source, draft, unread, windowMs)
      const { plans } = acceptance
      const [first] = plans
      if (first?.begins !== undefined) {
        const held: Planned[] = [...plans]
        return commitStarts(first, beside, held).then(
          (result) => finish(acceptance, held, result, startedAt, then, failed),
          failed,
        )
      }
      return commit(
        acceptance,
        beside,
        null,
        (result) => finish(acceptance, plans, result, startedAt, then, failed),
        (error) => {
          unitOfWork.release(plans)
          return failed(error)
        },
      )
    },
  }
}

function asIs<Value>(value: Value): Value {
  return value
}

/** For calls without a continuation, whose value is what was kept. */
function asValue<Value>(stored: Accepted | 'refused'): Value {
  return stored as Value
}

function rethrow(error: unknown): never {
  throw error
}

/** The event that is stored under its key; null: none. A commit whose first attempt was applied is refused by its own event. */
function storedBy(event: Acceptance['event'], result: CommitResult): EventId | null {
  if (result.ok) return event.id
  return result.found?.f === 'event' ? result.found.id : null
}
