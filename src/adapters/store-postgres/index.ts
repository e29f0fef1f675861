export { openPostgresArchive, type PostgresArchiveOptions } from './archive/archive.ts'
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './store.ts'
export { makePostgresWakes, type PostgresWakes, type PostgresWakesOptions } from './wakes.ts'
