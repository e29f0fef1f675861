// What a decision about a job means for its failure: the writes and the emitted events of the participant `failure`.
//
// Invariants: FL3 the failure is written with the decision. FL4 a job that never failed costs nothing: `concerns` says so
// without reading the store. FL9 jobs of canonical events emit nothing.

import { isCanonical } from '../../core/events/canonical/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import type { DeadLetter, NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import { causeHash } from '../../core/failures/escalation/index.ts'
import {
  type FailedTry,
  type Failure,
  type FailureEvent,
  failureId,
  type NewFailure,
  stepFailure,
} from '../../core/failures/failure/index.ts'
import type { FailureId, Ids, TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type Attempt, deadLetterOf, type NewWork } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Store, Write } from '../../ports/store.ts'
import type { Commits, EngineBase, EventPlan } from '../commit/index.ts'
import { canonicalEvent } from '../events/index.ts'
import type { Decision, EndingRow, Held } from './job-decision.ts'

export interface FailureChange {
  readonly writes: readonly Write[]
  /** Of its events; the unit of work must end them. */
  readonly plans: readonly EventPlan[]
}

export const NO_FAILURE_CHANGE: FailureChange = { writes: [], plans: [] }

/** Why a parked job is not retried. */
export const PARKED_REASON = 'parked'

type NoticeDeps = Pick<EngineBase, 'ids' | 'plan'>

export interface Failures {
  /** The participant of every job that fails, or that failed before. */
  change(decision: Decision, row: EndingRow): Promise<FailureChange | null>
  /** An operator discards the dead letter, and with it the failure. */
  discard(deadLetter: DeadLetter, event: NewEvent): Promise<FailureChange>
}

/** Whether the decision concerns a failure. For nearly all jobs it does not. */
export function concerns({ work }: Held, decision: Decision): boolean {
  switch (decision.to) {
    case 'done':
    case 'skipped':
    case 'cancelled':
      return hasFailed(work)
    case 'again':
      return isFailedTry(decision.attempt)
    case 'merged':
      return false
    default:
      return true
  }
}

/** Its class stays on the row while it is retried (see `settle`); a replay continues an earlier job's failure. */
function hasFailed(work: Held['work']): boolean {
  return work.class !== null || deadLetterOf(work) !== null
}

/** A 429 is a failure; waiting for a bucket that was closed before the call is not. */
function isFailedTry(attempt: Attempt | null): boolean {
  if (attempt === null || attempt.class === null) return false
  return attempt.class !== 'rate_limited' || attempt.httpStatus !== null
}

export function makeFailures(
  deps: NoticeDeps & {
    readonly store: Pick<Store, 'forTenant'>
    readonly commits: Pick<Commits, 'retryUntilAvailable'>
    now(): Instant
  },
): Failures {
  const { store, commits } = deps
  return {
    async change(decision, { held, route, deadLetter }) {
      const { work, event } = held
      const id = deadLetter?.failureId ?? failureId(work.id)
      // A replay that has not failed itself continues the failure of its dead letter; a dead letter from before failures were
      // stored has none.
      const isKept = work.class !== null || (deadLetter !== null && deadLetter.failureId !== null)
      const known = isKept
        ? await commits.retryUntilAvailable(() => store.forTenant(work.tenant).failure(id))
        : null
      const happened = eventOf(held, decision)
      if (happened === null) return null
      const isOver = happened.type === 'succeeded' || happened.type === 'closed'
      if (known === null && isOver) return null
      const now = deps.now()
      const before = known === null ? newFailure(id, work, event, route) : toNew(known, now)
      const row = stepFailure(before, happened)
      if (row === null) return null
      const writes: Write[] = [{ w: 'failure.put', row }]
      if (happened.type === 'ended')
        writes.push(raise(deps.ids, row, route?.document.deadLetter.runbook ?? null))
      if (isCanonical(event)) return { writes, plans: [] }
      const plan = canonicalEvent(deps, {
        tenant: work.tenant,
        subject: isOver ? 'integration.failure.resolved' : 'integration.failed',
        data: isOver ? resolvedData(row) : failedData(row, now),
        key: `${work.id}:${work.epoch}`,
        parent: event,
      })
      return { writes: [...writes, ...plan.writes], plans: [plan] }
    },

    async discard({ tenant, failureId }, event) {
      const known = failureId === null ? null : await store.forTenant(tenant).failure(failureId)
      const closed = { type: 'closed', reason: 'discarded' } as const
      const row = known === null ? null : stepFailure(toNew(known, deps.now()), closed)
      if (row === null) return NO_FAILURE_CHANGE
      const write: Write = { w: 'failure.put', row }
      if (isCanonical(event)) return { writes: [write], plans: [] }
      const plan = canonicalEvent(deps, {
        tenant,
        subject: 'integration.failure.resolved',
        data: resolvedData(row),
        key: `${row.workId}:discarded`,
        parent: event,
      })
      return { writes: [write, ...plan.writes], plans: [plan] }
    },
  }
}

/** For an event that is dead-lettered at ingest: its intake job never ran. */
export function failOnIngest(
  deps: NoticeDeps,
  tenant: TenantId,
  work: NewWork,
  event: NewEvent,
  deadLetter: NewDeadLetter,
): FailureChange {
  const { class: failureClass, reason, lastError, key, attempts } = deadLetter
  const redacted = redactedError(event, lastError)
  const tried = {
    workId: work.id,
    eventId: event.id,
    class: failureClass,
    key,
    attempts,
    lastError: redacted,
  }
  const cause = causeOfEnd(work.consumer, tried, reason, event)
  const before = newFailure(failureId(work.id), work, event, null)
  const row = stepFailure(before, { type: 'ended', tried, reason, cause }) ?? before
  const writes: Write[] = [{ w: 'failure.put', row }, raise(deps.ids, row, deadLetter.runbook)]
  if (isCanonical(event)) return { writes, plans: [] }
  const plan = canonicalEvent(deps, {
    tenant,
    subject: 'integration.failed',
    data: failedData(row, 0),
    key: `${work.id}:0`,
    parent: event,
  })
  return { writes: [...writes, ...plan.writes], plans: [plan] }
}

/** A status, and nothing that a vendor or a function said. */
const STATUS_ALONE = /^answered \d{3}\b/
const UNTOLD = 'the text is with the work item: its event is sensitive'

/**
 * Events about failures go to any subscriber; the texts of vendors about a sensitive event may quote it, also where no path
 * says so.
 */
function redactedError({ sensitive }: Pick<NewEvent, 'sensitive'>, error: string): string {
  return sensitive.length === 0 ? error : (STATUS_ALONE.exec(error)?.[0] ?? UNTOLD)
}

function eventOf({ work, event }: Held, decision: Decision): FailureEvent | null {
  const { note, counters } = decision
  const triedAs = (failureClass: FailedTry['class'], lastError: string): FailedTry => ({
    workId: work.id,
    eventId: event.id,
    class: failureClass,
    key: note.key ?? work.key,
    attempts: counters.attempts,
    lastError: redactedError(event, lastError),
  })
  const ended = (tried: FailedTry, reason: string): FailureEvent => ({
    type: 'ended',
    tried,
    reason,
    cause: causeOfEnd(work.consumer, tried, reason, event),
  })
  switch (decision.to) {
    case 'done':
    case 'skipped':
      return { type: 'succeeded' }
    case 'cancelled':
      // The dead letter of a replay is open again, and its failure as before.
      return deadLetterOf(work) === null ? { type: 'closed', reason: 'cancelled' } : null
    case 'merged':
      return null
    case 'again': {
      const failureClass = decision.attempt?.class ?? note.class ?? 'transient'
      const tried = triedAs(failureClass, decision.attempt?.error ?? note.lastError ?? '')
      return { type: 'failed', tried, retryInMs: decision.delayMs }
    }
    case 'parked':
      return ended(triedAs(note.class ?? work.class ?? 'unknown', note.lastError ?? ''), PARKED_REASON)
    case 'dead':
      return ended(triedAs(decision.class, decision.error), decision.reason)
  }
}

function causeOfEnd(consumer: string, tried: FailedTry, reason: string, event: NewEvent): string {
  const { class: failureClass, lastError: error } = tried
  return causeHash({ consumer, class: failureClass, reason, error, isCanonical: isCanonical(event) })
}

function newFailure(
  id: FailureId,
  work: Pick<NewWork, 'id' | 'consumer'>,
  event: Pick<NewEvent, 'id' | 'correlationId'>,
  route: Route | null,
): NewFailure {
  return {
    id,
    state: 'open',
    workId: work.id,
    consumer: work.consumer,
    eventId: event.id,
    class: 'transient',
    reason: null,
    key: null,
    attempts: 0,
    lastError: '',
    retryInMs: null,
    correlationId: event.correlationId,
    severity: route?.document.deadLetter.severity ?? 'medium',
    cause: null,
  }
}

export function toNew(known: Failure, now: Instant): NewFailure {
  const { tenant: _tenant, willRetryAt, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = known
  return { ...row, retryInMs: willRetryAt === null ? null : Math.max(0, willRetryAt - now) }
}

export function raise(
  ids: Pick<Ids, 'escalation'>,
  row: NewFailure,
  runbook: string | null,
  why = row.reason,
): Write {
  const { cause, consumer, class: failureClass, severity, lastError, workId } = row
  return {
    w: 'escalation.raise',
    row: {
      id: ids.escalation(),
      cause: cause ?? '',
      consumer,
      class: failureClass,
      reason: why ?? '',
      severity,
      runbook,
      lastError,
      workId: workId === '' ? null : workId,
    },
  }
}

type Data = { readonly [name: string]: JsonValue }

function commonData({ id, workId, eventId, consumer, severity }: NewFailure): Data {
  return { failureId: id, workId, eventId, consumer, route: routeOf(consumer), severity }
}

function failedData(row: NewFailure, now: Instant): Data {
  const { class: failureClass, reason, attempts, retryInMs, lastError: error, cause } = row
  return {
    ...commonData(row),
    class: failureClass,
    reason,
    attempts,
    terminal: retryInMs === null,
    willRetryAt: retryInMs === null ? null : new Date(now + retryInMs).toISOString(),
    error,
    cause,
  }
}

function resolvedData(row: NewFailure): Data {
  return { ...commonData(row), how: row.reason ?? 'succeeded', attempts: row.attempts }
}

/** null: it is about a source, not a route. */
export function routeOf(consumer: string): string | null {
  return consumer.startsWith('route:') ? consumer.slice('route:'.length) : null
}
