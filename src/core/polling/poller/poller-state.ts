// What is stored of a poller between its polls: the watermark, the window that is being read, the job that reads it, and the latest
// runs.
//
// Invariants: N9 only the last page of a window moves the watermark. PO4 at most one job polls at a time. PO5 a fault or a
// failed call closes the window and leaves the watermark.

import type { WorkId } from '../../foundation/ids/index.ts'
import { HOUR, type Instant, MINUTE } from '../../foundation/time/index.ts'
import {
  openWindow,
  type PageStep,
  type PollCounts,
  type PollWindow,
  type WindowRules,
} from './poll-window.ts'

export interface PollRun {
  readonly workId: WorkId
  readonly startedAt: Instant
  readonly endedAt: Instant
  /** `completed`: the window was read to its end. `truncated`: the next run goes on. `failed`: nothing moved. */
  readonly outcome: 'completed' | 'truncated' | 'failed'
  readonly from: Instant
  readonly to: Instant
  /** Of this run. */
  readonly pages: number
  /** Of the window so far. */
  readonly counts: PollCounts
  /** After the run. */
  readonly watermark: Instant | null
  /** null: it did not fail. */
  readonly code: string | null
  readonly error: string | null
}

export interface PollerState {
  readonly watermark: Instant | null
  /** Where the very first window begins: it stays there while polls fail. null: there was none. */
  readonly origin: Instant | null
  readonly active: {
    readonly workId: WorkId
    readonly since: Instant
    /** Read by this job. */
    readonly pages: number
    /** Attempts before the latest page: only those after it count against the retry policy. */
    readonly attempts: number
  } | null
  /** null: the next page is the first of a new window. */
  readonly window: PollWindow | null
  /** The latest first. */
  readonly runs: readonly PollRun[]
}

export const NEW_POLLER: PollerState = { watermark: null, origin: null, active: null, window: null, runs: [] }

/** How many runs are stored. */
const POLL_RUNS_MAX = 20

/** A job takes the poller over. The caller has checked that no other one is active. */
export function beginPoll(
  state: PollerState,
  workId: WorkId,
  { sinceMs }: Pick<WindowRules, 'sinceMs'>,
  now: Instant,
): PollerState {
  const origin = state.origin ?? now - sinceMs
  return { ...state, origin, active: { workId, since: now, pages: 0, attempts: 0 } }
}

/** The window to read: the one that a run before left, if the document is still the one that opened it, or a new one. */
export function windowOf(state: PollerState, rules: WindowRules, now: Instant): PollWindow {
  const { window } = state
  return window !== null && window.hash === rules.hash ? window : openWindow(state, rules, now)
}

export type PollStep =
  /** The next page is read by the same job. */
  | { readonly is: 'more'; readonly state: PollerState }
  /** The job is over. */
  | { readonly is: 'over'; readonly state: PollerState; readonly run: PollRun }

/** After a page whose items are stored. */
export function stepPoll(
  state: PollerState,
  read: PageStep,
  window: PollWindow,
  { paging }: WindowRules,
  { attempts, now }: { readonly attempts: number; readonly now: Instant },
): PollStep {
  const { active } = state
  if (active === null) throw new Error('assertion failed: a page without a poll')
  const pages = active.pages + 1
  if (read.is === 'fault') return over(state, window, null, 'failed', { pages, now, fault: read.fault })
  if (read.is === 'last')
    return over({ ...state, watermark: read.watermark }, read.window, null, 'completed', { pages, now })
  if (pages >= paging.maxPages) return over(state, read.window, read.window, 'truncated', { pages, now })
  return { is: 'more', state: { ...state, window: read.window, active: { ...active, pages, attempts } } }
}

/** A call failed for good. The window is given up: its cursor or link may have expired, and would fail each time. */
export function failPoll(
  state: PollerState,
  rules: WindowRules,
  fault: { readonly code: string; readonly message: string },
  now: Instant,
): PollStep {
  const window = windowOf(state, rules, now)
  return over(state, window, null, 'failed', { pages: state.active?.pages ?? 0, now, fault })
}

function over(
  state: PollerState,
  window: PollWindow,
  left: PollWindow | null,
  outcome: PollRun['outcome'],
  {
    pages,
    now,
    fault,
  }: {
    readonly pages: number
    readonly now: Instant
    readonly fault?: { readonly code: string; readonly message: string }
  },
): PollStep {
  const { active } = state
  if (active === null) throw new Error('assertion failed: the end of a poll that is not active')
  const run: PollRun = {
    workId: active.workId,
    startedAt: active.since,
    endedAt: now,
    outcome,
    from: window.from,
    to: window.to,
    pages,
    counts: window.counts,
    watermark: state.watermark,
    code: fault?.code ?? null,
    error: fault?.message ?? null,
  }
  return {
    is: 'over',
    state: { ...state, active: null, window: left, runs: [run, ...state.runs].slice(0, POLL_RUNS_MAX) },
    run,
  }
}

const FIRST_PAUSE_MS = 2 * MINUTE

/** After failures the poller pauses for longer and longer, up to an hour: each failure is a dead letter. Until then nothing begins. */
export function pausedUntil({ runs }: PollerState): Instant {
  const first = runs.findIndex(({ outcome }) => outcome !== 'failed')
  const failures = first < 0 ? runs.length : first
  const [latest] = runs
  if (failures === 0 || latest === undefined) return 0
  return latest.endedAt + Math.min(HOUR, FIRST_PAUSE_MS * 2 ** (failures - 1))
}

/** Sets the watermark back or forward. The window that is being read is given up: what it stored stays stored. */
export function rollBack(state: PollerState, to: Instant): PollerState {
  return { ...state, watermark: to, window: null, active: null }
}
