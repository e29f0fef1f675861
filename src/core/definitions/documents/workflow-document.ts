// A workflow as data: places, transitions, triggers. What YAML, JSON and TypeScript compile to; as in documents.ts, durations
// are milliseconds, profiles and agents are resolved, expressions and templates stay text, and a field that is left out was not
// written.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { ActionDocument } from './action-documents.ts'
import type { CarriedWorkflow } from './carried-fields.generated.ts'
import type { Classification } from './classification.ts'
import type { CircuitPolicy, ConditionDocument, RatePolicy } from './documents.ts'
import type { RetryPolicy } from './retry-policy.ts'

export const PLACE_TYPES = ['normal', 'waiting', 'review', 'error', 'final'] as const
export type PlaceType = (typeof PLACE_TYPES)[number]

export interface PlaceDocument {
  readonly name: string
  readonly type: PlaceType
  readonly description?: string
  /** Covers the whole stay of a token, including retries of jobs that use it. `fire` names a transition. */
  readonly timeout?: { readonly afterMs: number; readonly fire: string }
  /** Runs for every token that enters; the token can move on only after it. */
  readonly onEnter?: ActionDocument
}

/** How a transition starts: as soon as it is enabled, or on a user's action or an event. */
export const FIRE_MODES = ['auto', 'manual', 'event', 'timer'] as const
export type FireMode = (typeof FIRE_MODES)[number]

/**
 * What happens to an instance whose action failed for good. With `undo`, every token and firing is dropped and one token goes
 * into `through` while the completed steps are undone, newest first, and then into `to`. Without, the inputs of the firing are
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
  /** One token of one of these, the first listed that has one; in addition to `from`. */
  readonly fromAny?: readonly string[]
  /** One token into each. Empty where `choose` decides. */
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
  /** Of its step and of its undo, each its own. Left out: the usual one. */
  readonly circuit?: CircuitPolicy | 'off'
  readonly undo?: ActionDocument
  /** Left out: the workflow's. `none`: a dead letter; its replay continues the instance. */
  readonly onFailure?: OnFailureDocument | 'none'

  // Shown to users.

  readonly permission?: string
  /** JSON Schema. */
  readonly input?: JsonValue
  /** The user that this expression names may not fire it. */
  readonly notBy?: string
}

export interface TriggerDocument {
  /** `0`, `1` … in the order written: its name in jobs. */
  readonly id: string
  /** One of the three. */
  readonly on?: readonly string[]
  readonly schedule?: {
    readonly cron: string
    readonly zone: string
    readonly missed: 'once' | 'skip' | 'all'
    /** No new instance while this many of the workflow are active; left out: no limit. */
    readonly maxInstances?: number
  }
  /** By a user, a program or another workflow's `start`. */
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
  /** Above this, events wait. */
  readonly rateLimit?: RatePolicy
  /** Above its rate limit an event is a dead letter. Left out: it waits. */
  readonly onLimit?: 'reject'
  /** For events that its instance refuses. Left out: such an event is a dead letter at once. */
  readonly retry?: RetryPolicy
  /** How long an event may take from its first try on, the wait for its instance excepted. Left out: no limit. */
  readonly maxProcessingMs?: number
  /** The subject of an event about each of its dead letters. Left out: there is none. */
  readonly deadLetter?: { readonly subject: string }
  /** After so many failed events the others wait. Left out: none do. */
  readonly circuit?: CircuitPolicy
}

export const MIGRATION_STRATEGIES = ['inPlace', 'manual', 'newInstance'] as const

export interface MigrationDocument {
  readonly from: string
  readonly to: string
  /**
   * `inPlace`: the instance continues under the new version. `manual`: only where a user migrates this very instance.
   * `newInstance`: it ends, and a new one of the new version takes over its keys, data and tokens.
   */
  readonly strategy: (typeof MIGRATION_STRATEGIES)[number]
  /** Old place → new place; a place that is left out keeps its name. */
  readonly places: Readonly<Record<string, string>>
  readonly data: readonly (
    | { readonly rename: string; readonly to: string }
    | { readonly delete: string }
    | { readonly default: string; readonly value: JsonValue }
    /** Target path and an expression over the data as it was. */
    | { readonly set: string; readonly value: string }
    /** A function; what it returns for the data, as the rules before it left it, is the data. */
    | { readonly transform: string; readonly codeHash: string; readonly timeoutMs: number }
  )[]
}

export interface WorkflowDocument extends CarriedWorkflow {
  readonly kind: 'Workflow'
  readonly name: string
  readonly description: string | null
  readonly version: string
  readonly status: 'active' | 'paused' | 'disabled'
  readonly start: string
  /** In the order written, which is the order of evaluation. */
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
    /** Permissions that keys may be granted for this workflow; it contains every `permission` that the workflow names. */
    readonly permissions: readonly string[]
    /** Permissions required to see or touch its instances at all. */
    readonly required?: readonly string[]
    readonly classification?: Classification
    /** Left out, as in documents before language 4: the classification is only a label, and `data` is encrypted as one text. */
    readonly enforced?: true
    /** Paths such as `data.email`, or `data` for all of it: encrypted at rest, hidden from viewers. */
    readonly encrypt: readonly string[]
    /**
     * What the history stores. `full`: the values that changed; `changes`: only their paths; `basic`: only that something
     * changed; `none`: the beginning, the end, and what users did.
     */
    readonly audit: 'full' | 'changes' | 'basic' | 'none'
  }
}

/** Whether the bus may have the data of its instances: it says that they are public or internal, and nothing of them is encrypted. */
export function publishesData({ security }: Pick<WorkflowDocument, 'security'>): boolean {
  if (security?.enforced !== true || security.encrypt.length > 0) return false
  return security.classification === 'public' || security.classification === 'internal'
}

/** undefined: there is none, or it is only a label. */
export function enforcedClassification({
  security,
}: Pick<WorkflowDocument, 'security'>): Classification | undefined {
  return security?.enforced === true ? security.classification : undefined
}
