// The types that the parts for instances share.

import type { NewEvent, StoredEvent } from '../../../core/events/event/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import type { Stepped, Workflow } from '../../../core/workflows/machine/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import type { EngineBase, EventPlan, PlanGroup, UnitOfWork } from '../../commit/index.ts'
import type { PlanDeps } from '../../planning/index.ts'
import type { PlanEnd } from '../../settlement/index.ts'
import type { KnownRow } from './correlation-rows.ts'

export type SteppedOk = Extract<Stepped, { readonly ok: true }>

export interface Loaded {
  readonly workflow: Workflow
  readonly instance: Instance
}

/** The event on whose behalf an instance runs. */
export interface Origin {
  readonly event: NewEvent
  /** null: it is stored in the same commit. */
  readonly stored: StoredEvent | null
  payload(): JsonValue
  header(): JsonValue
}

/** For a unit of work, which ends it. */
export interface InstancePlan extends PlanGroup {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
  /** As the commit leaves it. */
  readonly instance: Instance
}

/** What else belongs to the commit. */
export interface Beside {
  /** The job that ends in it. */
  readonly own?: WorkId
  /** Rows of keys that it was decided by: they are guarded and changed with it. */
  readonly rows?: readonly KnownRow[]
}

export interface InstanceDeps
  extends Pick<EngineBase, 'store' | 'commits' | 'encryption' | 'time' | 'plan' | 'systemEvents' | 'now'> {
  readonly planning: PlanDeps
  readonly planEnd: PlanEnd
  /** Changes are published to the bus. */
  readonly hasOutbox: boolean
  readonly unitOfWork: Pick<UnitOfWork, 'once' | 'release'>
}
