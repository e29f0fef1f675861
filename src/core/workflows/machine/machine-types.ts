// The input and output types of the pure workflow machine. `stepInstance` decides; src/engine/workflows commits its result.
//
// Invariants: WF1 a firing removes exactly its inputs and adds exactly its outputs. WF2 a token in a final place stays there.
// WF3 a refused input changes nothing.

import type {
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../definitions/documents/index.ts'
import type { Keyed, Scope } from '../../expression/index.ts'
import type { EventId, InstanceId, WorkId } from '../../foundation/ids/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Route } from '../../routing/index.ts'
import type { DataChange, HistoryEntry, Instance, InstanceState, Marking } from '../instance/index.ts'

/** A transition, compiled. */
export interface Transition {
  readonly document: TransitionDocument
  /** Fires automatically as soon as it is enabled: `on: auto`, and no `fire` names it. */
  readonly isAutomatic: boolean
  readonly hasAction: boolean
  readonly canUndo: boolean
  /** An external caller may fire it: a user, or an event (`on: manual | event`, or a trigger's `fire` names it). */
  readonly isAwaited: boolean
  /** Throws ExpressionError. */
  when(scope: Scope): boolean
  /** Where the tokens go; null: no branch of `choose` holds. Throws ExpressionError. */
  targets(scope: Scope): readonly string[] | null
  /** The assignments of `out`, over a scope with `result`. Throws ExpressionError. */
  out(scope: Scope): readonly Assignment[]
  /** Of `notBy`; null: no user is excluded. */
  notBy(scope: Scope): JsonValue
  /** What is wrong with a user's input; null: nothing. */
  inputFault(input: JsonValue): string | null
}

/** Target and value. Without a value there is no assignment, and the target stays as it is. */
export interface Assignment {
  readonly path: string
  readonly value: JsonValue
}

export interface Trigger {
  readonly document: TriggerDocument
  /** For matching; null: it does not select subjects. */
  readonly route: Route | null
  /** The keys of an event, in the order written. Throws ExpressionError where one is null. */
  keysOf(scope: Scope): readonly { readonly name: string; readonly value: string }[]
  map(scope: Scope): readonly Assignment[]
  /** Only of `manual`: what is wrong with its input; null: nothing. */
  inputFault(input: JsonValue): string | null
}

export interface Workflow {
  readonly document: WorkflowDocument
  readonly hash: string
  readonly status: WorkflowDocument['status']
  /** `workflow:<name>` */
  readonly consumer: string
  readonly places: ReadonlyMap<string, PlaceDocument>
  /** In the order written. */
  readonly transitions: ReadonlyMap<string, Transition>
  readonly triggers: readonly Trigger[]
  /** The routes of its steps, by `partName`: their hash and consumer are the workflow's. */
  readonly parts: ReadonlyMap<string, Route>
  /** What its texts were compiled with: for those that are compiled on demand. */
  readonly keyed: Keyed
  /** Over the instance; null: it has none. Throws ExpressionError. */
  lockOf(scope: Scope): string | null
  /** What is wrong with the data by its schema; null: nothing. */
  dataFault(data: JsonValue): string | null
  /** Tokens there stay: `final`, or `error` without a transition that takes them. */
  isEnd(place: string): boolean
  /** Whether an event can change its data, and so the results of conditions. */
  readonly hasUpdates: boolean
}

/** Time, randomness and the event's context. */
export interface StepEnv {
  readonly now: Instant
  newWork(): WorkId
  /** Of the event in whose name it happens: event, payload, header, source, tenant, vars. */
  readonly scope: Scope
  readonly eventId: EventId
}

export type InstanceInput =
  | {
      readonly type: 'create'
      readonly id: InstanceId
      readonly assignments: readonly Assignment[]
      readonly metadata: Instance['metadata']
      /** The caller guards and writes them: `correlate` only concerns learned keys. */
      readonly keys: Instance['correlations']
      readonly parent: Instance['parent']
      readonly correlationId: string
      readonly actor?: string
    }
  /** Its lock or its slot among the active ones is granted; `work` holds it. */
  | { readonly type: 'admitted'; readonly to: 'lock' | 'slot'; readonly work: WorkId }
  | {
      readonly type: 'update'
      readonly assignments: readonly Assignment[]
      readonly fire: string | null
      readonly trigger: string
    }
  /** The job of a firing is done. `key`: of its effect. */
  | {
      readonly type: 'ended'
      readonly firing: number
      readonly result: JsonValue
      readonly key: string | null
      readonly work: WorkId
      /** The ledger already had it: another job did it. */
      readonly others?: true
    }
  /** Its step started an instance and waits for it. */
  | {
      readonly type: 'started'
      readonly firing: number
      readonly child: InstanceId
      readonly key: string | null
    }
  /** The job of a firing is dead, or the instance itself refused its result. */
  | {
      readonly type: 'failed'
      readonly firing: number
      readonly class: string
      readonly reason: string
      readonly error: string
      readonly work: WorkId
      /** It took effect anyway: only its result could not be applied. */
      readonly did?: { readonly key: string | null; readonly result: JsonValue }
    }
  /** Its outcome is unknown; an operator must decide. */
  | { readonly type: 'parked'; readonly firing: number; readonly error: string; readonly work: WorkId }
  /** Its job is under way again: a dead letter was replayed, or an operator decided. */
  | { readonly type: 'resumed'; readonly firing: number }
  /** Its job was cancelled. */
  | { readonly type: 'calledOff'; readonly firing: number; readonly work: WorkId }
  | {
      readonly type: 'childEnded'
      readonly firing: number
      readonly state: InstanceState
      readonly data: JsonValue
    }
  | { readonly type: 'timer'; readonly stay: number }
  | { readonly type: 'lockExpired' }
  /** The caller checks permissions; `notBy` and `when` are checked here. */
  | {
      readonly type: 'fire'
      readonly transition: string
      readonly actor: string
      readonly input: JsonValue
      readonly comment: string | null
    }
  | {
      readonly type: 'move'
      readonly from: Marking
      readonly to: Marking
      readonly actor: string
      readonly reason: string
    }
  | {
      readonly type: 'edit'
      readonly changes: readonly { readonly path: string; readonly value?: JsonValue }[]
      readonly actor: string
      readonly reason: string
    }
  | { readonly type: 'cancel'; readonly actor: string; readonly reason: string }
  /** `workflow`: the new one. */
  | ({ readonly type: 'migrate' } & MigrationRequest)
  /** A migration ends it; the instance `by` takes over. */
  | ({ readonly type: 'replace'; readonly by: InstanceId } & MigrationRequest)
  /** A new one takes over from the instance `of`, which is on the workflow `from`. */
  | ({
      readonly type: 'takeOver'
      readonly id: InstanceId
      readonly of: Instance
      readonly from: Workflow
    } & MigrationRequest)

export interface MigrationRequest {
  readonly to: Workflow
  readonly actor: string
  readonly reason: string
  /** What the functions of the migration returned, in the order written. */
  readonly transformed?: readonly JsonValue[]
}

export type InstanceEffect =
  /** A job of this instance is to be added. `step` is a `stepName`. */
  | {
      readonly type: 'work'
      readonly id: WorkId
      readonly kind: 'step' | 'timer' | 'admit'
      readonly step: string
      /** Of `step`: the key in `Workflow.parts`. */
      readonly part: string | null
      readonly delayMs: number
      /** Of `admit`. */
      readonly lane: { readonly key: string; readonly width: number } | null
    }
  /** A timer that is no longer needed. */
  | { readonly type: 'drop'; readonly work: WorkId }
  /** The jobs of this firing that are not final are cancelled, unless an outcome is unknown. */
  | { readonly type: 'callOff'; readonly firing: number }
  | { readonly type: 'correlate'; readonly name: string; readonly value: string }
  /** All its keys are free again. */
  | { readonly type: 'uncorrelate'; readonly keys: Instance['correlations'] }
  /** Subject without tenant; emitted only where a deployed definition matches it. */
  | { readonly type: 'announce'; readonly subject: string; readonly data: JsonValue }
  | { readonly type: 'escalate'; readonly reason: string; readonly error: string }
  /** The lock or slot that the job holds is freed. */
  | { readonly type: 'leave'; readonly work: WorkId }
  | {
      readonly type: 'tellParent'
      readonly parent: NonNullable<Instance['parent']>
      readonly state: InstanceState
      readonly data: JsonValue
    }

/** Why an input was refused: the caller's mistake, reported to the caller, and nothing changed. */
export interface Refused {
  readonly code:
    | 'not_active'
    | 'unknown_transition'
    | 'unknown_place'
    | 'cannot_fire'
    | 'not_allowed'
    | 'invalid_input'
    | 'mapping'
    | 'gone'
    | 'in_doubt'
    | 'cannot_migrate'
    | 'loop'
  readonly message: string
  readonly rules?: readonly Rule[]
}

/** One reason why a transition can or cannot fire. */
export interface Rule {
  readonly rule: 'state' | 'admission' | 'tokens' | 'when' | 'mode' | 'notBy' | 'permission' | 'final'
  readonly holds: boolean
  readonly message: string
}

export type Stepped =
  | {
      readonly ok: true
      readonly instance: Instance
      readonly history: readonly HistoryEntry[]
      readonly effects: readonly InstanceEffect[]
    }
  | { readonly ok: false; readonly refused: Refused }

export type StepInstance = (
  workflow: Workflow,
  /** null: for `create`. */
  instance: Instance | null,
  input: InstanceInput,
  env: StepEnv,
) => Stepped

/** What a migration would change, for the dry run. */
export interface MigrationPlan {
  readonly ok: boolean
  readonly message: string
  readonly marking: Marking
  readonly changes: readonly DataChange[]
  /** The instance ends, and a new one takes over. */
  readonly isReplaced: boolean
  /** What this function returns decides. */
  readonly needs: TransformCall | null
}

/** A function that maps the data of an instance. */
export interface TransformCall {
  readonly name: string
  readonly codeHash: string
  readonly timeoutMs: number
  readonly input: JsonValue
}
