// One running case of a workflow, as it is kept: where its tokens are, its data, what is under way. How it changes is
// core/workflows/machine; this file is its shape, and what a store knows of it.

import type { EventId, InstanceId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const INSTANCE_STATES = ['active', 'completed', 'failed', 'cancelled'] as const
export type InstanceState = (typeof INSTANCE_STATES)[number]

/**
 * Why a person should look at it. `step_failed`: a step is dead, and goes on when its letter is replayed. `step_parked`: nobody
 * knows whether a step took effect. `undo_failed`: a roll-back came to a stop. `stuck`: nothing can move it any more.
 * `lock_expired`: it holds its lock for longer than it said.
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

/** A transition (or what a place does on entry) that began and has not ended. */
export interface Firing {
  /** Counts within the instance, and only grows. */
  readonly number: number
  /** `fire`: a transition. `enter`: what a place does for a token that came in. `undo`: taking back what a firing did. */
  readonly type: 'fire' | 'enter' | 'undo'
  /** Of a transition; of a place for `enter`. */
  readonly name: string
  /** One token of each is held by it; none for `undo`. */
  readonly held: readonly string[]
  readonly stays: readonly number[]
  /**
   * `running`: its item is under way. `failed`: its item is dead, and a replay goes on with it. `parked`: a person has to say
   * what became of it. `interrupted`: another transition took its tokens; whatever it did meanwhile is taken back. `waiting`: for
   * an instance that it started.
   */
  readonly state: 'running' | 'failed' | 'parked' | 'interrupted' | 'waiting'
  readonly beganAt: Instant
  /** Of `undo`: the firing that it takes back. */
  readonly of?: number
  /** Who fired it, and with what. */
  readonly actor?: string
  readonly input?: JsonValue
  /** Of a step that starts an instance: which. */
  readonly child?: InstanceId
  /** Of one that is interrupted: nobody knows whether it took effect. */
  readonly inDoubt?: true
  /** What its own formula gave when it began: it stays the same effect, whatever becomes of the data. */
  readonly key?: string
  /** Of one that failed although its action went well, because what that gave could not be taken. */
  readonly did?: { readonly key: string | null; readonly result: JsonValue }
}

/** A firing that ended well: what `steps` shows, and what can be undone. */
export interface DoneStep {
  readonly number: number
  readonly type: 'fire' | 'enter'
  readonly name: string
  readonly key: string | null
  readonly endedAt: Instant
  /** null also where it was too long to keep. */
  readonly result: JsonValue
  readonly undone: boolean
  /** It was found done: another instance, or a route, did it under the same key. It is not this one's to undo. */
  readonly others?: true
}

export interface RollBack {
  /** null: straight to `to` when all is undone; the token waits nowhere. */
  readonly through: string | null
  readonly to: string
  /** Numbers of the steps that are yet to be undone, the next one first. */
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
  /** As its definition calls itself. */
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
  /** Items that hold its lock and its place among those that run; `waitsFor`: it may not move yet. */
  readonly admission: {
    readonly lock: WorkId | null
    readonly slot: WorkId | null
    readonly waitsFor: 'lock' | 'slot' | null
    /** The timer of the lock's time to live. */
    readonly ttl: WorkId | null
  }
  /** The firing that started it and wants to know how it ends; `waits` false: it only started it. */
  readonly parent: { readonly instance: InstanceId; readonly firing: number; readonly waits: boolean } | null
  /** The next numbers. */
  readonly next: { readonly firing: number; readonly stay: number; readonly history: number }
  /** What began it: its steps run in this event's name. */
  readonly eventId: EventId
  readonly correlationId: string
}

/** What a store takes: a few columns to find it by, and the rest as text that it never reads. */
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

/** One change of an instance. `changes` with values before and after rebuild the instance as it was at any moment. */
export interface HistoryEntry {
  readonly type: HistoryType
  /** Transition or place. */
  readonly name?: string
  /** Of what a place does on entry, and of an undo; left out: of a transition. */
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
}

/** Left out: it was, or is, not there. */
export interface DataChange {
  /** `data.x.y`, `metadata.x`, `correlation.name`. */
  readonly path: string
  readonly before?: JsonValue
  readonly after?: JsonValue
  /** The values are kept out of the history; only that it changed is known. */
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
