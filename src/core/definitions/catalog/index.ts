// Describes the known subjects: their payload schemas, checks and sample payloads.

export type { CatalogEntry } from './catalog-entry.ts'
export { type CompiledSchema, compileSchema, type Mismatch, type SchemaProblem } from './json-schema.ts'
export { compilePayloadCheck, type PayloadCheck } from './payload-check.ts'
export {
  findEntry,
  PUBLISHED_BY_MILLRACE,
  type Published,
  patternOfTemplate,
  publishedBy,
} from './published-subjects.ts'
