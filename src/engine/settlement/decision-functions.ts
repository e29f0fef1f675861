// The pure decisions that the engine carries out, in one place: the simulator replaces them to plant bugs. And the short delays
// that all callers share.

import { stepConnection } from '../../core/connections/connection/index.ts'
import { decideEffect } from '../../core/effects/ledger/index.ts'
import { classifyCall } from '../../core/failures/failure/index.ts'
import { stepCircuit } from '../../core/flow-control/circuit/index.ts'
import { decideDrain } from '../../core/flow-control/drain/index.ts'
import { stepHost } from '../../core/flow-control/rate/index.ts'
import { decideDebounce, isStale, keepsPlace } from '../../core/queue/lane/index.ts'
import {
  decideFailure,
  type FailureQuestion,
  type FailureStep,
  type WorkRow,
} from '../../core/queue/work/index.ts'
import type { Random } from '../../ports/random.ts'
import type { StoreTime } from '../commit/index.ts'
import { decideStop } from './function-stop.ts'

export interface Decisions {
  readonly decideEffect: typeof decideEffect
  readonly classifyCall: typeof classifyCall
  readonly decideFailure: typeof decideFailure
  readonly decideStop: typeof decideStop
  readonly decideDebounce: typeof decideDebounce
  readonly isStale: typeof isStale
  readonly keepsPlace: typeof keepsPlace
  readonly stepCircuit: typeof stepCircuit
  readonly stepConnection: typeof stepConnection
  readonly stepHost: typeof stepHost
  readonly decideDrain: typeof decideDrain
}

export const DECISIONS: Decisions = {
  decideEffect,
  classifyCall,
  decideFailure,
  decideStop,
  decideDebounce,
  isStale,
  keepsPlace,
  stepCircuit,
  stepConnection,
  stepHost,
  decideDrain,
}

/** A failed attempt. Omitted fields mean that a repeat is harmless, as for a job without an external effect. */
export type FailedOutcome = Pick<FailureQuestion, 'class' | 'retryAfterMs'> &
  Partial<Pick<FailureQuestion, 'effect' | 'idempotent' | 'canRepeat' | 'probeAfterMs' | 'expiresAt'>>

/** What happens to a job after one more failed attempt, by the retry policy of its route. */
export function decideNext(
  deps: {
    readonly decisions: Pick<Decisions, 'decideFailure'>
    readonly random: Pick<Random, 'unit'>
    readonly time: Pick<StoreTime, 'now'>
  },
  { work }: { readonly work: Pick<WorkRow, 'attempts' | 'waits' | 'losses' | 'expiresAt'> },
  policy: FailureQuestion['policy'],
  outcome: FailedOutcome,
): FailureStep {
  return deps.decisions.decideFailure({
    effect: 'none',
    idempotent: true,
    canRepeat: true,
    probeAfterMs: null,
    expiresAt: work.expiresAt,
    ...outcome,
    counters: { attempts: work.attempts + 1, waits: work.waits, losses: work.losses },
    policy,
    jitter: deps.random.unit(),
    now: deps.time.now(),
  })
}

/** Lease that must be left beyond a call's own limit, for the commit after it. */
export const SETTLE_MARGIN_MS = 1_000
/** The delay until a job that yielded is tried again. */
export const SHORT_WAIT_MS = 1_000
