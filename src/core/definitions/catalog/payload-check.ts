// Whether a source's payload fits the schema of its subject. Asked for every event of a source that wants it, so each schema
// is compiled once, when its first event comes; a source that passes everything has no check at all.

import { makeTrie } from '../../events/subject/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { SourceDocument } from '../documents/index.ts'
import { type CompiledSchema, compileSchema } from './json-schema.ts'
import { publishedBy } from './published-subjects.ts'

/** Path and problem, without any value; null: it fits, or there is no schema. */
export type PayloadCheck = (subject: string, payload: JsonValue) => string | null

/** Subjects are made of what is sent: what is remembered of them has an end. */
const SUBJECTS_MAX = 4_096

/** null: nobody asked. */
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
      // One that is invalid was refused by `check`; a document that got in otherwise loses its check, not its events.
      compiled = made?.ok === true ? made : null
      if (known.size >= SUBJECTS_MAX) known.clear()
      known.set(subject, compiled)
    }
    const mismatch = compiled?.check(payload) ?? null
    return mismatch === null ? null : `${mismatch.path} ${mismatch.problem}`
  }
}
