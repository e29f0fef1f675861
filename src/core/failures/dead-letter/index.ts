// Describes a dead letter: its cause, its states and the filter of its list.

export type { DeadLetter, DeadLetterReason, DeadLetterState, NewDeadLetter } from './dead-letter.ts'
export { DEAD_LETTER_REASONS, DEAD_LETTER_STATES } from './dead-letter.ts'
export type { DeadLetterGroup, LikeDeadLetters } from './dead-letter-cause.ts'
export { causeOf, groupByCause } from './dead-letter-cause.ts'
export type { DeadLetterConditions } from './dead-letter-filter.ts'
export { deadLetterSpan, fitsConditions, hasConditions } from './dead-letter-filter.ts'
export type { DeadLetterEvent, DeadLetterRefusal } from './dead-letter-step.ts'
export { REPLAYS_MAX, stepDeadLetter } from './dead-letter-step.ts'
