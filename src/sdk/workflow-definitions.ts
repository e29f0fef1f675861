// A workflow as a user writes it in TypeScript. Its own names are types: the editor marks a place or a transition that
// does not exist, and a target that the schema of `data` does not have. definitions.generated.ts has the other fields.

import type { Condition, Expression } from './definition-values.ts'
import type {
  MigrationFields,
  OnFailureFields,
  PlaceFields,
  TransitionFields,
  TriggerFields,
  WorkflowFields,
} from './definitions.generated.ts'
import type { DurationText } from './errors.ts'

/** Where a value goes. If `data` has no schema with types, anything may be named. */
export type DataTarget<Data> = string extends keyof Data
  ? string
  : Own<keyof Data & string> | `metadata.${string}` | `correlation.${string}`

type Own<Field extends string> = Field | `${Field}.${string}` | `data.${Field}` | `data.${Field}.${string}`

/** Target and expression. */
export type Assignments<Data> = { readonly [Target in DataTarget<Data>]?: Expression }

type Names<Name extends string> = Name | readonly Name[]

export interface PlaceDefinition<Transition extends string = string> extends Omit<PlaceFields, 'timeout'> {
  /** For the whole stay of a token. */
  readonly timeout?: { readonly after: DurationText; readonly fire: Transition }
}

export interface OnFailureDefinition<Place extends string = string>
  extends Omit<OnFailureFields, 'through' | 'to'> {
  /** Where the token is meanwhile. */
  readonly through?: Place
  readonly to: Place
}

export interface TransitionDefinition<Place extends string = string, Data = Record<string, unknown>>
  extends Omit<TransitionFields, 'from' | 'fromAny' | 'to' | 'choose' | 'out' | 'onFailure'> {
  /** One token of each. */
  readonly from?: Names<Place>
  /** One token from one of these. */
  readonly fromAny?: Names<Place>
  /** One token into each. */
  readonly to?: Names<Place>
  /** The first that matches; the last may have no condition. */
  readonly choose?: readonly { readonly when?: Condition; readonly to: Names<Place> }[]
  /** What is stored of the `result`. */
  readonly out?: Assignments<Data>
  /** The workflow's when left out; `none`: a dead letter. */
  readonly onFailure?: 'none' | OnFailureDefinition<Place>
}

export interface TriggerDefinition<Transition extends string = string, Data = Record<string, unknown>>
  extends Omit<TriggerFields, 'map' | 'fire'> {
  readonly map?: Assignments<Data>
  readonly fire?: Transition
}

/** A net of places and transitions, and the triggers that start and change its instances. */
export interface WorkflowDefinition<
  Place extends string = string,
  Transition extends string = string,
  Data = Record<string, unknown>,
> extends Omit<WorkflowFields, 'start' | 'onFailure' | 'triggers' | 'places' | 'transitions' | 'migrations'> {
  readonly start: NoInfer<Place>
  readonly onFailure?: OnFailureDefinition<NoInfer<Place>>
  readonly triggers: readonly TriggerDefinition<NoInfer<Transition>, Data>[]
  readonly places: { readonly [Name in Place]: PlaceDefinition<NoInfer<Transition>> }
  /** In the order in which they are tried. */
  readonly transitions: { readonly [Name in Transition]: TransitionDefinition<NoInfer<Place>, Data> }
  readonly migrations?: readonly (Omit<MigrationFields, 'places'> & {
    readonly places?: Readonly<Record<string, NoInfer<Place>>>
  })[]
}
