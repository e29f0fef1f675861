// One running case of a workflow in its stored form: where its tokens are, its data, what is under way. core/workflows/machine
// changes it; this file is its shape, and the columns of a store.

import type { EventId, InstanceId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const INSTANCE_STATES = ['active', 'completed', 'failed', 'cancelled'] as const
export type InstanceState = (typeof INSTANCE_STATES)[number]

/**
 * Why an operator should look at it. `step_failed`: a step is dead, and continues when its dead letter is replayed.
 * `step_parked`: the outcome of a step is unknown. `undo_failed`: a rollback stopped. `stuck`: nothing can move it any more.
 * `lock_expired`: it holds its lock for longer than declared.
 */
export const ATTENTIONS = ['step_failed', 'step_parked', 'undo_failed', 'stuck', 'lock_expired'] as const
export type Attention = (typeof ATTENTIONS)[number]

/** Place → tokens; places without any are left out. Tokens that a firing holds are where they were until it ends. */
export type Marking = Readonly<Record<string, number>>

export type Data = { readonly [name: string]: JsonValue }

/** A token in a place that has a time-out. */
export interface Stay {
  readonly number: number
  readonly place: string
  readonly timer: WorkId
}

/** A transition (or an entry action of a place) that began and has not ended. */
export interface Firing {
  /** Counts within the instance, and only grows. */
  readonly number: number
  /** `fire`: a transition. `enter`: the entry action of a place. `undo`: undoing a firing. */
  readonly type: 'fire' | 'enter' | 'undo'
  /** Of a transition; of a place for `enter`. */
  readonly name: string
  /** It holds one token of each; none for `undo`. */
  readonly held: readonly string[]
  readonly stays: readonly number[]
  /**
   * `running`: its job is under way. `failed`: its job is dead, and a replay continues it. `parked`: an operator has to decide
   * its outcome. `interrupted`: another transition took its tokens; whatever it did meanwhile is undone. `waiting`: for an
   * instance that it started.
   */
  readonly state: 'running' | 'failed' | 'parked' | 'interrupted' | 'waiting'
  readonly beganAt: Instant
  /** Of `undo`: the firing to undo. */
  readonly of?: number
  /** Who fired it, and with which input. */
  readonly actor?: string
  readonly input?: JsonValue
  /** Of a step that starts an instance: which one. */
  readonly child?: InstanceId
  /** Of an interrupted one: whether it took effect is unknown. */
  readonly inDoubt?: true
  /** The key that its formula gave when it began: it stays the same effect, whatever happens to the data. */
  readonly key?: string
  /** For one that failed although its action succeeded, because its result could not be applied. */
  readonly did?: { readonly key: string | null; readonly result: JsonValue }
}

/** A firing that succeeded: what `steps` shows, and what can be undone. */
export interface DoneStep {
  readonly number: number
  readonly type: 'fire' | 'enter'
  readonly name: string
  readonly key: string | null
  readonly endedAt: Instant
  /** null also where it was too long to store. */
  readonly result: JsonValue
  readonly undone: boolean
  /** It was already done: another instance, or a route, did it under the same key. This instance must not undo it. */
  readonly others?: true
}

export interface RollBack {
  /** null: straight to `to` when everything is undone; the token waits nowhere. */
  readonly through: string | null
  readonly to: string
  /** Numbers of the steps still to be undone, the next one first. */
  readonly left: readonly number[]
}

export interface Failed {
  readonly name: string
  readonly class: string
  readonly reason: string
  readonly error: string
  readonly at: Instant
}

export interface Instance {
  readonly id: InstanceId
  readonly workflow: string
  /** Hash of its definition. */
  readonly definition: string
  /** The version in its definition. */
  readonly version: string
  readonly state: InstanceState
  readonly attention: Attention | null
  /** Grows with every change; guards name it. */
  readonly revision: number
  readonly marking: Marking
  readonly data: Data
  readonly metadata: Data
  readonly correlations: readonly { readonly name: string; readonly value: string }[]
  readonly firings: readonly Firing[]
  readonly done: readonly DoneStep[]
  readonly stays: readonly Stay[]
  readonly rollBack: RollBack | null
  readonly failure: Failed | null
  /** Jobs that hold its lock and its slot among the active ones; `waitsFor`: it may not move yet. */
  readonly admission: {
    readonly lock: WorkId | null
    readonly slot: WorkId | null
    readonly waitsFor: 'lock' | 'slot' | null
    /** The timer of the lock's time to live. */
    readonly ttl: WorkId | null
  }
  /** The firing that started it and waits for its end; `waits` false: it only started it. */
  readonly parent: { readonly instance: InstanceId; readonly firing: number; readonly waits: boolean } | null
  /** The next numbers. */
  readonly next: { readonly firing: number; readonly stay: number; readonly history: number }
  /** The event that started it: its steps run in this event's name. */
  readonly eventId: EventId
  readonly correlationId: string
}

/** What a store holds: a few columns to find it by, and the rest as text that it never parses. */
export interface NewInstance {
  readonly id: InstanceId
  readonly workflow: string
  readonly definition: string
  readonly version: string
  readonly state: InstanceState
  readonly attention: Attention | null
  readonly revision: number
  readonly marking: Marking
  readonly eventId: EventId
  readonly correlationId: string
  readonly parent: InstanceId | null
  readonly body: string
}

export interface InstanceRow extends NewInstance {
  readonly tenant: TenantId
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly endedAt: Instant | null
}

export const HISTORY_TYPES = [
  'created',
  'updated',
  'admitted',
  'began',
  'fired',
  'ended',
  'failed',
  'interrupted',
  'late',
  'undone',
  'rolling_back',
  'timed_out',
  'learned',
  'moved',
  'edited',
  'cancelled',
  'retried',
  'migrated',
  'noted',
] as const
export type HistoryType = (typeof HISTORY_TYPES)[number]

/** One change of an instance. `changes` with values before and after rebuild the instance as of any moment. */
export interface HistoryEntry {
  readonly type: HistoryType
  /** Transition or place. */
  readonly name?: string
  /** Of the entry action of a place, and of an undo; left out: of a transition. */
  readonly part?: 'enter' | 'undo'
  readonly firing?: number
  /** Places that lost and got a token. */
  readonly took?: readonly string[]
  readonly put?: readonly string[]
  readonly changes?: readonly DataChange[]
  readonly state?: InstanceState
  readonly version?: string
  readonly actor?: string
  readonly comment?: string
  readonly input?: JsonValue
  readonly result?: JsonValue
  readonly error?: string
  readonly eventId?: EventId
  readonly workId?: WorkId
  readonly child?: InstanceId
  /** A migration ended it: the instance that took over, and of that one the instance before it. */
  readonly successor?: InstanceId
  readonly predecessor?: InstanceId
}

/** Left out: it was, or is, absent. */
export interface DataChange {
  /** `data.x.y`, `metadata.x`, `correlation.name`. */
  readonly path: string
  readonly before?: JsonValue
  readonly after?: JsonValue
  /** The history does not store the values; only that it changed is known. */
  readonly hidden?: true
}

export interface NewHistory {
  readonly instance: InstanceId
  readonly sequence: number
  readonly type: HistoryType
  /** A HistoryEntry. */
  readonly body: string
}

export interface HistoryRow extends NewHistory {
  readonly at: Instant
}
