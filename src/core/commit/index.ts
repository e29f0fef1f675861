export type { Gatherer, GatherOptions } from './gather.ts'
export { makeGatherer } from './gather.ts'
