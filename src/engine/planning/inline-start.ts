// Cases that begin with the commit that keeps their event, as the acceptor sees them; src/engine/workflows makes them.

import type { Guard } from '../../ports/store.ts'
import type { Beginning, EventPlan, Planned } from '../commit/index.ts'
import type { MayBegin } from './plan.ts'

/** Cases as part of the commit of their event. */
export interface Begun {
  readonly guards: readonly Guard[]
  /** The event with its cases, and with what could not be begun as items. */
  readonly plan: EventPlan
  /** The same without the cases. */
  readonly left: EventPlan
  /** Those that begin their cases. */
  readonly begins: readonly Beginning[]
  /** What the unit of work ends with `plan`. */
  readonly cases: readonly Planned[]
}

export interface Door {
  /** Whether a trigger's case may begin at the door: nothing is to be looked up or waited for. */
  readonly mayBegin: MayBegin
  /** Takes slots for the first steps. */
  begin(plan: EventPlan): Promise<Begun>
  /** The same event with all of them as items. */
  asItems(begun: Begun): EventPlan
}
