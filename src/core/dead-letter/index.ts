export type { DeadLetter, DeadLetterReason, DeadLetterState, NewDeadLetter } from './dead-letter.ts'
export { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from './dead-letter.ts'
export type { DeadLetterEvent, DeadLetterRefusal } from './step.ts'
export { REPLAYS_MAX, stepDeadLetter } from './step.ts'
