// Caches recent reads, bounded in number and in age.

export { type Cache, makeCache } from './cache.ts'
