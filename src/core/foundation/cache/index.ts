export { type Cache, makeCache } from './cache.ts'
