// The run of a job that makes its calls without a connection: a plain HTTP call, an upsert, a function, an agent, a delivery. It has no row
// of its own: the job, its attempts and its event already hold every fact (docs/adr/0058-runs-derived-from-jobs.md).

import {
  RUN_ATTEMPTS_MAX,
  type Run,
  type RunAttempt,
  type RunState,
  runIdOf,
} from '../../effects/integration-run/index.ts'
import type { RunId } from '../../foundation/ids/index.ts'
import type { Attempt, WorkRow, WorkState } from '../work/index.ts'

/** What made the calls of a run. */
export const RUN_VIAS = ['connection', 'http', 'upsert', 'function', 'agent', 'delivery'] as const
export type RunVia = (typeof RUN_VIAS)[number]

/** `connection` and `provider` are null unless it is via a connection. */
export interface ListedRun extends Omit<Run, 'connection' | 'provider'> {
  readonly via: RunVia
  readonly connection: string | null
  readonly provider: string | null
}

export interface JobCall {
  readonly via: Exclude<RunVia, 'connection'>
  readonly operation: string
}

const STATES: Readonly<Record<WorkState, RunState>> = {
  ready: 'failed',
  waiting: 'failed',
  leased: 'running',
  parked: 'failed',
  cancelled: 'failed',
  done: 'completed',
  skipped: 'completed',
  merged: 'completed',
  dead: 'dead-lettered',
}

/** Whether it made an attempt. The members of a batch made none: the run is that of the batch. */
export function hasRun({ state, attempts, httpStatus, durationMs }: WorkRow): boolean {
  return state !== 'merged' && (attempts > 0 || httpStatus !== null || durationMs !== null)
}

export function runStateOf({ state }: Pick<WorkRow, 'state'>): RunState {
  return STATES[state]
}

export function runOfJob(
  work: WorkRow,
  { via, operation }: JobCall,
  /** null: retention has deleted it. */
  event: { readonly correlationId: string; readonly traceId: string } | null,
  stored: readonly Attempt[],
  replayOf: RunId | null,
): ListedRun {
  const state = runStateOf(work)
  const isDone = state === 'completed'
  const attempts = attemptsOf(work, stored)
  return {
    id: runIdOf(work.id),
    tenant: work.tenant,
    state,
    via,
    purpose: 'work',
    connection: null,
    provider: null,
    operation,
    workId: work.id,
    eventId: work.eventId,
    correlationId: event?.correlationId ?? '',
    traceId: event?.traceId ?? '',
    key: work.key,
    // A rate limit and a probe use no attempt, and are listed among them.
    attemptCount: Math.max(work.attempts, attempts.at(-1)?.number ?? 0),
    attempts,
    class: isDone ? null : work.class,
    httpStatus: work.httpStatus ?? attempts.at(-1)?.httpStatus ?? null,
    durationMs: work.durationMs ?? attempts.at(-1)?.durationMs ?? null,
    error: isDone ? null : work.lastError,
    externalRef: work.effectRef,
    replayOf,
    createdAt: work.createdAt,
    updatedAt: work.processedAt ?? lastEndOf(work, attempts),
  }
}

function attemptsOf(work: WorkRow, stored: readonly Attempt[]): readonly RunAttempt[] {
  const made = stored.map(
    (one): RunAttempt => ({
      number: one.number,
      startedAt: one.startedAt,
      durationMs: one.durationMs,
      class: one.class,
      httpStatus: one.httpStatus,
      error: one.error,
      credentialVersion: null,
      request: null,
      response: one.response ?? null,
    }),
  )
  // A first attempt that succeeds is only on the row of its job.
  if (made.length === 0 && work.state === 'done' && work.attempts > 0) {
    const durationMs = work.durationMs ?? 0
    made.push({
      number: work.attempts,
      startedAt: Math.max(work.createdAt, (work.processedAt ?? work.createdAt) - durationMs),
      durationMs,
      class: null,
      httpStatus: work.httpStatus,
      error: null,
      credentialVersion: null,
      request: null,
      response: null,
    })
  }
  return made.slice(-RUN_ATTEMPTS_MAX)
}

function lastEndOf(work: WorkRow, attempts: readonly RunAttempt[]): number {
  const last = attempts.at(-1)
  return last === undefined ? work.createdAt : Math.round(last.startedAt + last.durationMs)
}
