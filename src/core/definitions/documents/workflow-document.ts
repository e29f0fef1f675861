// A workflow as data: places, transitions, triggers. What YAML, JSON and TypeScript compile to; as in documents.ts, durations are
// milliseconds, profiles and agents are resolved, expressions and templates stay text, and what is left out was not written.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { ActionDocument, ConditionDocument, RatePolicy, RetryPolicy } from './documents.ts'

export const PLACE_TYPES = ['normal', 'waiting', 'review', 'error', 'final'] as const
export type PlaceType = (typeof PLACE_TYPES)[number]

export interface PlaceDocument {
  readonly name: string
  readonly type: PlaceType
  readonly description?: string
  /** The whole stay of a token, retries of what it is used for included. `fire` names a transition. */
  readonly timeout?: { readonly afterMs: number; readonly fire: string }
  /** Done for every token that comes in; it can go on only then. */
  readonly onEnter?: ActionDocument
}

/** How a transition begins: as soon as it can, or because somebody or something says so. */
export const FIRE_MODES = ['auto', 'manual', 'event', 'timer'] as const
export type FireMode = (typeof FIRE_MODES)[number]

/**
 * What becomes of an instance whose action failed for good. With `undo` every token and firing is given up, one token goes into
 * `through` while the steps that are done are undone, newest first, and then into `to`. Without, the inputs of the firing are
 * consumed and `to` gets one token.
 */
export interface OnFailureDocument {
  readonly undo?: 'done-steps'
  readonly through?: string
  readonly to: string
}

export interface TransitionDocument {
  readonly name: string
  readonly description?: string
  /** One token of each. */
  readonly from: readonly string[]
  /** One token of one of these, the first written that has one; besides `from`. */
  readonly fromAny?: readonly string[]
  /** One token into each. Empty where `choose` says it. */
  readonly to: readonly string[]
  /** The first that holds decides; the last may have no condition (null). */
  readonly choose?: readonly { readonly when: ConditionDocument; readonly to: readonly string[] }[]
  readonly on: FireMode
  /** null: always. */
  readonly when: ConditionDocument
  /** Left out: it only moves tokens. */
  readonly do?: ActionDocument
  /** Target path (`data.x`, `metadata.x`, `correlation.x`) → expression. A bare target is written out as `data.`. */
  readonly out: Readonly<Record<string, string>>
  /** An expression; null: one effect per firing. */
  readonly key: string | null
  readonly retry: RetryPolicy
  readonly maxWaitMs: number
  readonly undo?: ActionDocument
  /** Left out: the workflow's. `none`: a dead letter, from which it goes on when that is replayed. */
  readonly onFailure?: OnFailureDocument | 'none'

  // For people.

  readonly permission?: string
  /** JSON Schema. */
  readonly input?: JsonValue
  /** Whoever this expression names may not fire it. */
  readonly notBy?: string
}

export interface TriggerDocument {
  /** `0`, `1` … as written: what work items call it. */
  readonly id: string
  /** One of the three. */
  readonly on?: readonly string[]
  readonly schedule?: {
    readonly cron: string
    readonly zone: string
    readonly missed: 'once' | 'skip' | 'all'
    /** No new one while so many of the workflow are active; left out: no bound. */
    readonly maxInstances?: number
  }
  /** By a person, a program or another workflow's `start`. */
  readonly manual?: { readonly permission?: string; readonly input?: JsonValue }
  readonly action: 'create' | 'update' | 'createOrUpdate'
  readonly where: ConditionDocument
  /** Name of the key → expression. */
  readonly correlate: Readonly<Record<string, string>>
  /** Of `create` and `createOrUpdate`; left out: several instances may have the same keys. */
  readonly unique?: 'live' | 'ever'
  /** As `out` of a transition. */
  readonly map: Readonly<Record<string, string>>
  /** The transition that an update fires, if it can. */
  readonly fire?: string
  /** How long an update waits for its instance. */
  readonly bufferMs: number
  /** Over it, events wait. */
  readonly rateLimit?: RatePolicy
}

export interface MigrationDocument {
  readonly from: string
  readonly to: string
  /** Only `inPlace` so far: the instance goes on under the new version. */
  readonly strategy: 'inPlace'
  /** Old place → new place; what is left out keeps its name. */
  readonly places: Readonly<Record<string, string>>
  readonly data: readonly (
    | { readonly rename: string; readonly to: string }
    | { readonly delete: string }
    | { readonly default: string; readonly value: JsonValue }
    /** Target path and an expression over the data as it was. */
    | { readonly set: string; readonly value: string }
  )[]
}

export interface WorkflowDocument {
  readonly kind: 'Workflow'
  readonly name: string
  readonly description: string | null
  readonly version: string
  readonly status: 'active' | 'paused' | 'disabled'
  readonly start: string
  /** In the order written, which is the order in which they are tried. */
  readonly places: readonly PlaceDocument[]
  readonly transitions: readonly TransitionDocument[]
  readonly triggers: readonly TriggerDocument[]
  readonly deadLetter: { readonly severity: string; readonly runbook: string | null }

  /** JSON Schema of an instance's data. */
  readonly data?: JsonValue
  readonly lock?: {
    /** An expression over the instance. */
    readonly by: string
    readonly ttlMs: number
    readonly whenHeld: 'wait' | 'skip'
    /** Workflows with the same name share their locks; left out: the workflow's own name. */
    readonly name?: string
  }
  readonly maxConcurrent?: number
  readonly onFailure?: OnFailureDocument
  readonly compatibility?: {
    readonly supported: readonly string[]
    readonly deprecationWarnings: boolean
    readonly strict: boolean
  }
  readonly migrations?: readonly MigrationDocument[]
  readonly security?: {
    /** What keys may be granted for this workflow; every `permission` of it is among them. */
    readonly permissions: readonly string[]
    /** Permissions that are needed to see or touch its instances at all. */
    readonly required?: readonly string[]
    readonly classification?: 'public' | 'internal' | 'confidential' | 'restricted'
    /** Paths such as `data.email`: sealed at rest, hidden from viewers. */
    readonly encrypt: readonly string[]
    /** `full`: history keeps the values that changed; `changes`: only their paths. */
    readonly audit: 'full' | 'changes'
  }
}
