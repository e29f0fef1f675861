export { closest, editDistance } from './closest.ts'
export { joinKey } from './join.ts'
export { endOfPrefix } from './prefix.ts'
