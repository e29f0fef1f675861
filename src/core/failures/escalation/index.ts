// Describes an escalation: its cause, its states and their changes.

export type { Escalation, EscalationState, NewEscalation } from './escalation.ts'
export { ESCALATION_STATES } from './escalation.ts'
export { causeHash } from './escalation-cause.ts'
export type { EscalationEvent } from './escalation-step.ts'
export { stepEscalation } from './escalation-step.ts'
