// Asks sources that send nothing for what changed: polls by the clock and on demand, page by page, up to the watermark.

export { type BeginPolls, makeBeginPolls, newPoll, pollerOf } from './begin-poll.ts'
export { composePolls } from './compose.ts'
export type { PollRunner } from './run-poll.ts'
