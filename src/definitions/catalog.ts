// Checks subjects and schemas: a route that waits for a subject that nothing can publish, and a catalog that
// contradicts its own examples.

import { compileSchema, PUBLISHED_BY_MILLRACE, publishedBy } from '../core/definitions/catalog/index.ts'
import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { CANONICAL_SOURCE } from '../core/events/canonical/index.ts'
import { makeTrie, parsePattern, parseSubject } from '../core/events/subject/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { closestSubject } from './suggest.ts'
import type { Fields } from './written.ts'

const SCHEMA_FINDINGS_MAX = 5

/** Its name is the source of the events that Millrace emits about itself. */
function checkName({ name }: Fields): readonly Remark[] {
  if (name !== CANONICAL_SOURCE) return []
  const message = `\`${CANONICAL_SOURCE}\` is the source of what Millrace itself tells; give it another name`
  return [{ rule: 'name', message, path: ['name'] }]
}

export function checkCatalog(source: Fields): readonly Remark[] {
  return [...checkName(source), ...checkSubjects(source)]
}

function checkSubjects(source: Fields): readonly Remark[] {
  const subjects = (source.catalog as Fields | null | undefined)?.subjects
  if (!Array.isArray(subjects)) return []
  return subjects.flatMap((entry: JsonValue, index) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return []
    const { subject, schema, example } = entry as Fields
    const at = ['catalog', 'subjects', index]
    return [
      ...(typeof subject === 'string' ? checkSubject(subject, [...at, 'subject']) : []),
      ...(schema === undefined ? [] : checkSchema(schema, example, at)),
    ]
  })
}

function checkSubject(subject: string, path: Remark['path']): readonly Remark[] {
  // A literal with `{{` is reported by its own rule.
  const parsed = parsePattern(subject)
  if (parsed.ok || subject === '' || subject.includes('{{')) return []
  const { message, offset } = parsed.problem
  return [{ rule: 'subject', message, path, offset }]
}

function checkSchema(
  schema: JsonValue,
  example: JsonValue | undefined,
  at: Remark['path'],
): readonly Remark[] {
  const compiled = compileSchema(schema)
  if (!compiled.ok) {
    return compiled.problems
      .slice(0, SCHEMA_FINDINGS_MAX)
      .map(({ message, path }) => ({ rule: 'catalogSchema', message, path: [...at, 'schema', ...path] }))
  }
  const mismatch = example === undefined ? null : compiled.check(example)
  if (mismatch === null) return []
  const where = mismatch.path.replace(/^payload\.?/, '')
  const message = `the example does not fit its schema: ${where === '' ? 'it' : `\`${where}\``} ${mismatch.problem}`
  return [{ rule: 'catalogExample', message, path: [...at, 'example'] }]
}

/** A route of the files, and the positions of its patterns. */
export interface Waiting {
  readonly on: readonly string[]
  /** As written: a single pattern is not a list. */
  readonly isList: boolean
  readonly at: FieldPath
  report(remark: Remark): void
}

/** Finding the nearest subject compares each: a folder full of mistakes is reported without it. */
const SUGGESTIONS_MAX = 50

/**
 * `documents` are all that will be deployed; `emits` are the subjects that functions declare to emit. Without any
 * source nothing is reported: then the files are a part of something larger.
 */
export function reportUnpublished(
  routes: readonly Waiting[],
  documents: readonly DefinitionDocument[],
  emits: readonly string[],
): void {
  if (routes.length === 0 || !documents.some(({ kind }) => kind === 'Source')) return
  const published = [...documents.flatMap(publishedBy), ...PUBLISHED_BY_MILLRACE]
  const patterns = [...published.map(({ subject }) => subject), ...emits]
  const sound = [...new Set(patterns)].filter((pattern) => parsePattern(pattern).ok)
  const tree = makeTrie(sound.map((pattern) => ({ pattern, value: null })))
  const subjects = sound.filter((pattern) => parseSubject(pattern).ok)
  const known = new Map<string, boolean>()
  let suggestions = 0
  for (const { on, isList, at, report } of routes) {
    for (const [index, pattern] of on.entries()) {
      const isPublished = known.get(pattern) ?? tree.meets(pattern)
      known.set(pattern, isPublished)
      if (isPublished) continue
      suggestions += 1
      const near = suggestions > SUGGESTIONS_MAX ? undefined : closestSubject(pattern, subjects)
      report({
        rule: 'unpublished',
        severity: 'warning',
        message: `nobody publishes \`${pattern}\`: ${near === undefined ? DECLARE : `did you mean \`${near}\`?`}`,
        path: isList ? [...at, index] : at,
        ...(near === undefined ? {} : { suggestedText: near }),
      })
    }
  }
}

const DECLARE =
  'no source, rule, route or workflow does; if a function or `POST /v1/events` will, list it in `emits` of the function or in the `catalog` of a source'

/** At `at`: a JSON Schema that will be compiled. */
export function checkJsonSchema(schema: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  if (schema === undefined) return []
  const compiled = compileSchema(schema)
  if (compiled.ok) return []
  return compiled.problems.map(({ message, path }) => ({
    rule: 'catalogSchema',
    message,
    path: [...at, ...path],
  }))
}
