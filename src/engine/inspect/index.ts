export { type ExplainedConsumer, type Inspect, makeInspect, type Tried } from './inspect.ts'
export { judgeLedger } from './ledger-verdict.ts'
export type { GivenEvent } from './subjects.ts'
