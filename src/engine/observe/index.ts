// Shows what happens: log lines, the change feed, meters, and the explanation of a match.

export { type Change, changeName, type Feed } from './change-feed.ts'
export { composeObserve } from './compose.ts'
export { type Inspect, makeInspect, type Tried } from './inspect.ts'
export type { GivenEvent } from './inspected-event.ts'
export { judgeLedger } from './ledger-verdict.ts'
export { handshakeLine, lineOf, refusalLine } from './log-lines.ts'
export type { Meter, Stats } from './meter.ts'
