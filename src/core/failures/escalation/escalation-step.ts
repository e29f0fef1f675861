// The life of an escalation: raised, until a user acknowledges it. Later failures of the same cause raise another one.
//
// Invariant: ES1 acknowledged is final.

import type { EscalationState } from './escalation.ts'

export type EscalationEvent = 'acknowledge'

const STEPS: Readonly<Record<EscalationState, Readonly<Record<EscalationEvent, EscalationState | null>>>> = {
  raised: { acknowledge: 'acknowledged' },
  acknowledged: { acknowledge: null },
}

/** null: not from this state. */
export function stepEscalation(state: EscalationState, event: EscalationEvent): EscalationState | null {
  return STEPS[state][event]
}
