export type { Contender, Crowd, Priority } from './fairness.ts'
export { PRIORITIES, shareOf, shareSlots } from './fairness.ts'
