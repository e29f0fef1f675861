// Shares the free slots of a node between tenants and priorities.

export type { Contender, Crowd, Priority } from './fairness.ts'
export { PRIORITIES, shareOf, shareSlots } from './fairness.ts'
