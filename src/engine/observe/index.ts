// Shows what happens: log lines, the change feed, meters, and the explanation of a match.

export { type Change, changeName, type Feed, makeFeed } from './change-feed.ts'
export { makeNodesFeed } from './feed-between-nodes.ts'
export { type Inspect, makeInspect, type Tried } from './inspect.ts'
export type { GivenEvent } from './inspected-event.ts'
export { judgeLedger } from './ledger-verdict.ts'
export { handshakeLine, lineOf, refusalLine } from './log-lines.ts'
export { type Meter, makeMeter, type Stats } from './meter.ts'
