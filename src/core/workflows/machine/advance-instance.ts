// The automatic steps of an instance: as long as an automatic transition is enabled, the first one as written fires.

import { ExpressionError } from '../../expression/index.ts'
import { fireTransition } from './firing.ts'
import type { Draft } from './instance-draft.ts'
import { Refusal, refuse } from './machine-refusal.ts'
import type { Transition } from './machine-types.ts'
import { stepRollBack } from './roll-back.ts'
import { findFree } from './token-moves.ts'

const FIRES_MAX = 1_000
const FIRINGS_MAX = 1_000

/**
 * `told`: a caller receives a refusal. A condition that cannot be decided then refuses a new instance; an existing one stays
 * where it is for an operator, since what has happened to it cannot be refused.
 */
export function advance(draft: Draft, told: { readonly ofLoop: boolean; readonly ofTrouble: boolean }): void {
  stepRollBack(draft)
  /** Places whose tokens wait for an undecidable condition: no other transition may take them. */
  const blocked = new Set<string>()
  while (canMove(draft)) {
    if (!fireFirst(draft, blocked, told.ofTrouble)) return
    draft.fires += 1
    if (draft.fires < FIRES_MAX) continue
    const message = `automatic transitions fire without end: more than ${FIRES_MAX} at once`
    if (told.ofLoop) refuse('loop', message)
    draft.trouble = message
    return
  }
}

export function canMove({ now }: Pick<Draft, 'now'>): boolean {
  return now.state === 'active' && now.rollBack === null && now.admission.waitsFor === null
}

function fireFirst(draft: Draft, blocked: Set<string>, isTold: boolean): boolean {
  for (const transition of draft.workflow.transitions.values()) {
    if (!transition.isAutomatic) continue
    const places = findFree(draft.workflow, draft.now, transition)
    if (places === null || places.some((place) => blocked.has(place)) || isFull(draft, transition)) continue
    try {
      if (!transition.when(draft.scope)) continue
      fireTransition(draft, transition, { places, interrupts: [] })
      return true
    } catch (error) {
      if (isTold || !(error instanceof ExpressionError || error instanceof Refusal)) throw error
      draft.trouble = `${transition.document.name}: ${error.message}`
      for (const place of places) blocked.add(place)
    }
  }
  return false
}

/** Too much is under way: it continues when some of it has ended. */
function isFull({ now }: Draft, { document }: Transition): boolean {
  return now.firings.length + document.to.length >= FIRINGS_MAX
}
