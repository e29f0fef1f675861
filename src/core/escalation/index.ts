export type { Escalation, EscalationState, NewEscalation } from './escalation.ts'
export { ESCALATION_STATES } from './escalation.ts'
