// Checks a source's payload against the schema of its subject. Runs for every event of a source that requests it, so each
// schema is compiled once, at its first event; a source that accepts everything has no check at all.

import { makeTrie } from '../../events/subject/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { SourceDocument } from '../documents/index.ts'
import { type CompiledSchema, compileSchema } from './json-schema.ts'
import { publishedBy } from './published-subjects.ts'

/** Path and problem, without any value; null: it matches, or there is no schema. */
export type PayloadCheck = (subject: string, payload: JsonValue) => string | null

/** Subjects come from senders: the cache of them is bounded. */
const SUBJECTS_MAX = 4_096

/** null: the source does not request a check. */
export function compilePayloadCheck(document: SourceDocument): PayloadCheck | null {
  if (document.catalog === undefined || document.catalog.mismatch === 'pass') return null
  const withSchema = publishedBy(document).filter(({ schema }) => schema !== null)
  const exact = new Map(withSchema.map(({ subject, schema }) => [subject, schema]))
  const patterns = makeTrie(withSchema.map(({ subject, schema }) => ({ pattern: subject, value: schema })))
  const known = new Map<string, CompiledSchema | null>()
  return (subject, payload) => {
    let compiled = known.get(subject)
    if (compiled === undefined) {
      const schema = exact.get(subject) ?? patterns.find(subject)[0]
      const made = schema === undefined ? null : compileSchema(schema)
      // `check` refuses an invalid schema; a document that was stored otherwise loses its check, not its events.
      compiled = made?.ok === true ? made : null
      if (known.size >= SUBJECTS_MAX) known.clear()
      known.set(subject, compiled)
    }
    const mismatch = compiled?.check(payload) ?? null
    return mismatch === null ? null : `${mismatch.path} ${mismatch.problem}`
  }
}
