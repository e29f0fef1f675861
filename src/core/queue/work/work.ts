// A job (the source documents call it a work item). Its life is a small table (decide-failure.ts); this file is its shape.

import type { FailureClass } from '../../failures/failure/index.ts'
import type {
  DeadLetterId,
  EventId,
  Incarnation,
  InstanceId,
  TenantId,
  WorkId,
} from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const WORK_STATES = [
  'ready',
  'waiting',
  'leased',
  'done',
  'skipped',
  'merged',
  'parked',
  'dead',
  'cancelled',
] as const
export type WorkState = (typeof WORK_STATES)[number]

/** No owner acts on these automatically. `parked` waits for a decision by an operator. */
export type SettledState = 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'

/** Counted separately, so that a long outage does not use up the attempts of a healthy job (design: bounds). */
export interface Counters {
  /** Calls started, or runs of an action that stays inside the process. */
  readonly attempts: number
  /** How often it yielded to another job's key or a closed bucket. */
  readonly waits: number
  /**
   * How often its owner died after a crash had already interrupted the job before. A retry keeps it; an operator who requeues
   * the job clears it.
   */
  readonly losses: number
}

/** What is known about a job so far; written completely with every decision. */
export interface Note {
  readonly key: string | null
  readonly class: FailureClass | null
  readonly lastError: string | null
  /** The reference to the effect: the ledger entry's own, or that of the first effect on a dedupe hit. */
  readonly effectRef: string | null
  readonly httpStatus: number | null
  readonly durationMs: number | null
}

export const EMPTY_NOTE: Note = {
  key: null,
  class: null,
  lastError: null,
  effectRef: null,
  httpStatus: null,
  durationMs: null,
}

/**
 * `route`: run a route's action for an event. `intake`: match an event that was stored unmatched, or that is replayed. `batch`:
 * one call for several jobs of a route, which are `merged` into it as long as it lives. The others belong to workflows:
 * `trigger`: apply an event to an instance; `step`: the action of a firing; `timer`: the end of a token's stay, or of a lock's
 * time; `admit`: an instance waits for its lock or for a free slot among the active ones; `signal`: something that an instance
 * waits for has ended. `delivery`: an event for the endpoint of a subscription. `rotation`: a credential gets a new secret.
 * `poll`: a poller reads what changed.
 */
const WORK_KINDS = [
  'route',
  'intake',
  'batch',
  'trigger',
  'step',
  'timer',
  'admit',
  'signal',
  'delivery',
  'rotation',
  'poll',
] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** False: a newer version wrote it. */
export function isWorkKind(kind: string): kind is WorkKind {
  return WORK_KINDS.some((known) => known === kind)
}

/** Jobs of one consumer with the same lane share its positions, in the order of their creation. */
export interface Lane {
  readonly key: string
  /** How many may hold a position at once; the others wait. 1: one after another. */
  readonly width: number
}

export interface NewWork {
  readonly id: WorkId
  readonly kind: WorkKind
  /**
   * `route:<name>`, of intake `source:<name>`, of workflows `workflow:<name>`, of deliveries `subscription:<name>`, of
   * rotations `credential:<name>`, of polls `poller:<name>`; with the tenant it determines whose slot the job takes.
   */
  readonly consumer: string
  /**
   * Hash of the definition that the job started with; it stays pinned to it, except intake, which uses the deployed
   * definitions.
   */
  readonly definition: string
  /** Hash of the code bundle it needs, so that only nodes that can load it claim it. */
  readonly codeHash: string | null
  readonly eventId: EventId
  /** How long after its creation it may still be tried or wait. */
  readonly expiresInMs: number
  /** The dead letter that it replays, or its event, when that was replayed as a whole. */
  readonly replayOf: DeadLetterId | EventId | null

  // A field that is left out is false.

  /** Which element of its route's `each` it is about. */
  readonly element?: number
  readonly lane?: Lane
  /** Above 1: a deliberate repetition, which makes the effect of its key once more. */
  readonly generation?: number
  /** The instance that it is about; for a trigger: the one that an operator chose. */
  readonly instance?: InstanceId
  /** The part of the workflow: see core/workflows/machine, `stepName`. */
  readonly step?: string
}

export interface WorkRow extends Counters, Note {
  readonly id: WorkId
  readonly tenant: TenantId
  readonly kind: WorkKind
  readonly consumer: string
  readonly definition: string
  readonly codeHash: string | null
  readonly eventId: EventId
  readonly state: WorkState
  readonly dueAt: Instant
  readonly owner: Incarnation | null
  /** Grows with every change of owner; together with the incarnation it detects a stale owner. */
  readonly epoch: number
  /** A crash interrupted it: the ledger is consulted first. Runs beside others until a second crash (isIsolated). */
  readonly alone: boolean
  readonly createdAt: Instant
  readonly expiresAt: Instant
  /** When it was settled. */
  readonly processedAt: Instant | null
  readonly replayOf: DeadLetterId | EventId | null
  /** null: it is about the whole event. */
  readonly element: number | null
  /** The key of its lane. */
  readonly lane: string | null
  /** Whether it holds one of its lane's positions; a dead or parked one may too, and then blocks the others. */
  readonly hasPlace: boolean
  /** Chosen to represent others that arrived close to it: it waits for no more of them. */
  readonly isFrozen: boolean
  /** The batch that it is merged into. */
  readonly into: WorkId | null
  readonly generation: number
  /** null: it belongs to no workflow, or is a trigger whose instance is found by its keys. */
  readonly instance: InstanceId | null
  readonly step: string | null
}

/** One attempt, append-only. A first attempt that succeeds is only on the job's row. */
export interface Attempt {
  readonly number: number
  readonly startedAt: Instant
  readonly durationMs: number
  readonly outcome: 'done' | 'again' | 'waited' | 'unknown' | 'probed' | 'parked' | 'dead'
  readonly class: FailureClass | null
  readonly httpStatus: number | null
  readonly error: string | null
  /** Of a delivery: the beginning of the response (status line, headers, body), capped. Left out: nothing was stored. */
  readonly response?: string
}

/** The prefix of consumers of deliveries: stores list each of them by an index. */
export const SUBSCRIPTION_PREFIX = 'subscription:'

/** The dead letter that an item replays; null: it replays none. */
export function deadLetterOf({ replayOf }: Pick<NewWork, 'replayOf'>): DeadLetterId | null {
  return replayOf?.startsWith('dlq_') === true ? (replayOf as DeadLetterId) : null
}

/**
 * Whether it runs with no other isolated job beside it. One crash says nothing about the jobs it interrupted, so they run in
 * parallel again; a job that was interrupted twice may be what takes its node down.
 */
export function isIsolated({ alone, losses }: Pick<WorkRow, 'alone' | 'losses'>): boolean {
  return alone && losses > 0
}

/** As an operator requeues it: earlier crashes no longer count. A job that was attempted never looks like a new one. */
export function putBackCounters({ attempts, waits, losses }: Counters): Counters {
  return { attempts, waits: losses > 0 ? Math.max(1, waits) : waits, losses: 0 }
}

/** Whether it was never attempted or postponed: its time has not begun. */
export function isUntried({ attempts, waits, losses }: Counters): boolean {
  return attempts === 0 && waits === 0 && losses === 0
}
