// Workflow instances that start in the commit that stores their event, as the acceptor sees them; src/engine/workflows
// creates them.

import type { Guard } from '../../ports/store.ts'
import type { Beginning, EventPlan, Planned } from '../commit/index.ts'
import type { MayBegin } from './plan.ts'

/** Instances as part of the commit of their event. */
export interface Begun {
  readonly guards: readonly Guard[]
  /** The event with its instances; triggers that could not start one are jobs. */
  readonly plan: EventPlan
  /** The same without the instances. */
  readonly left: EventPlan
  /** The triggers that start their instances. */
  readonly begins: readonly Beginning[]
  /** The plans that the unit of work ends, with `plan`. */
  readonly cases: readonly Planned[]
}

export interface InlineStart {
  /** Whether a trigger's instance may start inline: nothing has to be looked up or waited for. */
  readonly mayBegin: MayBegin
  /** Takes slots for the first steps. */
  begin(plan: EventPlan): Promise<Begun>
  /** The same event with all triggers as jobs. */
  asItems(begun: Begun): EventPlan
}
