// A workflow as a user writes it in TypeScript. Its own names are types: the editor marks a place or a transition that
// does not exist, and a target that the schema of `data` does not have.

import type {
  ActionDefinition,
  Condition,
  Described,
  Expression,
  RateDefinition,
  RetryDefinition,
} from './definitions.ts'
import type { DurationText } from './errors.ts'

/** Where a value goes. If `data` has no schema with types, anything may be named. */
export type DataTarget<Data> = string extends keyof Data
  ? string
  : Own<keyof Data & string> | `metadata.${string}` | `correlation.${string}`

type Own<Field extends string> = Field | `${Field}.${string}` | `data.${Field}` | `data.${Field}.${string}`

/** Target and expression. */
export type Assignments<Data> = { readonly [Target in DataTarget<Data>]?: Expression }

export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

export interface PlaceDefinition<Transition extends string = string> {
  readonly description?: string
  /** `normal` when left out. */
  readonly type?: 'normal' | 'waiting' | 'review' | 'error' | 'final'
  /** The same as `type: 'final'`. */
  readonly final?: boolean
  /** For the whole stay of a token. */
  readonly timeout?: { readonly after: DurationText; readonly fire: Transition }
  /** Runs for every token that enters. */
  readonly onEnter?: ActionDefinition
}

export interface OnFailureDefinition<Place extends string = string> {
  /** Completed steps are undone first, newest first. */
  readonly undo?: 'done-steps'
  /** Where the token is meanwhile. */
  readonly through?: Place
  readonly to: Place
}

export interface TransitionDefinition<Place extends string = string, Data = Record<string, unknown>> {
  readonly description?: string
  /** One token of each. */
  readonly from?: Place | readonly Place[]
  /** One token from one of these. */
  readonly fromAny?: Place | readonly Place[]
  /** One token into each. */
  readonly to?: Place | readonly Place[]
  /** The first that matches; the last may have no condition. */
  readonly choose?: readonly { readonly when?: Condition; readonly to: Place | readonly Place[] }[]
  /** `auto` when left out: as soon as it can, unless a `fire` names it. */
  readonly on?: 'auto' | 'manual' | 'event' | 'timer'
  readonly when?: Condition
  readonly do?: ActionDefinition
  /** What is stored of the `result`. */
  readonly out?: Assignments<Data>
  /** One effect per firing when left out. */
  readonly key?: Expression
  /** `STEP` when left out. */
  readonly retry?: string | RetryDefinition
  /** `24h` when left out. */
  readonly maxWait?: DurationText
  /** Takes it back; sees its `result`. */
  readonly undo?: ActionDefinition
  /** The workflow's when left out; `none`: a dead letter. */
  readonly onFailure?: 'none' | OnFailureDefinition<Place>
  readonly permission?: string
  /** Of the input of a user who fires it. */
  readonly input?: JsonSchema
  /** The user that this names may not fire it. */
  readonly notBy?: Expression
}

export interface TriggerDefinition<Transition extends string = string, Data = Record<string, unknown>> {
  readonly on?: string | readonly string[]
  readonly schedule?: {
    readonly cron: string
    /** `UTC` when left out. */
    readonly zone?: string
    /** `once` when left out. */
    readonly missed?: 'once' | 'skip' | 'all'
    readonly maxInstances?: number
  }
  readonly manual?: { readonly permission?: string; readonly input?: JsonSchema }
  /** `create` when left out. */
  readonly action?: 'create' | 'update' | 'createOrUpdate'
  readonly where?: Condition
  /** One expression is the key `default`. */
  readonly correlate?: Expression | Readonly<Record<string, Expression>>
  readonly unique?: 'live' | 'ever' | true
  readonly map?: Assignments<Data>
  readonly fire?: Transition
  /** `1h` when left out. */
  readonly buffer?: DurationText
  readonly rateLimit?: string | RateDefinition
}

type Versioned = { readonly from: string; readonly to: string; readonly strategy?: 'inPlace' }

/** A net of places and transitions, and the triggers that start and change its instances. */
export interface WorkflowDefinition<
  Place extends string = string,
  Transition extends string = string,
  Data = Record<string, unknown>,
> extends Described {
  /** `1.0.0` when left out. */
  readonly version?: string
  /** `active` when left out. */
  readonly status?: 'active' | 'paused' | 'disabled'
  readonly start: NoInfer<Place>
  /** Of an instance's data. */
  readonly data?: JsonSchema
  readonly lock?: {
    readonly by: Expression
    /** `30m` when left out. */
    readonly ttl?: DurationText
    /** `wait` when left out. */
    readonly whenHeld?: 'wait' | 'skip'
    readonly name?: string
  }
  readonly maxConcurrent?: number
  readonly onFailure?: OnFailureDefinition<NoInfer<Place>>
  readonly deadLetter?: {
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    readonly runbook?: string
  }
  readonly triggers: readonly TriggerDefinition<NoInfer<Transition>, Data>[]
  readonly places: { readonly [Name in Place]: PlaceDefinition<NoInfer<Transition>> }
  /** In the order in which they are tried. */
  readonly transitions: { readonly [Name in Transition]: TransitionDefinition<NoInfer<Place>, Data> }
  readonly compatibility?: {
    readonly supported?: readonly string[]
    readonly deprecationWarnings?: boolean
    readonly strict?: boolean
  }
  readonly migrations?: readonly (Versioned & {
    readonly places?: Readonly<Record<string, NoInfer<Place>>>
    readonly data?: readonly (
      | { readonly rename: string; readonly to: string }
      | { readonly delete: string }
      | { readonly default: string; readonly value: unknown }
      | { readonly set: string; readonly value: Expression }
    )[]
  })[]
  readonly security?: {
    readonly permissions?: readonly string[]
    readonly required?: readonly string[]
    readonly classification?: 'public' | 'internal' | 'confidential' | 'restricted'
    readonly encrypt?: readonly string[]
    /** `full` when left out. */
    readonly audit?: 'full' | 'changes'
  }
}
