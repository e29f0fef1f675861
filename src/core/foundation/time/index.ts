// Defines instants and durations.

export { isCalendarDate, parseInstant } from './instant.ts'
export { DAY, HOUR, type Instant, MINUTE, SECOND } from './time-units.ts'
