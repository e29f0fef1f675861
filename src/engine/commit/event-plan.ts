// An event on its way into the store, with the work that follows from it: what `planEvent` makes and a unit of work ends.

import type { NewEvent, StoredEvent } from '../../core/events/event/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { NewWork } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'

export interface Birth {
  readonly work: NewWork
  /** null: it does what no definition says, such as an instance that waits for its lock. */
  readonly route: Route | null
}

/** The item of a trigger that begins a case. */
export interface Beginning {
  readonly work: NewWork
  readonly route: Route
}

export interface EventPlan {
  readonly event: NewEvent
  /** Its row, where it was kept before. */
  readonly stored: StoredEvent | null
  readonly payload: JsonValue
  readonly header: JsonValue
  readonly writes: readonly Write[]
  /** How many items it adds that are to run. */
  readonly adds: number
  /** Items asked to be born in this node's hands; their slots are taken until the unit of work ends. */
  readonly births: readonly Birth[]
  readonly owner: Incarnation | null
  /** Nothing could be made of it: its item is dead, and this is the letter. */
  readonly letter: NewDeadLetter | null
  /** Items of routes that are disabled. */
  readonly disabled: readonly Birth[]
  /** Items of triggers that may begin a case in the same commit: not among the writes yet. Left out: there are none. */
  readonly begins?: readonly Beginning[]
  /** Of the events that tell of it, settled together with it; left out: none do. */
  readonly beside?: readonly EventPlan[]
}

/** Plans that belong to one change. */
export interface PlanGroup {
  readonly plans: readonly Planned[]
  /** Once the commit is over, before the jobs of `plans` start. */
  ended?(isStored: boolean): void
}

/** What a commit leaves to be started, or to be given back. */
export type Planned = EventPlan | PlanGroup

/** An event that is yet to be matched. */
export type Draft = Omit<NewEvent, 'matched'>

export type PlanEvent = (draft: Draft, payload: JsonValue, header: JsonValue, dedupForMs: number) => EventPlan
