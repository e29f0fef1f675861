// Cases that begin with the commit that keeps their event, as the acceptor sees them; src/engine/workflows makes them.

import type { Instance } from '../core/instance/index.ts'
import type { CommitResult, Guard, Write } from '../ports/store.ts'
import type { Beginning, EventPlan } from './event-plan.ts'
import type { MayBegin } from './plan.ts'

/** Cases as part of the commit of their event. */
export interface Begun {
  readonly guards: readonly Guard[]
  /** The event with its cases, and with what could not be begun as items. */
  readonly plan: EventPlan
  /** The same without the cases. */
  readonly left: EventPlan
  readonly cases: readonly { readonly beginning: Beginning; readonly instance: BegunInstance }[]
}

export interface Door {
  /** Whether a trigger's case may begin at the door: nothing is to be looked up or waited for. */
  readonly mayBegin: MayBegin
  /** Takes slots for the first steps, which must be settled. */
  begin(plan: EventPlan): Promise<Begun>
  /** After the commit. `ok` false: its steps are not born. */
  settled(begun: Begun, outcome: { readonly ok: boolean }, result: CommitResult | null): void
  /** The same event with all of them as items. */
  asItems(begun: Begun): EventPlan
}

/** What an instance adds to the commit. */
interface BegunInstance {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
  readonly instance: Instance
}
