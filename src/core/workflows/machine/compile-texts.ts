// Shared by transitions and triggers: targets with their expressions, and schemas of their inputs.

import { compileSchema } from '../../definitions/catalog/index.ts'
import { must } from '../../effects/action/index.ts'
import { compileExpression, type Keyed, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { Assignment } from './machine-types.ts'

const NOTHING: readonly Assignment[] = []

/** Target → expression. All are computed before any is applied. */
export function compileAssignments(
  texts: Readonly<Record<string, string>>,
  keyed: Keyed,
): (scope: Scope) => readonly Assignment[] {
  const compiled = Object.entries(texts).map(([path, text]) => ({
    path,
    expression: must(compileExpression(text, keyed)).expression,
  }))
  if (compiled.length === 0) return () => NOTHING
  return (scope) => {
    const assignments: Assignment[] = []
    for (const { path, expression } of compiled) {
      const value = expression.read(scope)
      if (value !== undefined) assignments.push({ path, value })
    }
    return assignments
  }
}

const noFault = () => null

/** `root`: the prefix of its paths, for users. */
export function compileFault(
  schema: JsonValue | undefined,
  root: string,
): (value: JsonValue) => string | null {
  if (schema === undefined) return noFault
  const compiled = compileSchema(schema)
  // `check` refuses an invalid schema; a document that was stored otherwise loses its check, not its instances.
  if (!compiled.ok) return noFault
  return (value) => {
    const mismatch = compiled.check(value)
    return mismatch === null ? null : `${mismatch.path.replace(/^payload/, root)} ${mismatch.problem}`
  }
}
