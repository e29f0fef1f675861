// A work item: one thing to do. Its life is a small table (decide-failure.ts); this file is its shape.

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

/** No owner will act on these by itself. `parked` waits for a person. */
export type SettledState = 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'

/** Counted apart, so that a long outage does not use up the attempts of a healthy item (design: bounds). */
export interface Counters {
  /** Calls started, or runs of an action that stays inside the process. */
  readonly attempts: number
  /** Times it stepped aside for somebody else's key or a closed bucket. */
  readonly waits: number
  /** Times its owner died while a crash had left the job behind before. A retry keeps it; an operator who puts the job back clears it. */
  readonly losses: number
}

/** What is known of an item so far; written whole with every decision. */
export interface Note {
  readonly key: string | null
  readonly class: FailureClass | null
  readonly lastError: string | null
  /** Where the effect is: the ledger entry's own reference, or the first effect on a dedupe hit. */
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
 * `route`: do what a route says about an event. `intake`: match an event that was kept unmatched, or that is replayed. `batch`:
 * one call for several items of a route, which are `merged` into it for as long as it lives. The others are of workflows:
 * `trigger`: what an event means to one; `step`: the action of a firing; `timer`: the end of a token's stay, or of a lock's time;
 * `admit`: an instance waits for its lock or for a place among those that run; `signal`: something that an instance waits for
 * has ended. `delivery`: an event on its way to the endpoint of a subscription. `rotation`: a credential gets another secret.
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
] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** False: a newer version made it. */
export function isWorkKind(kind: string): kind is WorkKind {
  return WORK_KINDS.some((known) => known === kind)
}

/** Items of one consumer with the same lane share its places, in the order of their birth. */
export interface Lane {
  readonly key: string
  /** How many may have a place at once; the others wait. 1: one after another. */
  readonly width: number
}

export interface NewWork {
  readonly id: WorkId
  readonly kind: WorkKind
  /** `route:<name>`, of intake `source:<name>`, of workflows `workflow:<name>`, of deliveries `subscription:<name>`, of rotations `credential:<name>`; with the tenant it names whose slot the item takes. */
  readonly consumer: string
  /** Hash of the definition that the item began with; it stays on it, but for intake, which matches by what is in force. */
  readonly definition: string
  /** Hash of the code bundle it needs, so that only nodes that can load it claim it. */
  readonly codeHash: string | null
  readonly eventId: EventId
  /** How long after its birth it may still be tried or wait. */
  readonly expiresInMs: number
  /** The dead letter that it replays, or its event, when that was replayed as a whole. */
  readonly replayOf: DeadLetterId | EventId | null

  // What is left out is not so.

  /** Which element of its route's `each` it is about. */
  readonly element?: number
  readonly lane?: Lane
  /** Above 1: a deliberate repetition, which makes the effect of its key once more. */
  readonly generation?: number
  /** The instance that it is about; of a trigger: the one that somebody chose for it. */
  readonly instance?: InstanceId
  /** What of it: see core/workflows/machine, `stepName`. */
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
  /** Grows with every change of owner; a stale owner is known by it. */
  readonly epoch: number
  /** A crash left it behind: what it did is looked up in the ledger first. Runs beside others until it is lost again (isIsolated). */
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
  /** Whether it has one of its lane's places; also a dead or parked one may, which then holds the others up. */
  readonly hasPlace: boolean
  /** Chosen to stand for others that came close to it: it waits for no more of them. */
  readonly isFrozen: boolean
  /** The batch that it is merged into. */
  readonly into: WorkId | null
  readonly generation: number
  /** null: it is of no workflow, or a trigger whose instance is found by its keys. */
  readonly instance: InstanceId | null
  readonly step: string | null
}

/** One try, append-only. A first try that succeeds lives on the work row alone. */
export interface Attempt {
  readonly number: number
  readonly startedAt: Instant
  readonly durationMs: number
  readonly outcome: 'done' | 'again' | 'waited' | 'unknown' | 'probed' | 'parked' | 'dead'
  readonly class: FailureClass | null
  readonly httpStatus: number | null
  readonly error: string | null
  /** Of a delivery: how the answer began (status line, headers, body), capped. Left out: nothing was kept of it. */
  readonly response?: string
}

/** How the consumers of deliveries begin: stores keep lists of each of them by an index. */
export const SUBSCRIPTION_PREFIX = 'subscription:'

/** The dead letter that an item replays; null: it replays none. */
export function letterOf({ replayOf }: Pick<NewWork, 'replayOf'>): DeadLetterId | null {
  return replayOf?.startsWith('dlq_') === true ? (replayOf as DeadLetterId) : null
}

/**
 * Whether it runs with no other isolated job beside it. One crash says nothing of the jobs it interrupted, so they run in parallel again;
 * one that was interrupted twice may be what takes its node down.
 */
export function isIsolated({ alone, losses }: Pick<WorkRow, 'alone' | 'losses'>): boolean {
  return alone && losses > 0
}

/** As an operator puts it back: crashes before that say nothing of what comes now. A job that was tried never looks like a new one. */
export function putBackCounters({ attempts, waits, losses }: Counters): Counters {
  return { attempts, waits: losses > 0 ? Math.max(1, waits) : waits, losses: 0 }
}

/** Whether nobody has tried it so far, or said that it should wait: its time has not begun. */
export function isUntried({ attempts, waits, losses }: Counters): boolean {
  return attempts === 0 && waits === 0 && losses === 0
}
