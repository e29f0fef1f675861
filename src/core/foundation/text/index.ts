// Provides text helpers: composite keys, prefix ranges, the closest name and trailing slashes.

export { closest, editDistance } from './closest.ts'
export { joinKey } from './composite-key.ts'
export { endOfPrefix } from './prefix-range.ts'
export { withoutTrailingSlashes } from './trailing-slashes.ts'
