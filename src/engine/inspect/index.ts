export { type ExplainedConsumer, type Inspect, makeInspect, type Tried } from './inspect.ts'
export type { GivenEvent } from './subjects.ts'
