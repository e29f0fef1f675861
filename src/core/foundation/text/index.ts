// Provides text helpers: composite keys, prefix ranges and the closest name.

export { closest, editDistance } from './closest.ts'
export { joinKey } from './composite-key.ts'
export { endOfPrefix } from './prefix-range.ts'
