export type { Gatherer, GatherOptions } from './gather.ts'
export { makeGatherer } from './gather.ts'
export {
  againWork,
  bearWork,
  doneEntry,
  type Moment,
  observeEntry,
  putLetter,
  reserveEntry,
  settleEntry,
  settleWork,
} from './rows.ts'
