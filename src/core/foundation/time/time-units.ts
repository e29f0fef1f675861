// Time as plain numbers: milliseconds since the Unix epoch. Nothing in the core reads a clock; instants
// arrive as arguments.

export type Instant = number

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
