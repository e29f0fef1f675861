export type { DeadLetter, DeadLetterReason, DeadLetterState, NewDeadLetter } from './dead-letter.ts'
export { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from './dead-letter.ts'
