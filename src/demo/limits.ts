// The limits of a demo stream. The command line reads it without loading the demo.

export const DEMO_COUNT_MAX = 500
export const DEMO_PER_SECOND_MAX = 100
