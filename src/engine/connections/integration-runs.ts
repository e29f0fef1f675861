// Integration runs of jobs: written with the reserve of a call and, by a participant of the settler, with the end of the job. Between
// the two commits the outcome of the calls is remembered by the hold of the job.
//
// Invariants: RN2 attempts only grow. DR11 a run ends with its job: the commit that settles the job settles the run. DR12 a replay is a run
// of its own that names the one before it.

import {
  type MadeAttempt,
  makeRun,
  type NewRun,
  runIdOf,
  stepRun,
} from '../../core/effects/integration-run/index.ts'
import { isCanonical } from '../../core/events/canonical/index.ts'
import { scrubNothing } from '../../core/events/sensitive/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { RunId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { NOTHING_NOTED, type Noted, noteEvent } from '../events/index.ts'
import type { Item } from '../leases/index.ts'
import { type Decision, type Held, type Participant, storableError } from '../settlement/index.ts'
import type { OutboundResponse } from './connection-types.ts'

/** What a run is about. */
export interface RunSubject {
  readonly connection: string
  readonly provider: string
  readonly operation: string
}

/** One exchange of an attempt, as it is stored. */
export interface Exchanged {
  readonly startedAt: Instant
  readonly answer: OutboundResponse
}

export interface Runs {
  /** The run begins, or begins again: its row for the commit of the reserve. */
  begin(item: Item, key: string, subject: RunSubject): Promise<Write>
  /** The reserve is committed: calls from now on belong to the run. */
  begun(item: Item): void
  /** The lease of the job ended. */
  forget(hold: string): void
  /** The latest exchange of the running attempt. */
  exchanged(item: Item, exchanged: Exchanged): void
  /** The run of the job's dead letter, if there was one. */
  replayedBy(item: Item, idOf: (work: WorkId) => RunId): Promise<RunId | null>
  /** A run that ends before its job does: it is written with the job's next step. */
  beside(item: Item, id: RunId, row: NewRun): void
  /** Whether the job has runs: its action calls a connection, or its function did. */
  takesPart(held: Held, route: Route | null): boolean
  /** The participant of such jobs: the commit that settles the job settles its runs. */
  readonly part: Participant
}

interface Open {
  /** Of the job's own call; null: it makes none. */
  run: NewRun | null
  /** The reserve is committed, and the run with it. */
  isBegun: boolean
  last: Exchanged | null
  /** Of the calls of its function. */
  readonly others: Map<RunId, NewRun>
}

export function makeRuns(
  deps: Pick<EngineBase, 'store' | 'commits' | 'ids' | 'plan' | 'systemEvents' | 'now'> & {
    readonly registry: Pick<Registry, 'isWanted'>
    /** Whether the action of the job calls a connection. */
    isOnConnection(route: Route | null): boolean
  },
): Runs {
  const { store, commits } = deps
  const open = new Map<string, Open>()

  const find = (item: Item): Open => {
    const hold = holdOf(item)
    let found = open.get(hold)
    if (found === undefined) {
      found = { run: null, isBegun: false, last: null, others: new Map() }
      open.set(hold, found)
    }
    return found
  }

  const readRun = (tenant: TenantId, id: RunId) =>
    commits.retryUntilAvailable(() => store.forTenant(tenant).run(id))

  /** What an earlier lease of the job left. */
  const leftOf = async ({ work }: Held): Promise<NewRun | null> => {
    const isNew = work.attempts === 0 && work.waits === 0 && work.key === null && !work.alone
    return isNew ? null : readRun(work.tenant, runIdOf(work.id))
  }

  const runOf = async (held: Held, known: Open | undefined): Promise<NewRun | null> => {
    if (known === undefined || known.run === null) return leftOf(held)
    // A refused reserve wrote nothing; one that came too late did.
    return known.isBegun ? known.run : readRun(held.work.tenant, known.run.id)
  }

  const replayedBy: Runs['replayedBy'] = async ({ work, deadLetter }, idOf) => {
    if (deadLetter == null) return null
    // While it is replayed the dead letter names the replay; its failure is identified by the job that died first.
    const first =
      deadLetter.failureId === null
        ? deadLetter.workId
        : (`wrk_${deadLetter.failureId.slice('fail_'.length)}` as WorkId)
    const dead = deadLetter.workId === work.id ? first : deadLetter.workId
    const run = dead === work.id ? null : await readRun(work.tenant, idOf(dead))
    return run?.id ?? null
  }

  const writesOf = async (held: Held, isCalling: boolean, decision: Decision): Promise<readonly Write[]> => {
    const hold = holdOf(held)
    const known = open.get(hold)
    const before = isCalling ? await runOf(held, known) : null
    const rows = [...(known?.others.values() ?? [])].map((row) => otherAfter(row, decision))
    if (before !== null) {
      const row = runAfter(held, before, known?.last ?? null, decision)
      if (row !== null) rows.unshift(row)
    }
    return rows.map((row) => ({ w: 'run.put', row }))
  }

  /** Nothing about runs of an event of this system itself. */
  const noteCompleted = ({ work, event }: Held, writes: readonly Write[]): Noted => {
    if (isCanonical(event)) return NOTHING_NOTED
    const isWanted = deps.registry.isWanted(work.tenant, COMPLETED)
    const noted = writes.flatMap((write) =>
      write.w === 'run.put' && write.row.state === 'completed'
        ? [noteEvent(deps, completedDraft(work, event, write.row), isWanted)]
        : [],
    )
    return {
      writes: noted.flatMap((one) => one.writes),
      plans: noted.flatMap((one) => one.plans),
    }
  }

  const part: Participant = async (decision, { held, route }) => {
    const writes = await writesOf(held, deps.isOnConnection(route), decision)
    const noted = writes.length === 0 ? NOTHING_NOTED : noteCompleted(held, writes)
    return {
      writes: [...writes, ...noted.writes],
      ...(noted.plans.length === 0 ? {} : { plans: noted.plans }),
      ended(settlement) {
        // If one of its own guards refuses it, it is decided again, by what is known of the same calls.
        if (settlement === null || settlement.ok || settlement.why === 'stale') open.delete(holdOf(held))
      },
    }
  }

  return {
    async begin(item, key, subject) {
      const { work, event } = item
      const left = await leftOf(item)
      const about = {
        ...subject,
        id: runIdOf(work.id),
        purpose: 'work' as const,
        workId: work.id,
        eventId: event.id,
        correlationId: event.correlationId,
        traceId: event.traceId,
        key,
        replayOf: await replayedBy(item, runIdOf),
      }
      const before = left === null ? makeRun(about) : { ...newRunOf(left), ...subject, key }
      const row = stepRun(before, { type: 'begun' }, scrubNothing) ?? before
      const found = find(item)
      found.run = row
      found.isBegun = false
      found.last = null
      return { w: 'run.put', row }
    },
    begun(item) {
      const found = open.get(holdOf(item))
      if (found !== undefined) found.isBegun = true
    },
    forget: (hold) => void open.delete(hold),
    exchanged(item, exchanged) {
      const found = open.get(holdOf(item))
      if (found !== undefined) found.last = exchanged
    },
    replayedBy,
    beside: (item, id, row) => void find(item).others.set(id, row),
    takesPart: (held, route) => deps.isOnConnection(route) || (open.size > 0 && open.has(holdOf(held))),
    part,
  }
}

const COMPLETED = 'integration.run.completed'

function completedDraft(work: Held['work'], event: Held['event'], row: NewRun) {
  const { id, connection, provider, operation, attemptCount, durationMs, httpStatus, externalRef } = row
  return {
    tenant: work.tenant,
    subject: COMPLETED,
    data: {
      runId: id,
      connection,
      provider,
      consumer: `connection:${connection}`,
      workId: work.id,
      eventId: event.id,
      operation,
      attempts: attemptCount,
      durationMs,
      httpStatus,
      externalRef,
    },
    key: `${id}:${work.epoch}`,
    parent: event,
  } as const
}

function holdOf({ work }: Pick<Held, 'work'>): string {
  return `${work.id} ${work.epoch}`
}

/** Without the fields that the store adds. */
function newRunOf(run: NewRun): NewRun {
  const {
    tenant: _tenant,
    createdAt: _createdAt,
    updatedAt: _updatedAt,
    ...row
  } = run as NewRun & {
    tenant?: unknown
    createdAt?: unknown
    updatedAt?: unknown
  }
  return row
}

/** The result of an attempt. */
export function madeAttempt(
  { startedAt, answer }: Exchanged,
  failure: { readonly class: FailureClass; readonly error: string } | null,
): MadeAttempt {
  const { outcome } = answer
  return {
    startedAt,
    durationMs: Math.round(outcome.durationMs),
    class: failure?.class ?? null,
    httpStatus: outcome.kind === 'response' ? outcome.status : null,
    error: failure?.error ?? null,
    credentialVersion: answer.credentialVersion,
    request: answer.requestHead,
    response: answer.responseHead,
  }
}

/** By the decision about its job; null: it does not change. */
function runAfter(
  { event, work }: Held,
  before: NewRun,
  last: Exchanged | null,
  { to, note }: Decision,
): NewRun | null {
  const run = newRunOf(before)
  const scrub = (text: string) => storableError(event, text)
  const failure = { class: note.class ?? run.class ?? 'unknown', error: note.lastError ?? run.error ?? to }
  switch (to) {
    case 'done':
    case 'skipped': {
      const attempt = last === null ? null : madeAttempt(last, null)
      return stepRun(
        run,
        { type: 'answered', attempt, externalRef: note.effectRef ?? run.externalRef },
        scrub,
      )
    }
    case 'dead': {
      const attempt = last === null ? null : madeAttempt(last, failure)
      return stepRun(run, { type: 'buried', attempt, ...failure }, scrub)
    }
    case 'again':
    case 'parked':
    case 'cancelled': {
      if (last === null && run.state !== 'running') return null
      // No node saw how it ended.
      const attempt =
        last === null ? { ...UNSEEN, ...failure, startedAt: work.dueAt } : madeAttempt(last, failure)
      return stepRun(run, { type: 'failed', attempt }, scrub)
    }
    default:
      return null
  }
}

const UNSEEN = {
  durationMs: 0,
  httpStatus: null,
  credentialVersion: null,
  request: null,
  response: null,
}

/** A failed call is dead with the job of its function. */
function otherAfter(row: NewRun, { to }: Decision): NewRun {
  return to === 'dead' && row.state === 'failed' ? { ...row, state: 'dead-lettered' } : row
}
