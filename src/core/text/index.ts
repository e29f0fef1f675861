export { joinKey } from './join.ts'
export { endOfPrefix } from './prefix.ts'
